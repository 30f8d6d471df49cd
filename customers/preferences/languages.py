"""The texts of the pages: a file of JSON for each language, all with the same names (texts/).

No gettext: forty sentences need no catalogue that has to be compiled, and a translator can write JSON.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path

from django.utils.translation.trans_real import parse_accept_lang_header

OTHERWISE = "en"


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """The texts by their names, by language."""
    return {file.stem: json.loads(file.read_text()) for file in (Path(__file__).parent / "texts").glob("*.json")}


def language_for(locale: object, accepted: str) -> str:
    """The language of somebody's locale, such as de-AT or de_AT; else the first that their browser wants."""
    return next((one for one in _wanted(locale, accepted) if one in texts()), OTHERWISE)


def _wanted(locale: object, accepted: str) -> Iterator[str]:
    if isinstance(locale, str):
        yield locale.lower().replace("_", "-").partition("-")[0]
    yield from (name.partition("-")[0] for name, _ in parse_accept_lang_header(accepted))


class Words:
    """The texts in one language, by their names, with the values put in that they name; for templates, too."""

    def __init__(self, language: str, **values: str) -> None:
        self.language = language
        self.values = values
        self._texts = texts()[language]

    def __getitem__(self, name: str) -> str:
        return self._texts[name].format_map(self.values)

    def day(self, moment: datetime) -> str:
        return moment.strftime(self._texts["date"])
