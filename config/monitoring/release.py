"""Which release a process runs, for `/livez` and `/metrics`."""

import subprocess
import tomllib
from functools import cache
from importlib import metadata

from django.conf import settings

from config import ROOT


@cache
def version() -> str:
    """The checkout's, or the installed wheel's."""
    try:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
    except OSError:
        pass
    try:
        return metadata.version("engage")
    except metadata.PackageNotFoundError:  # an image may be made without it
        return "unknown"


@cache
def commit() -> str:
    """COMMIT from the environment, as an image is built with, or as a release wrote it down, or the checkout's own."""
    if settings.COMMIT:
        return str(settings.COMMIT)
    try:
        return (ROOT / "config" / "COMMIT").read_text().strip()[:12]
    except OSError:
        pass
    try:
        asked = ["git", "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True, timeout=2).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
