"""Whatever is sent: a 4xx in JSON, never a 5xx, and nothing is written."""

import pytest
from django.apps import apps
from django.db import connection

from tests.abuse import callers, fields, framing, meaning
from tests.abuse.calls import Case, good_calls
from tests.abuse.service import Service
from tests.support.cases import each
from tests.support.clients import Answer

CORPUS: list[Case] = [*framing.ALL, *fields.ALL, *callers.ALL, *meaning.ALL]
GOOD = {call.operation: call for call in good_calls({})}


def _fingerprint() -> set[tuple[str, int, str]]:
    """How many rows each table has, and a digest of them; when a key was last used is no matter."""
    tables = [model._meta.db_table for model in apps.get_models()]
    counted = " UNION ALL ".join(
        f"SELECT '{table}', count(*), md5(string_agg((to_jsonb(t) - 'last_used_at')::text, '' ORDER BY t.ctid)) "
        f"FROM {table} t"
        for table in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(counted)
        return {*cursor.fetchall()}


def _what_is_wrong_with(answer: Answer) -> str:
    """In words; "" for a refusal as it should be."""
    if not 400 <= answer.status_code < 500:
        return f"answered {answer.status_code}"
    if answer["Content-Type"] != "application/json":
        return f"answered {answer['Content-Type']}"
    body = answer.json()
    return "" if body["success"] is False and body["error"] and body["message"] and body["code"] else f"said {body}"


def _wrong_answers(service: Service, operation: str, case: Case) -> list[str]:
    """In words."""
    return [
        f"{case.name}: {found} {call.method} {call.path[:200]} {call.headers}"
        for call in case.spoil(service.calls[operation])
        if (found := _what_is_wrong_with(service.answer(call)))
    ]


def _who_writes(service: Service, operation: str) -> list[str]:
    """The cases that write something, and where: told one after the other, once it is known that there are some."""
    written, before = [], _fingerprint()
    for case in CORPUS:
        _wrong_answers(service, operation, case)
        after = _fingerprint()
        if after != before:
            written.append(f"{case.name}: wrote { ({table for table, *_ in after ^ before}) }")
        before = after
    return written


@pytest.mark.slow
@pytest.mark.parametrize("operation", GOOD)
def test_nothing_bad_passes_or_breaks_anything(service: Service, operation: str) -> None:
    before = _fingerprint()
    wrong = [found for case in CORPUS for found in _wrong_answers(service, operation, case)]
    assert wrong == []
    assert _fingerprint() == before, _who_writes(service, operation)


@each("operation", GOOD)
def test_the_same_call_unspoiled_succeeds(service: Service, operation: str) -> None:
    """Else the corpus would be refused for another reason than its own."""
    assert service.answer(service.calls[operation]).succeeded


def test_the_corpus_has_at_least_200_cases_of_different_names_and_uses_each() -> None:
    names = {case.name for case in CORPUS}
    assert len(names) == len(CORPUS) >= 200
    with_ids = [*good_calls(dict.fromkeys(["workspaceId", "journeyId", "customerId", "segmentId"], "a" * 24))]
    assert [case.name for case in CORPUS if not any([*case.spoil(call)] for call in with_ids)] == []
