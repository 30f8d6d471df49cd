"""DATABASE_URL and REDIS_URL: what they may say, and that the broker goes where our client goes."""

from ssl import CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED, VerifyMode
from typing import Any

import redis
from kombu import Connection

from tests.config.environments import PRODUCTION, read, refusal
from tests.support.cases import each


@each(
    "url",
    [
        "mysql://engage:hush@db.example/engage",
        "db.example",
        "$ANOTHER_URL",
        "postgres://engage:hush@db.example",
        "postgres://engage:hush@db.example:port/engage",
    ],
)
def test_a_database_url_that_is_none_of_postgresql_is_refused_without_its_password(url: str) -> None:
    said = refusal({**PRODUCTION, "DATABASE_URL": url})
    assert "DATABASE_URL must be the URL of a PostgreSQL database such as postgres://" in said
    assert "hush" not in said


@each(
    "url",
    [
        "redis.example",
        "http://:hush@redis.example",
        "redis://:hush@redis.example:port/0",
        "redis://:hush@a/?db=x",
        "redis://:hush@a/?db=3",
        "redis://:hush@a/three",
        "redis://:hush@a/0?socket_timeout=3",
        "rediss://:hush@a/0?ssl_cert_reqs=CERT_REQUIRED",
        "rediss://:hush@a/0?ssl_check_hostname=false",
        "unix://:hush@/run/redis.sock?db",
        "unix:///run/hush;.sock?db=1",
        "redis://:hu;sh@a/3",
        "rediss://:hush@a/2?ssl_ca_certs=/etc/a;b.pem",
        "rediss://:hush@a/2#x",
    ],
)
def test_a_redis_url_that_is_none_of_redis_is_refused_without_its_password(url: str) -> None:
    said = refusal({**PRODUCTION, "REDIS_URL": url})
    assert "REDIS_URL must be the URL of a Redis database such as redis://" in said
    assert "hush" not in said


@each(
    "options",
    [
        "bogus=1", "sslmode=on", "sslmode=Require", "connect_timeout=soon", "connect_timeout=1.5",
        "sslmode=require&password=hush&bogus=1", "row_factory=dict_row", "isolation_level=4",
        "AUTOCOMMIT=False", "atomic_requests=1", "sslmode=require&CONN_MAX_AGE=60", "conn_health_checks=0",
        "DISABLE_SERVER_SIDE_CURSORS=1", "prepare_threshold=soon", "server_side_binding=perhaps",
    ],
)  # fmt: skip
def test_options_that_libpq_would_refuse_later_are_refused_at_start(options: str) -> None:
    said = refusal({**PRODUCTION, "DATABASE_URL": f"postgres://engage:hush@db.example/engage?{options}"})
    assert "DATABASE_URL may end with options that libpq knows, such as ?sslmode=require" in said
    assert not any(word in said for word in ("hush", "bogus", "db.example"))


@each(
    "url, options",
    [
        ("postgres:///?service=engage", {"service": "engage"}),
        *(
            (f"postgres://db.example/engage?server_side_binding={word}", {"server_side_binding": said})
            for word, said in (("true", True), ("1", True), ("false", False), ("0", False))
        ),
        *(
            (f"postgres://db.example/engage?sslmode={mode}", {"sslmode": mode})
            for mode in ("disable", "allow", "prefer", "require", "verify-ca")
        ),
        ("postgres://db.example/engage?service=engage&sslmode=verify-full", {"service": "engage"}),
        ("postgres://db.example/engage?target_session_attrs=read-write", {"target_session_attrs": "read-write"}),
        ("postgres://db.example/engage?prepare_threshold=0&assume_role=engage", {"prepare_threshold": 0}),
        ("postgres://db.example/engage?prepare_threshold=none", {"prepare_threshold": None}),
    ],
)
def test_options_of_libpq_and_of_django_are_taken(url: str, options: dict[str, Any]) -> None:
    taken = read({**PRODUCTION, "DATABASE_URL": url})["DATABASES"]["default"]["OPTIONS"]
    assert {**taken, **options} == taken


@each(
    "url, host",
    [
        ("postgres://engage@db.example:5433/engage", "db.example"),
        ("postgresql://engage@db.example:5433/engage", "db.example"),
        ("postgres://engage@%2Frun%2Fpostgresql/engage", "/run/postgresql"),
    ],
)
def test_postgresql_is_found_by_its_host_or_its_socket(url: str, host: str) -> None:
    assert read({**PRODUCTION, "DATABASE_URL": url})["DATABASES"]["default"]["HOST"] == host


@each(
    "url, database",
    [
        ("redis://:hush@redis.example", "/"),
        ("redis://redis.example:6380/3", "3"),
        ("rediss://redis.example/2?ssl_cert_reqs=none", "2"),
    ],
)
def test_the_broker_goes_where_our_client_goes(url: str, database: str) -> None:
    assert Connection(read({**PRODUCTION, "REDIS_URL": url})["CELERY_BROKER_URL"]).virtual_host == database
    assert redis.ConnectionPool.from_url(url).connection_kwargs.get("db", 0) == int(database.strip("/") or 0)


@each(
    "url, looked_at",
    [
        ("rediss://redis.example/2", CERT_REQUIRED),
        ("rediss://redis.example?ssl_ca_certs=/ca.pem", CERT_REQUIRED),
        ("rediss://redis.example/2?ssl_cert_reqs=none", CERT_NONE),
        ("rediss://redis.example/2?ssl_cert_reqs=optional", CERT_OPTIONAL),
        ("rediss://:ssl_cert_reqs=@redis.example/2", CERT_REQUIRED),
    ],
)
def test_the_broker_looks_at_certificates_unless_it_is_told_not_to(url: str, looked_at: VerifyMode) -> None:
    broker = Connection(read({**PRODUCTION, "REDIS_URL": url})["CELERY_BROKER_URL"])
    assert isinstance(broker.ssl, dict)
    assert broker.ssl["ssl_cert_reqs"] is looked_at


def test_the_broker_shows_the_certificate_that_our_client_shows() -> None:
    files = {"ssl_ca_certs": "/ca.pem", "ssl_certfile": "/engage.pem", "ssl_keyfile": "/engage.key"}
    url = "rediss://redis.example/2?" + "&".join(f"{name}={file}" for name, file in files.items())
    broker = Connection(read({**PRODUCTION, "REDIS_URL": url})["CELERY_BROKER_URL"])
    assert isinstance(broker.ssl, dict)
    for taken in (broker.ssl, redis.ConnectionPool.from_url(url).connection_kwargs):
        assert {**taken, **files} == taken


def test_what_the_database_url_says_counts() -> None:
    url = f"{PRODUCTION['DATABASE_URL']}?connect_timeout=9&sslmode=require"
    assert read({**PRODUCTION, "DATABASE_URL": url})["DATABASES"]["default"]["OPTIONS"] == {
        "server_side_binding": True, "prepare_threshold": 3, "connect_timeout": 9, "sslmode": "require",
        "tcp_user_timeout": 5000, "keepalives_idle": 3, "keepalives_interval": 1, "keepalives_count": 2,
    }  # fmt: skip
