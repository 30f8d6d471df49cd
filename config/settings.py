"""The service's settings, read from the environment, top to bottom.

In development nothing needs to be set. In production everything comes from the environment, and a missing or unsafe
value is refused here, at start. A process with a DATABASE_URL counts as production unless ENVIRONMENT says otherwise:
forgetting it must not put a real database behind a development set-up.
"""

import hashlib
import os
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy

from config import ROOT, environment, server_urls
from config.docs import openapi
from config.local import development, embedded
from config.local.servers import data_folder
from engage.notations.sizes import MAX_FORM_BYTES
from journeys.steps.webhook_targets import TargetRules

django_stubs_ext.monkeypatch()

ENVIRONMENT = environment.text("ENVIRONMENT", default="production" if "DATABASE_URL" in os.environ else "development")
if ENVIRONMENT not in {"development", "production"}:
    raise ImproperlyConfigured(f"ENVIRONMENT must be 'development' or 'production', not {ENVIRONMENT!r}.")
PRODUCTION = ENVIRONMENT == "production"
if PRODUCTION:
    environment.require("SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL")

DEBUG = environment.flag("DEBUG", default=False)
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured(
        "DEBUG must not be on in production: it shows settings and data to whoever meets an error."
    )
SECRET_KEY = environment.secret_key() if PRODUCTION else environment.text("SECRET_KEY")
if not SECRET_KEY:
    SECRET_KEY = development.secret_key(folder=data_folder())
ALLOWED_HOSTS = environment.allowed_hosts() if PRODUCTION else ["*"]
PUBLIC_URL = environment.public_url("PUBLIC_URL", https=PRODUCTION)  # what links in messages begin with
if not PUBLIC_URL and not PRODUCTION:
    PUBLIC_URL = "http://127.0.0.1:8000"
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")

# The first key encrypts what the database holds of credentials, and all of them decrypt it.
ENCRYPTION_KEYS = [*environment.encryption_keys("ENCRYPTION_KEYS"), SECRET_KEY]

# PostgreSQL: the source of truth -------------------------------------------------------------------------------------

