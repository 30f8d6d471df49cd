"""A journey's definition while it is written: what is wrong with it, and where, and how it would be drawn."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.contrib.admin.utils import quote
from django.core.exceptions import ValidationError
from django.urls import reverse

from engage.admin.parts.columns import json_text
from engage.errors import MOST_MISTAKES, Refusal
from engage.json.positions import Span, span_of, spans_in
from engage.resources.resource import DefinitionWarning
from journeys.faces.content_rights import READ_CUSTOMERS
from journeys.faces.drawings import Drawing, plain
from journeys.journey.fields import SPELLINGS
from journeys.journey.warnings import in_words, warnings_of
from journeys.models import Journey
from journeys.steps.definition import KINDS
from journeys.steps.graph import graph_of
from journeys.steps.kinds import examples_of
from journeys.steps.secrets import steps_as_stored

_ROOTS = {field: SPELLINGS[field] for field in (*READ_CUSTOMERS, "guards", "payload_schema", "hold_out")}


def editor_of(journey: Journey | None) -> dict[str, Any]:
    """What the page needs to draw while somebody types."""
    url = (
        reverse("admin:journeys_journey_draft", args=[quote(journey.pk)])
        if journey
        else reverse("admin:journeys_journey_new_draft")
    )
    examples = [{"type": kind.type, "text": json_text(example)} for kind in KINDS for example in examples_of(kind)]
    return {"url": url, "examples": examples}


def draft_of(form: Any) -> dict[str, Any]:
    """The mistakes in the sent form's definition, the warnings, and its drawing; null if its steps cannot be read."""
    mistakes = [mistake for field in sorted(_ROOTS) for mistake in _mistakes(form, field)]
    return {
        "mistakes": mistakes[:MOST_MISTAKES],
        "more": max(0, len(mistakes) - MOST_MISTAKES) + form.more_mistakes,
        **_readable(form, [mistake["message"] for mistake in mistakes]),
    }


def _mistakes(form: Any, field: str) -> Iterator[dict[str, Any]]:
    """In the order in which they stand in the text."""
    if field not in form.errors:
        return
    yield from _placed(form, field, form.errors[field])


def _placed(form: Any, field: str, messages: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Messages that begin with a place, and where in the field's text that is."""
    text = str(form.data.get(field, "")).replace("\r\n", "\n")
    spans = _spans(text, _ROOTS[field])
    found = [(span_of(message, spans) or _syntax_error(text), message) for message in messages]
    for (begin, end), message in sorted(found):
        yield {
            "field": field,
            "message": message,
            "line": text.count("\n", 0, begin) + 1,
            "begin": _in_browsers(text, begin),
            "end": _in_browsers(text, end),
        }


def _spans(text: str, root: str) -> dict[str, Span]:
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return spans_in(text, root)
    return {}


def _syntax_error(text: str) -> Span:
    """Where the text stops being JSON; its beginning if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos, error.pos
    except (ValueError, RecursionError):
        pass
    return 0, 0


def _in_browsers(text: str, position: int) -> int:
    """The position as browsers count: a character beyond 16 bits is two."""
    return len(text[:position].encode("utf-16-le", "surrogatepass")) // 2


def _readable(form: Any, mistakes: Sequence[str]) -> dict[str, Any]:
    """As what is stored would be: a mistake that leaves the steps readable is no reason not to show them.

    What is a mistake, because it is new, is no warning as well.
    """
    field = form.fields.get("steps")
    drawing: Drawing | None = None
    warnings: list[DefinitionWarning] = []
    with suppress(Refusal, ValidationError):
        if field is not None:
            steps = steps_as_stored(field.to_python(form.data.get("steps")) or [], form.stored_steps)
            exit_on = form.cleaned_data.get("exit_on") if "exit_on" not in form.errors else None
            warnings = [
                warning
                for warning in warnings_of(form.instance, steps=steps, exit_on=exit_on)
                if not any(mistake.startswith(f"{warning.place} ") for mistake in mistakes)
            ]
            drawing = plain(graph_of(steps, exit_on), warnings)
    placed = [
        one
        for field, root in _ROOTS.items()
        for one in _placed(form, field, [in_words(warning) for warning in warnings if _stands_in(warning, root)])
    ]
    return {"drawing": drawing, "warnings": placed}


def _stands_in(warning: DefinitionWarning, root: str) -> bool:
    return re.split(r"[.\[]", warning.place, maxsplit=1)[0] == root
