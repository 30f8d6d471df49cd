"""Makes what is served of what is written in `source/`, with the programs that `tools/package.json` names."""

import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bridge.browser.files import FOLDER, MANIFEST, PACKAGE, SCRIPT, Entry, Manifest, compressed

_ROOT = Path(__file__).parents[2]
SOURCE, TOOLS = Path(__file__).parent / "source", Path(__file__).parent / "tools"
DOCUMENTED = _ROOT / "docs" / "in-app-messages.md"  # it has a line to copy, by an address that stays
# A module is bundled with what it imports and has its types beside it. Bytes, minified and compressed with gzip.
# Of engage.js, 192 bytes are for this: no other site gets the channel of a frame, and no frame the clicks of its page.
# Of show.js, 64 are for this: a form's fields have labels, options and several lines.
BUDGETS = {"engage.js": 5312, SCRIPT: 5312, "frame.js": 1024, "messages.js": 2560, "show.js": 4160}
_SCRIPTS = {SCRIPT}  # for plain script tags
_COMPRESS = "process.stdout.write(require('zlib').brotliCompressSync(require('fs').readFileSync(0)))"
_EPOCH = 499_162_500  # as in npm's own packages: the 26th of October 1985


class Released(Exception):
    """This version was released with other files, or is under way: the release needs a version of its own."""


def build(*, release: bool = False) -> Mapping[str, bytes]:
    """The folder's files that are made anew, by name. `release`: as the version in pyproject.toml, which then stays.

    Raises Released, and CalledProcessError or FileNotFoundError without the tools.
    """
    contents = {name: _minified(name) for name in BUDGETS}
    for name in BUDGETS:
        types = f"{name.removesuffix('.js')}.d.ts"
        contents[types] = (SOURCE / types).read_bytes()
    contents[PACKAGE] = _package()
    current = {name: _entry(name, content) for name, content in contents.items()}
    released = _released(current, release=release)
    made = {current[name]["hashed"]: content for name, content in contents.items()}
    for name in BUDGETS:
        made[f"{current[name]['hashed']}.br"] = _run("node", "-e", _COMPRESS, given=contents[name])
    manifest = Manifest(current=current, released=released)
    return {**made, MANIFEST: f"{json.dumps(manifest, indent=2)}\n".encode()}


def write(made: Mapping[str, bytes]) -> None:
    """Puts what was made into the folder, and takes out what neither this version nor a released one has."""
    manifest: Manifest = json.loads(made[MANIFEST])
    listed = {entry["hashed"] for files in manifest["released"].values() for entry in files.values()}
    for path in FOLDER.iterdir():
        if path.name.removesuffix(".br") not in listed:
            path.unlink()
    for name, content in made.items():
        (FOLDER / name).write_bytes(content)


def with_package(text: str) -> str:
    """The text with the address of the package as it is now, where it has that of another."""
    hashed = json.loads((FOLDER / MANIFEST).read_text())["current"][PACKAGE]["hashed"]
    return re.sub(r"\bengage\.[0-9a-f]{16}\.tgz\b", hashed, text)


def version() -> str:
    with (_ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def package_version() -> str:
    """The version as npm spells it: what is under way comes before what is released."""
    return version().replace(".dev", "-dev.")


def _released(current: dict[str, Entry], *, release: bool) -> dict[str, dict[str, Entry]]:
    read: Manifest = json.loads((FOLDER / MANIFEST).read_text())
    released = read["released"]
    if release and ".dev" in version():
        raise Released(f"{version()} is under way: name the version that is released in pyproject.toml.")
    if release and released.setdefault(version(), current) != current:
        raise Released(f"{version()} was released with other files: raise the version in pyproject.toml.")
    return released


def _minified(name: str) -> bytes:
    shape = "iife" if name in _SCRIPTS else "esm"
    as_written = "--tsconfig-raw={}"  # not as tsconfig.json has the pages' types checked
    esbuild = (TOOLS / "node_modules/.bin/esbuild", name, "--bundle", "--minify", as_written)
    return _run(*esbuild, f"--format={shape}", "--target=es2022")


def _package() -> bytes:
    """A package for npm: the sources, which a page's own build bundles. The same bytes each time."""
    described = {**json.loads((SOURCE / "package.json").read_text()), "version": package_version()}
    files = {path.name: path.read_bytes() for path in SOURCE.iterdir() if path.name != SCRIPT}
    files |= {
        "package.json": f"{json.dumps(described, indent=2)}\n".encode(),
        "LICENSE": (_ROOT / "LICENSE").read_bytes(),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            member = tarfile.TarInfo(f"package/{name}")
            member.size, member.mtime = len(content), _EPOCH
            archive.addfile(member, io.BytesIO(content))
    return compressed(packed.getvalue())


def _entry(name: str, content: bytes) -> Entry:
    stem, _, suffix = name.partition(".")
    return Entry(
        hashed=f"{stem}.{hashlib.sha256(content).hexdigest()[:16]}.{suffix}",
        size=len(content),
        compressed=len(content if name == PACKAGE else compressed(content)),
        integrity=f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}",
    )


def _run(*command: str | Path, given: bytes = b"") -> bytes:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # where a Node of our own would be
    environment = {**os.environ, "PATH": path}
    return subprocess.run(command, cwd=SOURCE, env=environment, input=given, check=True, capture_output=True).stdout
