"""The origins that an app allows: scheme, host and port, as `https://shop.example`."""

import re

_FORM = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,*]+")


def tidy_origin(text: str) -> str:
    """In lower case, without space around it or a closing slash."""
    return text.strip().lower().removesuffix("/")


def is_origin(text: str) -> bool:
    """Whether a tidy text has the form of an origin."""
    return _FORM.fullmatch(text) is not None
