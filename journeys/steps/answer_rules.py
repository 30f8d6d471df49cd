"""What is made of a webhook's answer: when it is `ok`, and what of it is to `keep`, for later steps to read.

`{"ok": {"field": "answer.body.status", "op": "eq", "value": "sent"}, "keep": {"stock": "items[0].left"}}`. They go with
the request, so that its answer is read as its step was written.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from json import loads
from typing import Any

from customers.conditions import Condition, Root, tests_of
from engage.json.documents import Part, Reading
from journeys.rendering import InvalidTemplate, ValuePath, parse_path
from journeys.steps.conditions import read_condition
from journeys.steps.written import InvalidSteps

STATUS = "status"  # is always kept beside the others
MAX_KEPT_NAMES = 50
MAX_KEPT_BYTES = 16 * 1024
_LONGEST_NAME, _LONGEST_PATH = 100, 500
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BODY = "body"
_OF_ANSWER = re.compile(r"\s*answer\s*\.\s*(?:body|headers|status)\b")  # as in `ok`; ["answer"] is a name of the body


@dataclass(frozen=True, kw_only=True)
class AnswerRules:
    """`ok` None: the status alone decides. `keep` has paths from `body` by names; None: nothing is kept."""

    ok: Condition | None
    keep: Mapping[str, ValuePath] | None
    written: Mapping[str, Any]

    @property
    def reads_body(self) -> bool:
        asked = [] if self.ok is None else [field for test in tests_of(self.ok) for field in test.fields]
        return bool(self.keep) or any(field.path[0] == _BODY for field in asked)


def read_answer_rules(fields: Mapping[str, Part], *, stored: bool) -> AnswerRules | None:
    """The rules in `ok` and `keep`; None if there are none."""
    written = {name: fields[name].value for name in ("ok", "keep") if name in fields}
    if not written:
        return None
    with Reading() as read:
        ok = read(lambda: read_condition(fields["ok"], roots={Root.ANSWER}, stored=stored) if "ok" in fields else None)
        keep = read(lambda: _read_keep(fields["keep"], stored=stored) if "keep" in fields else None)
    return AnswerRules(ok=ok, keep=keep, written=written)


@lru_cache(maxsize=100)
def stored_answer_rules(text: str) -> AnswerRules | None:
    """The rules that went with a request, as JSON."""
    return read_answer_rules(Part(loads(text), "", InvalidSteps).members(), stored=True)


def _read_keep(part: Part, *, stored: bool) -> dict[str, ValuePath]:
    members = part.members()
    if len(members) > MAX_KEPT_NAMES:
        part.refuse(f"holds {len(members)} names; its maximum is {MAX_KEPT_NAMES}.")
    with Reading() as read:
        for name, member in members.items():
            read(partial(_check_name, member, name))
            if not stored and _OF_ANSWER.match(str(member.value)):
                read.note(member, "must be a path in the answer's body, such as items[0].left: leave out answer.body.")
        paths = read.each(members.values(), _read_path)
    return dict(zip(members, paths, strict=True))


def _check_name(part: Part, name: str) -> None:
    if name == STATUS:
        part.refuse("must have another name: the status of the answer is kept as status.")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        part.refuse("is no name for what is kept: it takes letters, digits, _ and -, and begins with no digit.")


def _read_path(part: Part) -> ValuePath:
    text = part.text(at_most=_LONGEST_PATH).strip()
    try:
        return parse_path(f"{_BODY}{text}" if text.startswith("[") else f"{_BODY}.{text}")
    except InvalidTemplate:
        part.refuse("must be a path in the answer's body and nothing else, such as items[0].left.")
