"""The settings of a process that is not a command: loaded first, and if they are refused, that is all it says."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.local.servers import EmbeddedServerError


def load_settings() -> None:
    """Ends the process with one line where they are refused; a web server would show each of its tries at length."""
    try:
        _ = settings.SECRET_KEY
    except (ImproperlyConfigured, EmbeddedServerError) as error:
        raise SystemExit(str(error)) from None
