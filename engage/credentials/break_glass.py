"""The link that lets an account in once, made in the server's shell alone (`manage.py break_glass`).

It comes by a door of its own: no password is checked, and no attempt of others counts, so it opens while they guess.
Whoever has no valid one costs the check of a signature.
"""

from django.contrib.auth.models import User
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac

SECONDS = 600
_SALT = "engage.break_glass"


def token_of(user: User, *, salt: str = _SALT) -> str:
    """Opens the account once, within SECONDS, unless somebody logs in to it before or its password changes.

    Links for another end have another `salt`.
    """
    return signing.dumps([user.pk, _state_of(user)], salt=salt)


def taken(token: str, *, salt: str = _SALT, seconds: int = SECONDS, locked: bool = True) -> User | None:
    """The account that it opens now, and unless not `locked`, until the end of the transaction; None: none."""
    try:
        number, state = signing.loads(token, salt=salt, max_age=seconds)
    except signing.BadSignature:
        return None
    accounts = User.objects.select_for_update() if locked else User.objects.all()
    user = accounts.filter(pk=number, is_active=True).first()
    return user if user and constant_time_compare(state, _state_of(user)) else None


def _state_of(user: User) -> str:
    """Another one after each login and each change of the password."""
    return salted_hmac(_SALT, f"{user.password} {user.last_login}", algorithm="sha256").hexdigest()
