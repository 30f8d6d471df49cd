"""Arguments that several commands take."""

import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from engage.json.storable import parse_object
from engage.models import Workspace


def read_object(file: str) -> dict[str, Any]:
    """The JSON object in the file; - is standard input. Raises CommandError, and InvalidJson if it holds none."""
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"{file or repr(file)} cannot be read: {error.strerror}.") from None
    return parse_object(raw, subject="Standard input" if file == "-" else file)


def file_named(text: str) -> Path:
    """An argument that names a file, which need not be there."""
    path = Path(text)
    if not path.name:
        raise ArgumentTypeError(f"{text!r} names no file.")
    return path


def workspace_named(key: str) -> Workspace:
    """The workspace with this key. Raises CommandError if there is none."""
    workspace = Workspace.objects.filter(key=key).first()
    if workspace is None:
        raise CommandError(f"There is no workspace {key!r}.")
    return workspace
