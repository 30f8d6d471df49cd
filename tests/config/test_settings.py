"""Production takes everything from the environment, and refuses to start where something is missing or unsafe."""

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.http.request import split_domain_port, validate_host

from config import ROOT
from config.serving.options import options
from tests.config.environments import PRODUCTION, read, refusal
from tests.support.cases import each


def start(environment: dict[str, str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_full_environment_starts_and_nothing_embedded_does() -> None:
    code = "import config.settings, config.local.embedded; assert not config.local.embedded._in_use"
    assert start(PRODUCTION, code).returncode == 0


@each("missing", ["SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL", "REDIS_URL"])
def test_what_is_missing_in_production_is_named(missing: str) -> None:
    assert f"{missing} is not set." in refusal({name: value for name, value in PRODUCTION.items() if name != missing})


def test_debug_is_refused_in_production() -> None:
    assert "DEBUG must not be on in production" in refusal({**PRODUCTION, "DEBUG": "1"})


def test_a_database_url_alone_means_production() -> None:
    told = refusal({"DATABASE_URL": PRODUCTION["DATABASE_URL"], "REDIS_URL": ""})
    assert told.startswith("SECRET_KEY, ALLOWED_HOSTS and REDIS_URL are not set. In production ")  # all at once


def test_an_unknown_environment_is_refused() -> None:
    assert "ENVIRONMENT must be 'development' or 'production', not 'staging'." in refusal(
        {**PRODUCTION, "ENVIRONMENT": "staging"}
    )


@each(
    "variable, message",
    [
        ({"WEBHOOK_ALLOWED_NETWORKS": "10.0.0.0/8,loopback"}, "WEBHOOK_ALLOWED_NETWORKS must be networks"),
        ({"WEBHOOK_ALLOWED_NETWORKS": "10.0.0.1/8"}, "WEBHOOK_ALLOWED_NETWORKS must be networks"),
        ({"WEBHOOK_PORTS": "443,0"}, "WEBHOOK_PORTS must be ports such as 443,8000-8999, not '0'."),
        ({"WEBHOOK_PORTS": "9-8"}, "WEBHOOK_PORTS must be ports such as 443,8000-8999, not '9-8'."),
        ({"WEBHOOK_PORTS": "https"}, "WEBHOOK_PORTS must be ports such as 443,8000-8999, not 'https'."),
        ({"ENCRYPTION_KEYS": "short"}, "ENCRYPTION_KEYS must be keys of at least 32 random characters, separated by "),
        ({"WEBHOOK_THREADS": "0"}, "WEBHOOK_THREADS must be a whole number, at least 1 and at most 1000, not '0'."),
        ({"WEBHOOK_THREADS": "x"}, "WEBHOOK_THREADS must be a whole number, at least 1 and at most 1000, not 'x'."),
        ({"WEBHOOK_THREADS": "٣٢"}, "WEBHOOK_THREADS must be a whole number, at least 1 and at most 1000, not "),
        ({"CREDENTIALS_KEPT_SECONDS": "٣"}, "CREDENTIALS_KEPT_SECONDS must be a number of seconds such as 0.5, not "),
        ({"WEBHOOK_THREADS": "9999"}, "WEBHOOK_THREADS must be a whole number, at least 1 and at most 1000, not "),
        ({"WORKER_CONCURRENCY": "0"}, "WORKER_CONCURRENCY must be a whole number, at least 1, not '0'."),
        ({"BULK_CONCURRENCY": "-1"}, "BULK_CONCURRENCY must be a whole number, at least 1, not '-1'."),
        ({"WALK_CONCURRENCY": "two"}, "WALK_CONCURRENCY must be a whole number, at least 1, not 'two'."),
        ({"WEBHOOK_CONCURRENCY": "0"}, "WEBHOOK_CONCURRENCY must be a whole number, at least 1, not '0'."),
        (
            {"REDIS_PREFIX": "two words"},
            "REDIS_PREFIX must be at most 50 letters, digits and _ . : -, such as staging:.",
        ),
        ({"METRICS_TOKEN": "two words"}, "METRICS_TOKEN must be of visible ASCII characters, without spaces."),
        ({"METRICS_TOKEN": "sécret"}, "METRICS_TOKEN must be of visible ASCII characters, without spaces."),
        ({"CREDENTIALS_KEPT_SECONDS": "9" * 400}, "CREDENTIALS_KEPT_SECONDS must be a number of seconds such as 0.5,"),
        ({"DATABASE_CONN_MAX_AGE": "9" * 400}, "DATABASE_CONN_MAX_AGE must be a whole number, at least 0, not "),
        ({"WORKER_CONCURRENCY": "9" * 5000}, "WORKER_CONCURRENCY must be a whole number, at least 1, not "),
        ({"TRUSTED_PROXIES": "yes"}, "TRUSTED_PROXIES must be a whole number, at least 0, not 'yes'."),
        ({"RETAIN_JOBS_DAYS": "foo"}, "RETAIN_JOBS_DAYS must be a whole number, at least 0 and at most 36500, not "),
        ({"RETAIN_EVENTS_DAYS": "-1"}, "RETAIN_EVENTS_DAYS must be a whole number, at least 0 and at most 36500, not "),
        ({"RETAIN_EVENTS_DAYS": "36501"}, "RETAIN_EVENTS_DAYS must be a whole number, at least 0 and at most 36500,"),
        ({"RETAIN_HISTORY_DAYS": "1000000"}, "RETAIN_HISTORY_DAYS must be a whole number, at least 0 and at most 36"),
        ({"RETAIN_INTERACTIONS_DAYS": "1000000"}, "RETAIN_INTERACTIONS_DAYS must be a whole number, at least 0 and "),
        (
            {"RETAIN_JOBS_DAYS": "1000000"},
            "RETAIN_JOBS_DAYS must be a whole number, at least 0 and at most 36500, not ",
        ),
        ({"BEHIND_PROXY": "maybe"}, "BEHIND_PROXY must be true or false, not 'maybe'."),
        ({"SECURE_SSL_REDIRECT": ""}, "SECURE_SSL_REDIRECT must be true or false, not ''."),
        ({"DEBUG": "ture"}, "DEBUG must be true or false, not 'ture'."),
        ({"CREDENTIALS_KEPT_SECONDS": "inf"}, "CREDENTIALS_KEPT_SECONDS must be a number of seconds such as 0.5, not "),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not 'loud'."),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT must be one of json, console, not 'xml'."),
        ({"PUBLIC_URL": "http://engage.example"}, "PUBLIC_URL must be an origin such as https://engage.example"),
        ({"PUBLIC_URL": "https://engage.example/mail"}, "PUBLIC_URL must be an origin"),
        ({"CSRF_TRUSTED_ORIGINS": "engage.example"}, "CSRF_TRUSTED_ORIGINS must be origins such as https://"),
        ({"CSRF_TRUSTED_ORIGINS": "https://bücher.example"}, "as browsers send them, as in https://xn--"),
        ({"LOG_LEVEL": "$DEBUG"}, "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not '$DEBUG'."),
        ({"BRIDGE_RATE_LIMIT": "lots"}, "BRIDGE_RATE_LIMIT: 'lots' is no rate. Write a rate as 100/m, 5/s or 1000/h."),
        ({"BRIDGE_CUSTOMERS_CREATED_LIMIT": "60/0m"}, "BRIDGE_CUSTOMERS_CREATED_LIMIT: '60/0m' is no rate."),
        ({"OIDC_ISSUER": "http://login.example"}, "OIDC_ISSUER must be the provider's address, such as https://"),
        ({"OIDC_ISSUER": "https://login.example"}, "OIDC_ISSUER needs OIDC_CLIENT_ID, OIDC_CLIENT_SECRET and OIDC_R"),
        ({"OIDC_ROLES": '{"ops": "root"}'}, 'OIDC_ROLES must be JSON that gives each group "superuser", or one of '),
        ({"OIDC_ROLES": '{"ops": {"shop": "superuser"}}'}, "OIDC_ROLES must be JSON that gives each group"),
        ({"OIDC_ROLES": "ops=superuser"}, "OIDC_ROLES must be JSON that gives each group"),
        ({"BRIDGE_JOURNEYS_STARTED_LIMIT": ""}, "BRIDGE_JOURNEYS_STARTED_LIMIT: '' is no rate."),
    ],
)
def test_settings_that_mean_nothing_are_refused(variable: dict[str, str], message: str) -> None:
    assert message in refusal({**PRODUCTION, **variable})


def test_a_provider_without_the_package_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    provider = {
        "OIDC_ISSUER": "https://login.example", "OIDC_CLIENT_ID": "engage", "OIDC_CLIENT_SECRET": "x",
        "OIDC_ROLES": '{"ops": "superuser", "team": {"shop": "author"}}',
    }  # fmt: skip
    assert read({**PRODUCTION, **provider})["OIDC_ROLES"]["team"] == {"shop": "author"}
    monkeypatch.setitem(sys.modules, "mozilla_django_oidc", None)
    assert refusal({**PRODUCTION, **provider}) == (
        "OIDC_ISSUER needs the package mozilla-django-oidc (see docs/operations.md)."
    )


@each(
    "variable, value, package",
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318", "opentelemetry-exporter-otlp-proto-http"),
        ("SENTRY_DSN", "https://a-key@sentry.example/7", "sentry-sdk"),
    ],
)
def test_telling_others_needs_an_address_and_a_package(variable: str, value: str, package: str) -> None:
    assert value in read({**PRODUCTION, variable: value}).values()
    for wrong in ("collector:4318", "ftp://collector/7", "https://", "https://key@host/7?a", "http://[/7"):
        assert f"{variable} must be an address such as http" in refusal({**PRODUCTION, variable: wrong})
    with mock.patch.dict(sys.modules, {"opentelemetry.exporter.otlp.proto.http": None, "sentry_sdk": None}):
        assert refusal({**PRODUCTION, variable: value}) == (
            f"{variable} needs the package {package} (see docs/operations.md)."
        )


