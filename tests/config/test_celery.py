"""Celery's own commands on the service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config import ROOT
from tests.config.environments import PRODUCTION


@pytest.mark.parametrize(
    "url",
    [
        "redis://:sesame@redis.example/0",
        "redis://engage:sesame@redis.example:6379/0",
        "rediss://engage:sesame%40sesame@redis.example/0?ssl_cert_reqs=none",
        "redis://:sesame'sesame\"@redis.example/0",
        "redis://:sesame@sesame@redis.example/0",
        "unix://engage:sesame@/run/redis.sock?db=0",
    ],
)
def test_the_report_to_pass_on_holds_no_password(url: str) -> None:
    report = subprocess.run(
        [Path(sys.executable).with_name("celery"), "-A", "config", "report"], cwd=ROOT, capture_output=True, text=True,
        check=True, timeout=60,
        env={
            "PATH": os.environ["PATH"], **PRODUCTION, "DATABASE_URL": "postgres://engage:hush@db.example/engage",
            "REDIS_URL": url, "METRICS_TOKEN": "a-token-of-metrics",
        },
    )  # fmt: skip
    printed = report.stdout + report.stderr
    assert "REDIS_URL" in printed
    assert "********@" in printed
    for secret in ("sesame", "hush", "a-token-of-metrics", PRODUCTION["SECRET_KEY"]):
        assert secret not in printed
