"""The SDK's files: what is made of those written by hand, and how large they may be."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

FOLDER = Path(__file__).parent.parent / "static" / "bridge" / "sdk"
MANIFEST, SCRIPT = "manifest.json", "engage.global.js"
BUDGETS = {"engage.js": 5 * 1024, SCRIPT: 5 * 1024, "frame.js": 1024}  # bytes, compressed
_TYPES = {".js": "text/javascript; charset=utf-8", ".ts": "text/plain; charset=utf-8"}


class Entry(TypedDict):
    """One file in the manifest; sizes in bytes."""

    hashed: str
    size: int
    compressed: int
    integrity: str


@dataclass(frozen=True, kw_only=True)
class SdkFile:
    """A file as it is served; `immutable` under its hashed name."""

    content: bytes
    compressed: bytes
    content_type: str
    integrity: str
    immutable: bool


def build() -> dict[str, str]:
    """The generated files, by name: the script-tag form and the manifest."""
    contents = {name: _served_text(name) for name in ("engage.js", "frame.js", "engage.d.ts")}
    script = as_script(contents["engage.js"])
    manifest = {name: _entry(name, text.encode()) for name, text in {**contents, SCRIPT: script}.items()}
    return {SCRIPT: script, MANIFEST: json.dumps(manifest, indent=2) + "\n"}


def as_script(module: str) -> str:
    """The module for a plain script tag: it leaves one name, `Engage`, on the page."""
    return f"(() => {{\n{re.sub(r'^export ', '', module, flags=re.MULTILINE)}globalThis.Engage = Engage;\n}})();\n"


def _served_text(name: str) -> str:
    """Without comments that have lines of their own: they are for whoever reads the source."""
    return re.sub(r"^ */\*.*\*/\n", "", (FOLDER / name).read_text(), flags=re.MULTILINE)


def _entry(name: str, content: bytes) -> Entry:
    stem, _, suffix = name.partition(".")
    return Entry(
        hashed=f"{stem}.{hashlib.sha256(content).hexdigest()[:16]}.{suffix}",
        size=len(content),
        compressed=len(_compressed(content)),
        integrity=f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}",
    )


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


@cache
def manifest() -> Mapping[str, Entry]:
    """The manifest, as it was built."""
    read: dict[str, Entry] = json.loads((FOLDER / MANIFEST).read_text())
    return read


@cache
def served() -> Mapping[str, SdkFile]:
    """Each file under both of its names."""
    files: dict[str, SdkFile] = {}
    for name, entry in manifest().items():
        content = _served_text(name).encode()
        for called in (name, entry["hashed"]):
            files[called] = SdkFile(
                content=content,
                compressed=_compressed(content),
                content_type=_TYPES[Path(name).suffix],
                integrity=entry["integrity"],
                immutable=called != name,
            )
    return files


def script_tag(*, host: str) -> str:
    """The tag that loads the SDK, with what the browser is to hold it to."""
    entry = manifest()[SCRIPT]
    return f'<script src="{host}/sdk/v1/{entry["hashed"]}" integrity="{entry["integrity"]}" crossorigin></script>'