@each("key", ["short", "abcd" * 20])
def test_a_secret_key_that_could_be_guessed_is_refused(key: str) -> None:
    said = refusal({**PRODUCTION, "SECRET_KEY": key})
    assert "SECRET_KEY must be at least 50 characters long, with at least 5 different ones" in said
    assert key not in said


def test_the_shortest_secret_key_with_the_fewest_different_characters_is_taken() -> None:
    assert read({**PRODUCTION, "SECRET_KEY": "abcde" * 10})["SECRET_KEY"] == "abcde" * 10


def test_a_secret_key_that_django_made_for_a_new_project_is_refused() -> None:
    key = f"django-insecure-{PRODUCTION['SECRET_KEY']}"
    assert "SECRET_KEY must not begin with django-insecure-" in refusal({**PRODUCTION, "SECRET_KEY": key})


@each(
    "hosts",
    [
        "*", "engage.example,*", "*.engage.example", ",", "https://engage.example", "engage.example/x",
        "a.example,engage.example:443", "[::1]:443", "::1", "engage.example.", ".",
    ],
)  # fmt: skip
def test_hosts_that_name_none_are_refused(hosts: str) -> None:
    assert "ALLOWED_HOSTS must name the service's hosts, separated by commas and without *" in refusal(
        {**PRODUCTION, "ALLOWED_HOSTS": hosts}
    )


