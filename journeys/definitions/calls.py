"""What the calls about all kinds of definitions have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter

from engage.calls.asked import Asked
from engage.calls.call import Answered, Call, PathId, delete, get, patch, put
from engage.calls.queries import DRY_RUN_MESSAGE
from engage.errors import MissingParameter, Refusal
from engage.http.preconditions import PreconditionFailed, PreconditionRequired, Seen
from engage.resources.definitions import (
    Definition,
    PutDefinition,
    SecretsMissing,
    delete_definition,
    get_definition,
    put_definition,
)
from engage.resources.resource import CallTexts, Resource
from journeys.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
)

_ETAG = '"3f1c7a90b6e24d5f8a7b6c5d4e3f2a1b"'


def _if_match(description: str) -> OpenApiParameter:
    schema = {"type": "string"}
    return OpenApiParameter("If-Match", schema, location=OpenApiParameter.HEADER, description=description)


_DEMANDED = _if_match(
    "The ETag of what you have read. Needed to change or delete what is there, and for nothing else: "
    "creating, a dry run, and a body that changes nothing need none. `*` stands for whatever is there."
)
_HEEDED = _if_match("The ETag of what you have read. Where it is sent, nothing else is changed or deleted.")


def _if_none_match(description: str) -> OpenApiParameter:
    schema = {"type": "string"}
    return OpenApiParameter("If-None-Match", schema, location=OpenApiParameter.HEADER, description=description)


IF_NEW = _if_none_match("`*` to create only: what is there is then refused, also in a dry run.")
_IF_OTHER = _if_none_match("ETags of what you have. Where it is one of them, the answer is 304.")


def etag_of(*statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        "ETag",
        {"type": "string"},
        location=OpenApiParameter.HEADER,
        description="Of the whole definition, for If-Match. A dry run's answer has none.",
        response=[*statuses],
    )


FOUND_PARAMETERS = [_IF_OTHER, etag_of(HTTPStatus.OK, HTTPStatus.NOT_MODIFIED)]
UNKNOWN_SECRET = SecretsMissing("headers.X-Token needs its value: *** keeps what is stored.")
_CREATED, _CHANGED, _UNCHANGED = "Created.", "Changed.", "Nothing to change."
_EMPTY = MissingParameter("The body must be the whole definition, and must not be empty.")
_NOTHING = MissingParameter("The body must say what changes, and must not be empty.")
FOUND: Mapping[int, str] = {HTTPStatus.OK: "The definition.", HTTPStatus.NOT_MODIFIED: "It is what you have."}
_NOW = "What was there is now as the body says."


@dataclass(frozen=True, kw_only=True)
class Calls:
    """The calls about one kind of definition: decorators for them, and what they do."""

    kind: Resource[Any]
    texts: CallTexts
    id: PathId
    policy: str = "definitions"
    tag: str = "Definitions"

    def named(self, ids: Mapping[str, str]) -> str:
        """Which one a path is about."""
        return self.kind.only or ids[self.id.keyword]

    @property
    def shared(self) -> dict[str, Any]:
        """What the decorators of all of them say."""
        named = f"/{{{self.id.name}}}"
        return {
            "path": f"{self.kind.address or self.kind.section}/{{workspaceId}}{'' if self.kind.only else named}",
            "ids": [] if self.kind.only else [self.id],
            "scope": self.kind.scope,
            "of_all_journeys": self.kind.of_all_journeys,
            "policy": self.policy,
            "tag": self.tag,
        }

    @property
    def if_match(self) -> OpenApiParameter:
        return _HEEDED if self.kind.as_in_1_0 else _DEMANDED

    @property
    def _missing(self) -> list[Refusal]:
        """Of what no id in the path names, which says so by itself."""
        return [self.kind.missing(self.kind.only)] if self.kind.only else []

    @property
    def _unseen(self) -> list[Refusal]:
        return [PreconditionFailed(), *([] if self.kind.as_in_1_0 else [PreconditionRequired()])]

    def put(self) -> Call:
        item = self.texts.example
        made = replace(self._changed, outcome="created", changed=[*item], inside=None)
        examples = self._examples | {
            "Created": Answered(data=made, says=_CREATED, status=HTTPStatus.CREATED, headers={"ETag": _ETAG}),
        }
        return put(
            **self._writing(_EMPTY),
            answer={HTTPStatus.OK: _NOW, HTTPStatus.CREATED: "It was created."},
            parameters=[self.if_match, IF_NEW, etag_of(HTTPStatus.OK, HTTPStatus.CREATED)],
            examples=examples,
        )

    def patch(self) -> Call:
        parameters = [self.if_match, etag_of(HTTPStatus.OK)]
        return patch(**self._writing(_NOTHING), answer=_NOW, parameters=parameters, examples=self._examples)

    def _writing(self, empty: Refusal) -> dict[str, Any]:
        refuses = [empty, *self._missing, *self.texts.refuses, *self._unseen]
        return {**self.shared, "requests": self.texts.requests, "refuses": refuses}

    @property
    def _changed(self) -> PutDefinitionRecord:
        item, texts = self.texts.example, self.texts
        return PutDefinitionRecord(
            id=texts.example_id,
            key=item["key"],
            outcome="changed",
            changed=texts.changed,
            inside=texts.inside,
            definition=item,
            warnings=[],
        )

    @property
    def _examples(self) -> dict[str, Any]:
        data, moving = self._changed, self.texts.moving
        each = {"Those inside are moved": replace(data, moving=moving)} if moving else {}
        with_etag = partial(Answered, says=_CHANGED, headers={"ETag": _ETAG})
        dry = Answered(data=replace(data, dry_run=True), says=DRY_RUN_MESSAGE)
        return {**{title: with_etag(data=one) for title, one in (each | {"Changed": data}).items()}, "A dry run": dry}

    def get(self) -> Call:
        return get(
            **self.shared,
            says="Definition found.",
            answer=FOUND,
            parameters=FOUND_PARAMETERS,
            examples={"Found": self.record()},
            refuses=self._missing,
        )

    def delete(self) -> Call:
        return delete(
            **self.shared,
            says="Deleted.",
            answer="It was deleted.",
            parameters=[self.if_match],
            examples={"Deleted": DefinitionDeleted()},
            refuses=[*self._missing, *self.texts.refuses_to_delete, *self._unseen],
        )

    def record(self) -> Answered[DefinitionRecord]:
        """The example, as it is read."""
        record = DefinitionRecord(
            id=self.texts.example_id, key=self.texts.example["key"], definition=self.texts.example, warnings=[]
        )
        return Answered(data=record, headers={"ETag": _ETAG})

    def read(self, asked: Asked[None, None], named: str) -> Answered[DefinitionRecord]:
        return as_read(get_definition(self.kind, workspace_id=asked.workspace_id, named=named))

    def write(self, asked: Asked[Any, Any], named: str) -> Answered[PutDefinitionRecord]:
        done = self.written(asked, named, asked.body)
        dry_run = asked.query.dry_run
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

    def written(self, asked: Asked[Any, Any], named: str, body: Mapping[str, Any]) -> PutDefinition:
        """What a PUT or a PATCH leaves, or would."""
        merges = asked.request.method == "PATCH"
        if not asked.request.data:  # whatever was lost on the way must not empty a definition
            raise _NOTHING if merges else _EMPTY
        return put_definition(
            self.kind,
            workspace_id=asked.workspace_id,
            named=named,
            written=body,
            seen=Seen.by(asked.request._request),
            confirmed=getattr(asked.query, "confirm", False),
            dry_run=asked.query.dry_run,
            now=timezone.now(),
            moved_by=asked.actor if getattr(asked.query, "move_inside", False) else None,
            merges=merges,
        )

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
