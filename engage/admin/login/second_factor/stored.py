"""What staff show beside their password, as it is stored: whoever has a copy of the database can show none of it.

The secret of a phone is encrypted, because codes are made from it. Of a recovery code there is a digest: with 80 random
bits, it needs no key.
"""

import hashlib
from base64 import b32encode
from os import urandom
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.util import random_hex

from engage.credentials.encryption import encrypted
from engage.models import Phone

_BYTES = 10  # so that 16 characters hold a code or its digest, as the column does
_FORMER_LENGTH = 8  # of codes that are stored as they are


def phone_to_set_up(user: Any) -> Phone:
    """The account's phone that has not shown a code yet; it is made if there is none."""
    with transaction.atomic():
        list(User.objects.select_for_update(no_key=True).filter(pk=user.pk).values_list("pk"))  # one tab at a time
        phone: Phone | None = Phone.objects.filter(user=user, confirmed=False).order_by("pk").first()
        return phone or Phone.objects.create(user=user, confirmed=False, name="phone", key=encrypted(random_hex()))


def replace_recovery_codes(user: User, *, number: int) -> list[str]:
    """The account's new codes, which are known to nobody else; the former ones hold no more."""
    codes = [_base32(urandom(_BYTES)) for _ in range(number)]
    StaticDevice.objects.filter(user=user).delete()
    device = StaticDevice.objects.create(user=user, name="recovery codes")
    device.token_set.bulk_create(StaticToken(device=device, token=_stored(code)) for code in codes)
    return codes


def device_that_takes(code: str, *, user: Any) -> Phone | StaticDevice | None:
    """The account's device of which this is a code, which is then used up. Codes of phones are of digits.

    A wrong code makes the next of the same kind wait, and none of the other kind: a recovery code is for the day when
    no code of the phone is right.
    """
    kind, shown = (Phone, code) if code.isdecimal() else (StaticDevice, _stored(code))
    with transaction.atomic():
        devices = kind.objects.devices_for_user(user, confirmed=True).select_for_update()
        return next((device for device in devices if device.verify_token(shown)), None)


def _stored(code: str) -> str:
    return code if len(code) == _FORMER_LENGTH else _base32(hashlib.sha256(code.encode()).digest()[:_BYTES])


def _base32(value: bytes) -> str:
    return b32encode(value).decode().lower()