_database_url = environment.text("DATABASE_URL")
DATABASES: dict[str, dict[str, Any]] = {"default": server_urls.postgresql(_database_url or embedded.database_url())}
DATABASE_NAME = DATABASES["default"]["NAME"]  # tests use another
DATABASES["default"] |= {
    "ENGINE": "engage.database.backend",
    "CONN_HEALTH_CHECKS": True,  # costs nothing with this engine
    "CONN_MAX_AGE": environment.number("DATABASE_CONN_MAX_AGE", default=600),
    "TEST": {"NAME": environment.text("TEST_DATABASE_NAME") or None},
}
_DATABASE_OPTIONS = {
    # Prepared statements, which Django turns off: with them a short query costs a quarter less.
    "server_side_binding": True,
    "prepare_threshold": 3,
    "connect_timeout": 3,
    # A connection whose packets get lost, as after an address has moved, ends after seconds instead of a quarter of an
    # hour, idle ones included.
    "tcp_user_timeout": 5000,
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
# Options in the URL take precedence.
DATABASES["default"]["OPTIONS"] = _DATABASE_OPTIONS | DATABASES["default"].get("OPTIONS", {})
# Past a pooler, for migrate alone.
_direct_url = environment.text("DATABASE_DIRECT_URL")
DATABASE_DIRECT: dict[str, Any] | None = None
if _direct_url:
    DATABASE_DIRECT = server_urls.postgresql(_direct_url, named="DATABASE_DIRECT_URL")
    DATABASE_DIRECT["OPTIONS"] = _DATABASE_OPTIONS | DATABASE_DIRECT["OPTIONS"]
    del DATABASE_DIRECT["ENGINE"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis: wake-ups and counters; may vanish at any moment --------------------------------------------------------------

_redis_url = environment.text("REDIS_URL")
REDIS_URL = server_urls.redis_url(_redis_url or embedded.redis_url())
REDIS_PREFIX = environment.key_prefix("REDIS_PREFIX")  # of all keys, so that two environments can share a database
REDIS_TIMEOUT = 0.25  # seconds; a web request waits for Redis at most this long, and only once
CACHES = {
    # Nothing is cached: only the admin's search would be, and staff search for people.
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "counters": {
        "BACKEND": "engage.redis.limit_counters.CounterCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": REDIS_PREFIX,
    },
}
RATELIMIT_USE_CACHE = "counters"
# The defaults. Finding out that a setting is missing takes as long as everything else done to count a call.
RATELIMIT_ENABLE, RATELIMIT_CACHE_PREFIX, RATELIMIT_HASH_ALGORITHM = True, "rl:", hashlib.sha256
SILENCED_SYSTEM_CHECKS = [
    # They know the cache backends by name; ours is Redis, with a fallback inside the process.
    "django_ratelimit.E003",
    "django_ratelimit.W001",
    # They look in MIDDLEWARE for what stands in LAYERS.
    "admin.E408",
    "admin.E409",
    "admin.E410",
    "security.W002",
    "security.W003",
    # They want HSTS for subdomains and preload, which bind hosts that are not this service's.
    "security.W005",
    "security.W021",
]

# Web -----------------------------------------------------------------------------------------------------------------

WEB_STATEMENT_SECONDS = environment.seconds("WEB_STATEMENT_SECONDS", default=15.0)  # of a call; 0 is no limit
INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "unfold.contrib.filters",
    "config.admin_app.AdminAppConfig",  # django.contrib.admin
    "engage",  # some of its commands take the place of those of django.contrib.auth
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",  # of whose fields the models are made
    "django.contrib.staticfiles",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "config",
    "customers",
    "journeys",
    "bridge",
]
MIDDLEWARE = [
    "engage.http.request_times.RequestTimesMiddleware",
    "engage.process.request_log.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "engage.http.budgets.BudgetMiddleware",
    "engage.process.middleware.LayersMiddleware",
]
# What a request passes after these, by how its path begins.
LAYERS = {
    "/api/v1/sdk/": ["corsheaders.middleware.CorsMiddleware", "django.middleware.common.CommonMiddleware"],
    "/api/": ["django.middleware.common.CommonMiddleware"],
    "/contact/": ["django.middleware.common.CommonMiddleware"],
    "": [
        "config.monitoring.probes.ProbesMiddleware",
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "django.middleware.common.CommonMiddleware",
        "engage.admin.layers.LongStatementsMiddleware",
        "engage.admin.login.idle_sessions.IdleSessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "engage.admin.rights.reach.ChosenWorkspaceMiddleware",
        "engage.admin.layers.ActingMiddleware",
        "django_otp.middleware.OTPMiddleware",
        "engage.admin.login.second_factor.requirement.SecondFactorMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
        "engage.admin.layers.ContentSecurityMiddleware",
        "engage.admin.error_pages.UnusableValueMiddleware",
    ],
}
ROOT_URLCONF = "config.urls"
CSRF_FAILURE_VIEW = "engage.admin.error_pages.answer_out_of_date"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_FORM_BYTES
FILE_UPLOAD_HANDLERS = ["engage.http.parsing.NoUploads"]
AUTHENTICATION_BACKENDS = ["engage.admin.rights.reach.StaffBackend"]
LOGIN_REDIRECT_URL = "admin:index"  # for users who open the login page itself
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "config" / "templates"],  # take precedence over Unfold's, which they replace
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
SESSION_COOKIE_AGE = 12 * 3600  # seconds without a request, after which staff log in again
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "/static/"
if PRODUCTION:
    STATIC_ROOT = Path(environment.text("STATIC_ROOT", default=str(ROOT / "staticfiles")))
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = not PRODUCTION  # no files to collect, none read at start
STORAGES = {
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
}

if PRODUCTION:
    SECURE_SSL_REDIRECT = environment.flag("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^livez$", r"^readyz$", r"^metrics$"]
    SECURE_HSTS_SECONDS = environment.number("SECURE_HSTS_SECONDS", default=31_536_000)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = environment.flag("SECURE_HSTS_SUBDOMAINS", default=False)
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    if environment.flag("BEHIND_PROXY", default=False):
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

