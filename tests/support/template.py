"""A migrated database, of which the databases of all test processes are copies.

It stays on the server until a migration changes: migrating takes each process five seconds, copying a tenth of one.
"""

from hashlib import sha256

from django.conf import settings
from django.db import connection

from config import ROOT

_MADE_OF = ["*/migrations/*.py", "*/migrations/*.sql", "engage/database/**/*.py", "requirements.txt"]
_LOCK = 0x7E57


def template_database() -> str:
    """The name of the copied one; made if there is none yet."""
    name = f"test_template_{_digest()}"
    with connection._nodb_cursor() as cursor:
        cursor.execute("SET lock_timeout = 0")
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])  # one process makes it
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, 'test_template_')")
        known = {found for (found,) in cursor.fetchall()}
        if name not in known:
            for other in known:
                cursor.execute(f"DROP DATABASE IF EXISTS {other} WITH (FORCE)")
            _migrate(f"{name}_unfinished")
            cursor.execute(f"ALTER DATABASE {name}_unfinished RENAME TO {name}")
    return name


def _digest() -> str:
    files = sorted(file for pattern in _MADE_OF for file in ROOT.glob(pattern))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _migrate(name: str) -> None:
    known = connection.settings_dict
    usual, test = known["NAME"], known["TEST"]["NAME"]
    known["TEST"]["NAME"] = name
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        connection.close()
        known["TEST"]["NAME"] = test
        known["NAME"] = settings.DATABASES["default"]["NAME"] = usual
