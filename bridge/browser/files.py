"""The SDK's files as they are served: this version's, and those of released versions under the names with their hashes.

They lie in one folder under those names, and a manifest lists them. A released version stays: pages load it by its
hash, and with it they hold it to that.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

FOLDER = Path(__file__).parent.parent / "static" / "bridge" / "sdk"
MANIFEST, SCRIPT, PACKAGE = "manifest.json", "engage.global.js", "engage.tgz"
_TYPES = {".js": "text/javascript; charset=utf-8", ".ts": "text/plain; charset=utf-8", ".tgz": "application/gzip"}


class Entry(TypedDict):
    """One file in the manifest; sizes in bytes."""

    hashed: str
    size: int
    compressed: int
    integrity: str


class Manifest(TypedDict):
    """The files by name: this version's, and those of each version that was released."""

    current: dict[str, Entry]
    released: dict[str, dict[str, Entry]]


@dataclass(frozen=True, kw_only=True)
class SdkFile:
    """A file as it is served, by content coding ("" is none); `immutable` under its hashed name."""

    contents: Mapping[str, bytes]
    content_type: str
    integrity: str
    immutable: bool


@cache
def manifest() -> Manifest:
    """The manifest, as it was built."""
    read: Manifest = json.loads((FOLDER / MANIFEST).read_text())
    return read


@cache
def served() -> Mapping[str, SdkFile]:
    """Each file of this version under both of its names, and those of released ones under that with the hash."""
    return {called: _file(name, entry, immutable=called != name) for called, name, entry in _names()}


def content_of(name: str) -> bytes:
    """A file of this version."""
    return (FOLDER / manifest()["current"][name]["hashed"]).read_bytes()


def script_tag(*, host: str) -> str:
    """The tag that loads the SDK, with what the browser is to hold it to."""
    entry = manifest()["current"][SCRIPT]
    return f'<script src="{host}/sdk/v1/{entry["hashed"]}" integrity="{entry["integrity"]}" crossorigin></script>'


def package_address(*, host: str) -> str:
    """From where npm installs this version, also after the next one."""
    return f"{host}/sdk/v1/{manifest()['current'][PACKAGE]['hashed']}"


def compressed(content: bytes) -> bytes:
    """As a file of gzip. Python's own `gzip` names another system in it from 3.13 on, and the file would be another."""
    return zlib.compress(content, 9, wbits=31)


def _names() -> Iterator[tuple[str, str, Entry]]:
    """What each file is called in an address, its own name, and its entry."""
    current, released = manifest()["current"], manifest()["released"]
    for version in (*released.values(), current):
        yield from ((entry["hashed"], name, entry) for name, entry in version.items())
    yield from ((name, name, entry) for name, entry in current.items())


def _file(name: str, entry: Entry, *, immutable: bool) -> SdkFile:
    path = FOLDER / entry["hashed"]
    contents = {"": path.read_bytes()}
    if path.suffix != ".tgz":
        contents["gzip"] = compressed(contents[""])
        if (smaller := path.with_name(f"{path.name}.br")).exists():
            contents["br"] = smaller.read_bytes()
    return SdkFile(
        contents=contents,
        content_type=_TYPES[Path(name).suffix],
        integrity=entry["integrity"],
        immutable=immutable,
    )