UNFOLD = {
    "SITE_TITLE": "Engage",
    "SITE_HEADER": "Engage",
    "SITE_SUBHEADER": "engage.admin.rights.reach.seen_in_words",
    "SITE_SYMBOL": "route",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("engage/icon.svg")},
    ],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda request: static("engage/admin.css")],
    "DASHBOARD_CALLBACK": "journeys.overview.dashboard.with_overview",
    "COMMAND": {"search_callback": "engage.admin.pages.global_search.find_anywhere"},
    "ACCOUNT": {
        "navigation": [
            {"title": "Second factor", "link": reverse_lazy("second_factor_set_up")},
            {"title": "API documentation", "link": "/api/v1/docs"},
        ]
    },
    "SIDEBAR": {"show_search": True, "command_search": True, "navigation": "config.navigation.sidebar"},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["engage.http.parsing.StrictJsonParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "engage.http.parsing.LenientNegotiation",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS outside of CORS is a method like any other: 405
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "engage.http.envelope.answer_exception",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # ?format= is an unknown parameter like any other
}
SPECTACULAR_SETTINGS = openapi.SETTINGS

# Browsers call the bridge from any page; which origins an app allows is checked on the call itself, because a
# preflight request does not carry the app's id.
CORS_URLS_REGEX = r"^/api/v1/sdk/"
CORS_ALLOW_ALL_ORIGINS = True
CORS_ALLOW_METHODS = ["GET", "POST", "OPTIONS"]
CORS_ALLOW_HEADERS = [
    "accept",
    "authorization",  # an API key that leaked into a page should arrive, to be refused and noticed
    "content-encoding",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "x-app-id",
    "x-identity-token",
    "x-request-id",
    # Added by libraries for tracing and for HTTP requests.
    "baggage",
    "cache-control",
    "sentry-trace",
    "traceparent",
    "tracestate",
    "x-requested-with",
]
CORS_EXPOSE_HEADERS = [
    "Date",
    "ETag",
    "Idempotency-Replayed",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Request-Id",
]
CORS_PREFLIGHT_MAX_AGE = 86_400

# What the service promises -------------------------------------------------------------------------------------------

# How long a process may reuse a key or an app that it looked up; a revoked one is refused after that at the latest.
CREDENTIALS_KEPT_SECONDS = environment.seconds("CREDENTIALS_KEPT_SECONDS", default=1.0)
BRIDGE_RATE_LIMIT = environment.rate("BRIDGE_RATE_LIMIT", default="600/m")  # per app and address
# Fetches of messages per app and address: an office of thousands of pages that ask every minute is one address.
IN_APP_RATE_LIMIT = environment.rate("IN_APP_RATE_LIMIT", default="6000/m")
# What one app's calls from one address may create: anyone can send an app id.
BRIDGE_CUSTOMERS_CREATED_LIMIT = environment.rate("BRIDGE_CUSTOMERS_CREATED_LIMIT", default="60/m")
BRIDGE_JOURNEYS_STARTED_LIMIT = environment.rate("BRIDGE_JOURNEYS_STARTED_LIMIT", default="60/m")
# What all calls of one app may do in a day, whatever their addresses.
BRIDGE_APP_DAILY_CALLS = environment.number("BRIDGE_APP_DAILY_CALLS", default=10_000_000, at_least=1)
BRIDGE_APP_DAILY_NEW_CUSTOMERS = environment.number("BRIDGE_APP_DAILY_NEW_CUSTOMERS", default=200_000, at_least=1)
BRIDGE_APP_DAILY_KIB = environment.number("BRIDGE_APP_DAILY_KIB", default=10_000_000, at_least=1)
SECOND_FACTOR = environment.some_of(
    ("all", "superuser", *environment.ROLES), "SECOND_FACTOR", default=""
)  # of whom it is required; whoever has set one up is asked for it anyway
OTP_TOTP_ISSUER = "Engage"
# Staff may log in with an OpenID Connect provider, beside their passwords.
OIDC_ISSUER = environment.openid_issuer("OIDC_ISSUER", https=PRODUCTION)
OIDC_CLIENT_ID, OIDC_CLIENT_SECRET = environment.text("OIDC_CLIENT_ID"), environment.text("OIDC_CLIENT_SECRET")
OIDC_SCOPES = environment.text("OIDC_SCOPES", default="openid profile email")
OIDC_GROUPS_CLAIM = environment.text("OIDC_GROUPS_CLAIM", default="groups")
OIDC_ROLES = environment.openid_roles("OIDC_ROLES")
OIDC_SESSION_SECONDS = environment.number("OIDC_SESSION_SECONDS", default=8 * 3600, at_least=60)
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET and OIDC_ROLES):
    raise ImproperlyConfigured("OIDC_ISSUER needs OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_ROLES as well.")
