"""`make info`: what `make run` has shown, again, with the password and the keys."""

import sys
from urllib.parse import urlsplit

from config.local.demo import read_demo
from config.local.first_screen import Address, commands, screen
from config.local.locks import FileLock
from config.local.servers import launcher_lock

_USUAL = "http://127.0.0.1:8000"


def main() -> int:
    """Returns the exit code: 1 if nothing was ever started."""
    demo = read_demo()
    if demo is None:
        sys.stdout.write("There is no demo yet: make run makes one.\n")
        return 1
    lock = FileLock.at(launcher_lock())
    runs = not lock.try_exclusive()
    where = urlsplit(lock.noted() or _USUAL)
    lock.close()
    address = Address(host=where.hostname or "", port=where.port or 0)
    told = commands(address, demo, job_id="JOB_ID")
    sys.stdout.write(screen(address, demo, told if runs else f"  It does not run now: make run starts it.\n\n{told}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
