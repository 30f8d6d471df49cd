"""One way of paging: what answers page by page takes `limit` and `after`, and answers `next`."""

from dataclasses import is_dataclass

import config.urls  # noqa: F401 (so that all calls are known)
from config.docs.documentation import openapi_document
from engage.calls.call import Call
from engage.json.fields import members
from tests.support.conformance import referred

# What 1.0.0 called otherwise goes on being read and answered: by operation, its parameter and its field.
OF_1_0_0 = {
    "listTriggerJobs": ("cursor", "nextCursor"),
    "getCustomerJourneys": ("cursor", "nextCursor"),
    "getEnrollment": ("cursor", "nextCursor"),
    "listMessages": ("cursor", "nextCursor"),
    "listAudit": (None, "after"),
}
_OTHERS = {"cursor", "page", "offset", "nextCursor", "nextPage"}


def test_every_list_has_the_same_names() -> None:
    paged = 0
    for call in Call.all():
        query = {one.spelling for one in members(call.signature.query)} if call.signature.query else set()
        shape = call.signature.answer
        answer = {one.spelling for one in members(shape)} if isinstance(shape, type) and is_dataclass(shape) else set()
        old = {name for name in OF_1_0_0.get(call.operation_id, ()) if name}
        assert not (query | answer) & _OTHERS - old, call.operation_id
        assert ("after" in query) == ("next" in answer) == ("limit" in query), call.operation_id
        assert not query & {"after"} or old <= query | answer, call.operation_id
        paged += "next" in answer
    assert paged >= len(OF_1_0_0) + 8


def test_what_1_0_0_called_otherwise_is_deprecated_and_nothing_else_is() -> None:
    document = openapi_document()
    deprecated = {
        operation["operationId"]: parameter["name"]
        for methods in document["paths"].values()
        for operation in methods.values()
        for parameter in (referred(one) for one in operation.get("parameters", ()))
        if parameter.get("deprecated")
    }
    assert deprecated == {name: old for name, (old, _) in OF_1_0_0.items() if old}
    fields = [
        name
        for schema in document["components"]["schemas"].values()
        for name, field in schema.get("properties", {}).items()
        if isinstance(field, dict) and field.get("deprecated")
    ]
    assert sorted(fields) == sorted(field for _, field in OF_1_0_0.values())
