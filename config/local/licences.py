"""`python -m config.local.licences [LOCK]`: the licence of each package that a lock file names, as Markdown."""

import re
import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

UNKNOWN = "unknown"
_CLASSIFIER = "License :: OSI Approved :: "
_LONGEST_NAME = 60  # some packages have their whole text in the field for the name


@dataclass(frozen=True, kw_only=True)
class Licensed:
    """A package with what it says of itself."""

    name: str
    version: str
    licence: str


def licences(lock: str) -> Iterator[Licensed]:
    """The packages that the lock's text names, in its order; not those that are for other machines."""
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE):
        try:
            yield Licensed(name=name, version=version, licence=_licence(name))
        except PackageNotFoundError:
            continue


def _licence(name: str) -> str:
    """What the package says: its expression, or the classifiers, or the name in the field that is for it."""
    said = metadata(name)
    classifiers = [one.removeprefix(_CLASSIFIER) for one in said.get_all("Classifier", []) if _CLASSIFIER in one]
    written = (said["License"] or "").partition("\n")[0].strip()
    named = written if len(written) <= _LONGEST_NAME else ""
    return said["License-Expression"] or ", ".join(classifiers) or named or UNKNOWN


def main(arguments: list[str]) -> None:
    """Prints the table; without an argument, of requirements.txt."""
    (lock,) = arguments or ["requirements.txt"]
    rows = [astuple(one) for one in licences(Path(lock).read_text())]
    lines = [" | ".join(row) for row in [("Package", "Version", "Licence"), ("---",) * 3, *rows]]
    sys.stdout.writelines(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