def test_the_secret_key_of_a_development_set_up_stands_with_its_data(tmp_path: Path) -> None:
    development = {**PRODUCTION, "ENVIRONMENT": "development", "SECRET_KEY": "", "EMBEDDED_DATA": str(tmp_path)}
    first = read(development)["SECRET_KEY"]
    assert (read(development)["SECRET_KEY"], (tmp_path / "secret_key").read_text()) == (first, first)


@each(
    "word, said",
    [
        *((word, True) for word in ("true", "on", "ok", "y", "yes", "1", " True ")),
        *((word, False) for word in ("false", "Off", "n", "no", "0", "OFF\n")),
    ],
)
def test_words_for_yes_and_no_are_taken_in_any_case(word: str, said: bool) -> None:
    assert read({**PRODUCTION, "SECURE_SSL_REDIRECT": word})["SECURE_SSL_REDIRECT"] is said


def test_levels_are_taken_in_any_case_and_spaces_around_a_value_do_no_harm() -> None:
    spaced = {"LOG_LEVEL": " debug", "WEBHOOK_THREADS": " 7 ", "CREDENTIALS_KEPT_SECONDS": "0.25\n"}
    found = read({**PRODUCTION, **spaced})
    assert [found[name] for name in spaced] == ["DEBUG", 7, 0.25]