CONTACT_RATE_LIMIT = environment.rate("CONTACT_RATE_LIMIT", default="600/m")  # of links in messages, per address
ADMIN_LOGIN_LIMIT = environment.rate("ADMIN_LOGIN_LIMIT", default="20/m")  # attempts per address
# How many proxies in front of the service add to X-Forwarded-For; with 0 the peer's own address counts.
TRUSTED_PROXIES = environment.number("TRUSTED_PROXIES", default=0)

# Who is told of alerts of the whole service (config/monitoring/telling.py), and by which server mail goes.
ALERT_EMAILS = environment.emails("ALERT_EMAILS")
ALERT_CONNECTION = environment.text("ALERT_CONNECTION")  # of a workspace: its key, a slash, the connection's key
EMAIL_FROM = DEFAULT_FROM_EMAIL = environment.text("EMAIL_FROM", default="engage@localhost")
_mail = server_urls.mail(environment.text("EMAIL_URL"))
EMAIL_HOST, EMAIL_PORT, EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.host, _mail.port, _mail.starts_tls, _mail.is_tls
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD, EMAIL_TIMEOUT = _mail.user, _mail.password, 10
EMAIL_BACKEND = environment.text(
    "EMAIL_BACKEND", default=f"django.core.mail.backends.{'smtp' if _mail.host else 'console'}.EmailBackend"
)
if ALERT_EMAILS and PRODUCTION and not environment.text("EMAIL_URL") and not environment.text("EMAIL_BACKEND"):
    raise ImproperlyConfigured("ALERT_EMAILS needs EMAIL_URL as well, such as smtp+tls://user:password@host:587.")
if ALERT_CONNECTION.count("/") != bool(ALERT_CONNECTION):
    raise ImproperlyConfigured(
        "ALERT_CONNECTION must be the keys of a workspace and of its connection, as in acme/ops."
    )

# Webhooks may go to public addresses and to these networks; in development, also to a receiver on this machine.
_webhook_networks = environment.text("WEBHOOK_ALLOWED_NETWORKS", default="" if PRODUCTION else "127.0.0.0/8,::1/128")
try:
    WEBHOOK_ALLOWED_NETWORKS = [ip_network(network) for network in environment.items_of(_webhook_networks)]
except ValueError as error:
    raise ImproperlyConfigured(f"WEBHOOK_ALLOWED_NETWORKS must be networks such as 10.1.0.0/16: {error}.") from None
WEBHOOK_TARGETS = TargetRules(
    http=environment.flag("WEBHOOK_ALLOW_HTTP", default=not PRODUCTION),
    ports=environment.ports("WEBHOOK_PORTS", default="80,443,1024-65535"),
)
# Off for a copy of the database, or until staff have looked at what would be sent: webhooks wait meanwhile.
SENDING = environment.flag("SENDING", default=True)
# Requests that one sending task may have in flight at once.
WEBHOOK_THREADS = environment.number("WEBHOOK_THREADS", default=32, at_least=1, at_most=1000)
# The Procfile passes these to Celery, which takes 0 as the number of processors.
for _name in ("WORKER_CONCURRENCY", "BULK_CONCURRENCY", "WALK_CONCURRENCY", "WEBHOOK_CONCURRENCY"):
    environment.number(_name, default=1, at_least=1)

