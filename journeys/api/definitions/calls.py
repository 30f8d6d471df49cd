"""What the calls about all kinds of definitions have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from engage.calls.asked import Asked
from engage.calls.call import Answered, Call, PathId, delete, get, put
from engage.calls.queries import DRY_RUN_MESSAGE
from engage.errors import MissingParameter, Refusal
from engage.http.preconditions import PreconditionFailed, PreconditionRequired, Seen
from engage.resources.definitions import (
    Definition,
    SecretsMissing,
    delete_definition,
    get_definition,
    put_definition,
)
from engage.resources.resource import Resource
from engage.scopes import Scope
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
)
from journeys.steering.moving import Moving

_ETAG = '"3f1c7a90b6e24d5f8a7b6c5d4e3f2a1b"'

_IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string"},
    location=OpenApiParameter.HEADER,
    description="The ETag of what you have read. Needed to change or delete what is there, and for nothing else: "
    "creating, a dry run, and a body that changes nothing need none. `*` stands for whatever is there.",
)


def _if_none_match(description: str) -> OpenApiParameter:
    schema = {"type": "string"}
    return OpenApiParameter("If-None-Match", schema, location=OpenApiParameter.HEADER, description=description)


IF_NEW = _if_none_match("`*` to create only: what is there is then refused, also in a dry run.")
_IF_OTHER = _if_none_match("ETags of what you have. Where it is one of them, the answer is 304.")


def _etag_of(*statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        {"type": "string"},
        location=OpenApiParameter.HEADER,
        description="Of the whole definition, for If-Match. A dry run's answer has none.",
        response=[*statuses],
    )


UNKNOWN_SECRET = SecretsMissing("headers.X-Token needs its value: *** keeps what is stored.")
_CREATED, _CHANGED, _UNCHANGED = "Created.", "Changed.", "Nothing to change."
_EMPTY = "The body must be the whole definition, and must not be empty."
_UNSEEN = [PreconditionFailed(), PreconditionRequired()]
_common: dict[str, Any] = {"policy": "definitions", "tag": "Definitions"}
_put = partial(
    put,
    **_common,
    answer={HTTPStatus.OK: "What was there is now as the body says.", HTTPStatus.CREATED: "It was created."},
    parameters=[_IF_MATCH, IF_NEW, _etag_of(HTTPStatus.OK, HTTPStatus.CREATED)],
)
_get = partial(
    get,
    **_common,
    says="Definition found.",
    answer={HTTPStatus.OK: "The definition.", HTTPStatus.NOT_MODIFIED: "It is what you have."},
    parameters=[_IF_OTHER, _etag_of(HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)],
)
_delete = partial(
    delete,
    **_common,
    says="Deleted.",
    answer="It was deleted.",
    parameters=[_IF_MATCH],
    examples={"Deleted": DefinitionDeleted()},
)


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The three calls about one kind of definition: decorators for them, and what they do.

    `item` is an example, which has `example_id`.
    """

    kind: Resource[Any]
    path: str
    id: PathId
    scope: Scope = Scope.DEFINITIONS
    of_all_journeys: bool = False
    example_id: str
    item: Mapping[str, Any]

    @property
    def _shared(self) -> dict[str, Any]:
        return {"path": self.path, "ids": [self.id], "scope": self.scope, "of_all_journeys": self.of_all_journeys}

    def put(
        self,
        *,
        requests: Mapping[str, Any],
        changed: Sequence[str],
        refuses: Sequence[Refusal],
        inside: int | None = None,
        moving: Moving | None = None,
    ) -> Call:
        """`changed` to `moving` are of the examples of answers."""
        data = PutDefinitionRecord(
            id=self.example_id,
            key=self.item["key"],
            outcome="changed",
            changed=changed,
            inside=inside,
            definition=self.item,
            warnings=[],
        )
        changing = {"Those inside are moved": replace(data, moving=moving)} if moving else {}
        changing["Changed"] = data
        made = replace(data, outcome="created", changed=[*self.item], inside=None)
        with_etag = partial(Answered, headers={"ETag": _ETAG})
        examples = {
            **{title: with_etag(data=found, says=_CHANGED) for title, found in changing.items()},
            "Created": with_etag(data=made, says=_CREATED, status=HTTPStatus.CREATED),
            "A dry run": Answered(data=replace(data, dry_run=True), says=DRY_RUN_MESSAGE),
        }
        refused = [MissingParameter(_EMPTY), *refuses, *_UNSEEN]
        return _put(**self._shared, requests=requests, examples=examples, refuses=refused)

    def get(self) -> Call:
        return _get(**self._shared, examples={"Found": self.record()})

    def delete(self, *refuses: Refusal) -> Call:
        return _delete(**self._shared, refuses=[*refuses, *_UNSEEN])

    def record(self) -> Answered[DefinitionRecord]:
        """The example, as it is read."""
        record = DefinitionRecord(id=self.example_id, key=self.item["key"], definition=self.item, warnings=[])
        return Answered(data=record, headers={"ETag": _ETAG})

    def read(self, asked: Asked[None, None], named: str) -> Answered[DefinitionRecord]:
        return as_read(get_definition(self.kind, workspace_id=asked.workspace_id, named=named))

    def write(
        self, asked: Asked[Any, Any], named: str, *, confirmed: bool = False, moved_by: str | None = None
    ) -> Answered[PutDefinitionRecord]:
        dry_run = asked.query.dry_run
        if not asked.request.data:  # whatever was lost on the way must not empty a definition
            raise MissingParameter(_EMPTY)
        done = put_definition(
            self.kind,
            workspace_id=asked.workspace_id,
            named=named,
            written=asked.body,
            seen=Seen.by(asked.request._request),
            confirmed=confirmed,
            dry_run=dry_run,
            now=timezone.now(),
            moved_by=moved_by,
        )
        told = _told(done.definition)
        if dry_run and done.outcome == "created":
            told["id"] = None
        record = PutDefinitionRecord(
            **told,
            outcome=done.outcome,
            changed=done.changed,
            inside=done.inside,
            moving=done.moving,
            dry_run=dry_run,
        )
        if dry_run:
            return Answered(data=record)
        says, status = {
            "created": (_CREATED, HTTPStatus.CREATED),
            "changed": (_CHANGED, HTTPStatus.OK),
            "unchanged": (_UNCHANGED, HTTPStatus.OK),
        }[done.outcome]
        return Answered(data=record, says=says, status=status, headers={"ETag": done.definition.etag})

    def take_away(self, asked: Asked[None, None], named: str) -> DefinitionDeleted:
        delete_definition(
            self.kind,
            workspace_id=asked.workspace_id,
            named=named,
            seen=Seen.by(asked.request._request),
            actor=asked.actor,
            now=timezone.now(),
        )
        return DefinitionDeleted()


def as_read(found: Definition) -> Answered[DefinitionRecord]:
    return Answered(data=DefinitionRecord(**_told(found)), headers={"ETag": found.etag})


def _told(found: Definition) -> dict[str, Any]:
    key = str(found.item["key"])
    return {"id": found.row.id, "key": key, "definition": found.item, "warnings": found.warnings}