def test_in_production_cookies_travel_by_https_alone() -> None:
    found = read(PRODUCTION)
    assert (found["SESSION_COOKIE_SECURE"], found["CSRF_COOKIE_SECURE"]) == (True, True)


def test_in_production_probes_alone_are_answered_without_https() -> None:
    exempt = read(PRODUCTION)["SECURE_REDIRECT_EXEMPT"]
    paths = ("livez", "readyz", "metrics", "admin/", "api/v1/schema", "admin/livez", "metrics/admin")
    assert [path for path in paths if any(re.search(one, path) for one in exempt)] == ["livez", "readyz", "metrics"]


def test_a_proxy_is_believed_to_have_ended_tls_only_where_that_is_said() -> None:
    assert "SECURE_PROXY_SSL_HEADER" not in read(PRODUCTION)
    behind = read({**PRODUCTION, "BEHIND_PROXY": "true"})
    assert behind["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_FORWARDED_PROTO", "https")


@each("said", [True, False])
def test_subdomains_and_preload_of_hsts_go_together(said: bool) -> None:
    found = read({**PRODUCTION, **({"SECURE_HSTS_SUBDOMAINS": "true"} if said else {})})
    assert (found["SECURE_HSTS_INCLUDE_SUBDOMAINS"], found["SECURE_HSTS_PRELOAD"]) == (said, said)


def test_in_production_webhooks_go_to_no_private_network_that_is_not_listed() -> None:
    assert read(PRODUCTION)["WEBHOOK_ALLOWED_NETWORKS"] == []
    listed = read({**PRODUCTION, "WEBHOOK_ALLOWED_NETWORKS": "10.1.0.0/16, fd00::/8"})
    assert [str(network) for network in listed["WEBHOOK_ALLOWED_NETWORKS"]] == ["10.1.0.0/16", "fd00::/8"]


def test_a_value_that_begins_with_a_dollar_stands_for_itself() -> None:
    key, token = f"${PRODUCTION['SECRET_KEY']}", "$DEBUG"
    found = read({**PRODUCTION, "SECRET_KEY": key, "METRICS_TOKEN": token, "DEBUG": "0"})
    assert (found["SECRET_KEY"], found["METRICS_TOKEN"]) == (key, token)
    database = read({**PRODUCTION, "DATABASE_URL": "postgres://$me:$hush@db.example/$x"})["DATABASES"]["default"]
    assert [database[part] for part in ("USER", "PASSWORD", "NAME")] == ["$me", "$hush", "$x"]
    other = {"ENVIRONMENT": "development", "TEST_DATABASE_NAME": "$other"}
    assert read({**PRODUCTION, **other})["DATABASES"]["default"]["TEST"]["NAME"] == "$other"


def test_origins_are_trusted_as_browsers_send_them() -> None:
    listed = "https://Engage.example:443/, http://a.example:80, https://b.example:80,http://[::1]:443,https://[::1]:443"
    assert read({**PRODUCTION, "CSRF_TRUSTED_ORIGINS": listed})["CSRF_TRUSTED_ORIGINS"] == [
        "https://engage.example", "http://a.example", "https://b.example:80", "http://[::1]:443", "https://[::1]",
    ]  # fmt: skip