# How many days `manage.py prune` keeps finished records; 0: for ever.
RETAIN_HISTORY_DAYS = environment.days("RETAIN_HISTORY_DAYS", default=90)
RETAIN_JOBS_DAYS = environment.days("RETAIN_JOBS_DAYS", default=90)
RETAIN_INTERACTIONS_DAYS = environment.days("RETAIN_INTERACTIONS_DAYS", default=365)
RETAIN_IN_APP_DAYS = environment.days("RETAIN_IN_APP_DAYS", default=90)  # from the end of a delivery
RETAIN_EVENTS_DAYS = environment.days("RETAIN_EVENTS_DAYS", default=365)
RETAIN_FEED_DAYS = environment.days("RETAIN_FEED_DAYS", default=14)
RETAIN_AUDIT_DAYS = environment.days("RETAIN_AUDIT_DAYS", default=365)  # of entries that are written from now on
RETAIN_HOURLY_COUNTS_DAYS = environment.days("RETAIN_HOURLY_COUNTS_DAYS", default=400)  # the sums of days stay
# For how long a page that still knows the user id of somebody erased does not make them anew.
RETAIN_TOMBSTONES_DAYS = environment.days("RETAIN_TOMBSTONES_DAYS", default=30)

COMMIT = environment.text("COMMIT")  # what the metrics call this version; a checkout knows it by itself
METRICS_TOKEN = environment.token("METRICS_TOKEN")  # without one, /metrics exists in development only

LOG_FORMAT = environment.one_of(("json", "console"), "LOG_FORMAT", default="json" if PRODUCTION else "console")
LOG_LEVEL = environment.one_of(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), "LOG_LEVEL", default="INFO")
LOGGING_CONFIG = None  # structlog is set up in engage.process.request_log
# Where traces and errors are sent; everything else about that is said by the variables of their packages.
TRACES_ENDPOINT = environment.address(
    "OTEL_EXPORTER_OTLP_ENDPOINT", example="http://127.0.0.1:4318", module="opentelemetry.exporter.otlp.proto.http",
    package="opentelemetry-exporter-otlp-proto-http",
)  # fmt: skip
SENTRY_DSN = environment.address(
    "SENTRY_DSN", example="https://key@sentry.example/7", module="sentry_sdk", package="sentry-sdk", is_secret=True
)

# Celery --------------------------------------------------------------------------------------------------------------

CELERY_BROKER_URL = server_urls.broker_url(REDIS_URL)
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": REDIS_TIMEOUT,
    "socket_connect_timeout": REDIS_TIMEOUT,
    # As with PostgreSQL: a worker would wait for most of a minute on a connection whose packets get lost.
    "socket_keepalive": True,
    "socket_keepalive_options": server_urls.LEAVES_SILENT_PEERS,
    "max_retries": 0,  # of connecting before a message is sent; a worker reconnects again and again regardless
    # A worker does not record in Redis which messages it has taken. If writing or removing such a record failed, with
    # Redis frozen or full, the worker would end or take no more; and the sweeper makes up for lost messages.
    "ack_emulation": False,
    "global_keyprefix": REDIS_PREFIX,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # a Redis that answers and refuses (a failover) ends no worker
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = False  # the sweeper wakes workers; redelivery would only repeat a crash at once
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Whoever reaches Redis could stop the workers; and one more connection each would have to survive what Redis does.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_DB_REUSE_MAX = 1000  # tasks per database connection; without it every task opens a new one
CELERY_TIMEZONE = "UTC"
CELERY_TASK_ROUTES = {
    "walk": {"queue": "walk"},
    "sweep": {"queue": "sweep"},
    "fold": {"queue": "sweep"},
    "resend": {"queue": "sweep"},
    "send": {"queue": "webhooks"},
    "tell": {"queue": "tell"},
}
CELERY_BEAT_SCHEDULER = "config.process.ticks:TickScheduler"
CELERY_BEAT_SCHEDULE = {
    "walk": {"task": "walk", "schedule": 1.0},
    "send": {"task": "send", "schedule": 1.0},
    "sweep": {"task": "sweep", "schedule": 2.0},
    "fold": {"task": "fold", "schedule": 15.0},
    "resend": {"task": "resend", "schedule": 13.0},
    "tell": {"task": "tell", "schedule": 15.5},
}
