"""The origins that an app allows: scheme, host and port, as `https://shop.example`."""

import re

HOST_IN_ASCII = "Write a host's letters beyond ASCII as browsers send them, as in https://xn--bcher-kva.example."
_FORM = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,*]+")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def tidy_origin(text: str) -> str:
    """The text as browsers send it: in lower case, without surrounding whitespace, trailing slash or default port."""
    origin = text.strip().lower().removesuffix("/")
    return origin.removesuffix(_DEFAULT_PORTS.get(origin.partition("://")[0], ""))


def is_origin(text: str) -> bool:
    """Whether a text from `tidy_origin` has the form of an origin."""
    return text.isascii() and _FORM.fullmatch(text) is not None
