"""Environments, and the settings that a process reads from them."""

import os
import runpy
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import ROOT

PRODUCTION = {
    "ENVIRONMENT": "production",
    "SECRET_KEY": "a-secret-of-more-than-fifty-characters-0123456789-abcdefghij",
    "ALLOWED_HOSTS": "engage.example",
    "DATABASE_URL": "postgres://engage@db.example/engage",
    "REDIS_URL": "redis://redis.example/0",
}


def read(environment: dict[str, str]) -> dict[str, Any]:
    """The settings as a process with this environment reads them."""
    with mock.patch.dict(os.environ, environment, clear=True):
        return runpy.run_path(str(ROOT / "config" / "settings.py"))


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(ImproperlyConfigured) as refused:
        read(environment)
    return str(refused.value)


def manage(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *command.split()], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "ENVIRONMENT": "development", **environment},
    )  # fmt: skip
