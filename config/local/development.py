"""What a development set-up creates for itself; production reads it from the environment."""

import os
import secrets
from pathlib import Path


def secret_key(*, folder: Path) -> str:
    """The checkout's own key, created once: all its processes must share it, and logins must outlive a restart."""
    path = folder / "secret_key"
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f"secret_key.{os.getpid()}"
    if not path.exists():
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(50))
        try:
            path.hardlink_to(fresh)  # fails if another process was first, so all read the same key
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path.read_text()