def test_hosts_and_origins_may_be_listed_with_spaces() -> None:
    listed = {"ALLOWED_HOSTS": "a.example, b.example", "CSRF_TRUSTED_ORIGINS": "https://a.example , https://b.example"}
    found = read({**PRODUCTION, **listed})
    assert found["ALLOWED_HOSTS"] == ["a.example", "b.example"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://a.example", "https://b.example"]


@each(
    "allowed, host",
    [
        ("Engage.example", "engage.example:8443"),
        (".engage.example", "shop.engage.example"),
        ("127.0.0.1", "127.0.0.1:8000"),
        ("[::1]", "[::1]:8000"),
    ],
)
def test_a_host_is_named_without_the_port_at_which_it_is_called(allowed: str, host: str) -> None:
    hosts = read({**PRODUCTION, "ALLOWED_HOSTS": allowed})["ALLOWED_HOSTS"]
    assert validate_host(split_domain_port(host)[0], hosts)


def test_the_longest_that_can_be_kept_has_a_date() -> None:
    kept = read({**PRODUCTION, "RETAIN_EVENTS_DAYS": "36500"})["RETAIN_EVENTS_DAYS"]
    assert datetime.now(UTC) - timedelta(days=kept) > datetime.min.replace(tzinfo=UTC)


_SERVE_WITHOUT_AND_WITH_THEM = """
import importlib, pathlib, sys
import config.settings
config.settings.STATIC_ROOT = pathlib.Path(sys.argv[1])
import config.wsgi
print("They are there now.", file=sys.stderr)
(config.settings.STATIC_ROOT / "staticfiles.json").write_text('{"version": "1.1", "paths": {}, "hash": ""}')
importlib.reload(config.wsgi)
"""


@pytest.mark.slow
def test_in_production_the_log_says_that_the_static_files_are_missing(tmp_path: Path) -> None:
    done = start(PRODUCTION, _SERVE_WITHOUT_AND_WITH_THEM, str(tmp_path))
    without, _, with_them = done.stderr.partition("They are there now.")
    assert (done.returncode, '"event": "static_files_missing"' in without) == (0, True)
    assert "static_files_missing" not in with_them


def _defaults() -> Iterator[tuple[str, str]]:
    """Each variable with its default, where the tables of docs/settings.md give a plain value for it."""
    _, *tables = (ROOT / "docs" / "settings.md").read_text().split("| Variable | Default |")
    for row in (row for table in tables for row in table.partition("\n\n")[0].splitlines()[2:]):
        names, told, _ = (cell.strip() for cell in row.split("|")[1:-1])
        for name, default in zip(names.split(", "), told.split(", "), strict=False):
            if re.fullmatch(r"`[\w./]+`", default):
                yield name.strip("`"), default.strip("`")


def test_the_operations_guide_tells_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read(PRODUCTION)
    in_procfile = dict(re.findall(r"\$\{(\w+):-([^}]+)\}", (ROOT / "Procfile").read_text()))
    for name, _ in _defaults():  # whoever runs this may have chosen others
        monkeypatch.delenv(name, raising=False)
    web = options()
    of_web = {
        "WEB_WORKERS": web.workers, "WEB_THREADS": web.threads, "WEB_BACKLOG": web.backlog, "PORT": web.port,
        "HOST": web.host, "WEB_RECEIVE_SECONDS": web.receive_seconds, "WEB_SEND_SECONDS": web.send_seconds,
    }  # fmt: skip
    kept = {**in_procfile, **of_web, "DATABASE_CONN_MAX_AGE": settings["DATABASES"]["default"]["CONN_MAX_AGE"]}
    told = {name: default for name, default in _defaults() if name in kept or name in settings}
    assert {*in_procfile, *of_web} <= told.keys()
    assert {
        name for name in settings if name.startswith(("BRIDGE_", "RETAIN_")) or name.endswith("_LIMIT")
    } <= told.keys()
    assert told == {name: _plain(kept.get(name, settings.get(name))) for name in told}


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
