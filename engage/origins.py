"""The origins that an app allows: scheme, host and port, as `https://shop.example`."""

import re

_FORM = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,*]+")


def tidy_origin(text: str) -> str:
    """The text in lower case, without surrounding whitespace or a trailing slash."""
    return text.strip().lower().removesuffix("/")


def is_origin(text: str) -> bool:
    """Whether a text from `tidy_origin` has the form of an origin."""
    return _FORM.fullmatch(text) is not None
