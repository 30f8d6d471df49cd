"""Definitions one by one, each as the item of a seed file, whole: what is left out gets its default.

What is said of a definition is read, checked and saved as a file's item is. What happens to it (a journey is closed,
held or aborted; customers are put into a segment) is no part of it, and stays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.crypto import salted_hmac

from engage.errors import MOST_MISTAKES, FailureDetail, Refusal
from engage.http.preconditions import Seen
from engage.json.compact import same_json, sorted_json
from engage.json.documents import Part, Reading
from engage.json.merge_patch import merged
from engage.json.storable import unstorable
from engage.models import Workspace
from engage.resources.fields import KEY, Fields, Item
from engage.resources.resource import BreaksOthers, DefinitionWarning, InvalidDefinition, Outcome, Resource, Saving


class DefinitionInvalid(Refusal):
    """The definition has mistakes, each of which is told with its place; nothing was saved."""

    status = 422
    error = "Definition invalid"


class SecretsMissing(DefinitionInvalid):
    """Secrets are sent as their mask, but nothing is stored that could be meant. It is right otherwise."""

    error = "Secret needed"


def _invalid(found: Refusal) -> DefinitionInvalid:
    """The mistakes that were found together."""
    mistakes = found.all_found()
    kind = SecretsMissing if all(one.code == SecretsMissing.code for one in mistakes) else DefinitionInvalid
    details = [FailureDetail(field=_top(one.place), place=one.place, message=one.message) for one in mistakes]
    invalid = kind(" ".join(one.message for one in mistakes), details=details)
    invalid.more = found.more
    return invalid


def _top(place: str) -> str:
    return place.partition(".")[0].partition("[")[0]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A definition as it is stored: `item` is masked. `etag` is over all of it, secrets included."""

    row: Any
    item: Item
    etag: str
    warnings: Sequence[DefinitionWarning]


@dataclass(frozen=True, kw_only=True)
class PutDefinition:
    """A definition as it is now, or would be, and the names of what differs. `inside` is how many go on with what was
    there before, and `moving` who of them does not, of a kind that has such.
    """

    definition: Definition
    outcome: Outcome
    changed: Sequence[str]
    inside: int | None
    moving: Any = None


def get_definition(kind: Resource[Any], *, workspace_id: str, named: str) -> Definition:
    """The definition with this key, or id. Raises the kind's refusal."""
    return _shown(kind, _found(kind, workspace_id, named))


@transaction.atomic
def put_definition(
    kind: Resource[Any],
    *,
    workspace_id: str,
    named: str,
    written: Mapping[str, Any],
    seen: Seen,
    confirmed: bool,
    dry_run: bool,
    now: datetime,
    moved_by: str | None = None,
    in_path: bool = True,
    merges: bool = False,
) -> PutDefinition:
    """Makes the definition, or replaces the one with this key or id by what is written. If somebody has those inside
    `moved_by` that, they go on with it. Where the key is not `in_path`, only what is written names it. Where it
    `merges`, what is written is a merge patch to what is there, as it is shown.

    Mistakes come before all else (DefinitionInvalid), then what it would break (BreaksOthers), then the version that
    the caller has seen (PreconditionRequired, PreconditionFailed). Nothing is saved by a dry run.
    """
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace_id)  # one definition at a time
    stored = kind.find(workspace_id, named).select_for_update(no_key=True).first()
    if stored is None and (merges or seen.if_match is not None or kind.is_id(named)):
        raise kind.missing(named)  # whoever names a version has seen one
    before = {} if stored is None else kind.written(stored)
    inside = None if stored is None else kind.inside(stored)
    saving = Saving(workspace, str(before.get(KEY, named)), stored, confirmed, now)
    shown = kind.masked(_stateless(kind, before)) if before else {}
    if merges:
        written = Fields.of_body(merged(shown, written))
    elif kind.as_in_1_0:
        written = {**shown, **written}
    row = _saved(kind, written, saving, in_path=in_path)
    definition = _shown(kind, row, kept=[] if stored is None else kind.kept(written, stored))
    after = kind.written(row)
    changed = [name for name in {**before, **after} if not _is_same(name, before, after)]
    if stored is not None:
        etag = _etag(kind, before)
        seen.require_unseen(etag)
        if changed and not dry_run:
            seen.require_seen(etag, demanded=not kind.as_in_1_0)
    moving = None if moved_by is None else kind.move(row, actor=moved_by, dry_run=dry_run)
    if dry_run:
        transaction.set_rollback(True)
    return PutDefinition(
        definition=definition,
        outcome="created" if stored is None else "changed" if changed else "unchanged",
        changed=changed,
        inside=inside,
        moving=moving,
    )


@transaction.atomic
def delete_definition(
    kind: Resource[Any], *, workspace_id: str, named: str, seen: Seen, actor: str, now: datetime
) -> None:
    """Deletes the definition, or does what the kind does instead. Raises what the kind does if it is in use."""
    row = _found(kind, workspace_id, named, locked=True)
    seen.require_seen(_etag(kind, kind.written(row)), demanded=not kind.as_in_1_0)
    kind.take_away(row, actor=actor, now=now)


def _found(kind: Resource[Any], workspace_id: str, named: str, *, locked: bool = False) -> Any:
    rows = kind.find(workspace_id, named)
    row = (rows.select_for_update(no_key=True) if locked else rows).first()
    if row is None or kind.gone(row):
        raise kind.missing(named)
    return row


def _shown(kind: Resource[Any], row: Any, *, kept: Sequence[DefinitionWarning] = ()) -> Definition:
    item = kind.written(row)
    warnings = [*kept, *kind.warnings(row)]
    if (more := len(warnings) - MOST_MISTAKES) > 0:
        warnings[MOST_MISTAKES:] = [DefinitionWarning(place="", message=f"And {more:,} more.")]
    return Definition(row=row, item=kind.masked(_stateless(kind, item)), etag=_etag(kind, item), warnings=warnings)


def _saved(kind: Resource[Any], written: Mapping[str, Any], saving: Saving, *, in_path: bool) -> Any:
    """The row, saved. Raises DefinitionInvalid with all mistakes, of types as well as of rules."""
    key = saving.key
    if what := unstorable(key):  # nothing can be looked up by it, or saved
        raise _invalid(InvalidDefinition(f"key must not hold {what}.").at(KEY))
    try:
        with Reading() as read:
            item = Part({**written, KEY: key} if in_path else {KEY: key, **written}, "", InvalidDefinition)
            if in_path and written.get(KEY, key) != key:
                read.note(item.field(KEY), f"must be {key!r}, as in the path, or be left out.")
            if saving.stored is not None and (why := kind.gone(saving.stored)):
                read.note(item.field(KEY), why)
            described = kind.read(item, read)
            with transaction.atomic():
                row = kind.replace(saving, described)
    except BreaksOthers:
        raise
    except Refusal as refusal:
        raise _invalid(refusal) from None
    return row


def _is_same(name: str, before: Item, after: Item) -> bool:
    return name in before and name in after and same_json(before[name], after[name])


def _stateless(kind: Resource[Any], item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in kind.state}


def _etag(kind: Resource[Any], item: Item) -> str:
    """Secrets are in it, so it is keyed: nobody can guess them by it."""
    return f'"{salted_hmac("definition", sorted_json(_stateless(kind, item))).hexdigest()[:32]}"'
