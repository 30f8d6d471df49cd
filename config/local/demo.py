"""The demo's ids, its API key's secret and the administrator's password, noted when they were created.

A secret is shown only on creation, so it is kept beside the data, in a file that only this user can read.
"""

import json
from pathlib import Path
from typing import TypedDict

from config.local.servers import data_folder

ADMIN = "admin"
RECEIVER_HOST = "127.0.0.1"  # where the demo's webhooks go


class PrintedWorkspace(TypedDict):
    """What `seed_workspace --json` prints; a key's secret is None if the key already existed."""

    workspaceId: str
    apiKeys: dict[str, str | None]
    apps: dict[str, str]
    customers: dict[str, str]
    segments: dict[str, str]
    journeys: dict[str, str]


class Demo(TypedDict):
    """`adminPassword` is None if it was set elsewhere; `webhookSecret` signs the workspace's webhooks."""

    workspace: PrintedWorkspace
    adminPassword: str | None
    webhookSecret: str


def read_demo() -> Demo | None:
    """Returns None before the first start."""
    path = _path()
    demo: Demo | None = json.loads(path.read_text()) if path.exists() else None
    return demo


def write_demo(demo: Demo) -> None:
    """Replaces the file atomically."""
    fresh = _path().with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(demo, indent=2))
    fresh.rename(_path())


def _path() -> Path:
    return data_folder() / "demo.json"
