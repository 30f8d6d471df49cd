"""Imports the whole of a file, some thousand rows at a time, from where an earlier run was stopped.

The import's id is the digest of the file and of what its columns are said to be. How far it is stands in the database,
written in the transaction that ends each part, and so do the rows that were refused, which each run tries again; a part
that was stopped before that is done again, and changes what it would have changed. The error file is of one run. It
holds no values of the rows: the refusals name fields, and other customers by their ids.
"""

import csv
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from customers.audience.membership import put_in
from customers.files.reading import PLAIN, Row, Source, recognised, rows_of
from customers.files.sets import Written, write_customers
from customers.identity.doubtful import unread_phone
from customers.identity.roster import CustomerData, IdentifierConflict
from customers.models import Import
from engage.errors import Refusal

_ROWS_AT_ONCE = 10_000
_MANY = 10_000
OUTCOMES = ("created", "found", "failed", "skipped", "blank")
_ERRORS = ("row", "error", "message")
_LONGEST_TITLES = 100  # bytes
_FIRST = 10

# Writes rows, and in the transaction that ends that gives what became of them to the function.
Write = Callable[[Sequence[Row], Callable[[Written], None]], None]
# Is told how many bytes of the file and how many rows are done.
Tell = Callable[[int, int], None]


class NoErrorFile(Refusal):
    """What is to become the error file is there already, and is something else, such as the file that is imported."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} is there already, and no import has written it: name another error file.")


class StillRunning(Refusal):
    """Another process is importing the same file."""

    status = 409
    says = "Another process is importing this file into this workspace."


@dataclass(frozen=True, kw_only=True)
class Imported:
    """How many rows were `created`, `found`, `failed`, `skipped` and `blank`. `before`: an earlier run did all.

    `first` has the numbers of the first rows of each of these in this run, and why they were refused. `unread_phones`
    counts the phone numbers in this run that are no international ones.
    """

    id: str
    counts: Mapping[str, int]
    before: bool = False
    first: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unread_phones: int = 0
    first_unread: Sequence[int] = ()


def customers_of(workspace_id: str, *, segment_id: str | None = None) -> Write:
    """Writes each row's customer, and puts them into the segment."""

    def write(rows: Sequence[Row], done: Callable[[Written], None]) -> None:
        written = write_customers(workspace_id=workspace_id, rows=rows)
        with transaction.atomic():
            if segment_id:
                put_in(workspace_id=workspace_id, segment_id=segment_id, customer_ids=written.customer_ids)
            done(written)

    return write


def import_file(
    *,
    workspace_id: str,
    source: Source,
    write: Write,
    errors: Path,
    kind: str = "",
    skips_rows: bool = False,
    again: bool = False,
    dry_run: bool = False,
    tell: Tell = lambda _bytes, _rows: None,
) -> Imported:
    """Imports the file, or the rest of it with those rows that have failed. `kind` is part of the import's id: what is
    done with the rows.

    `skips_rows`: conflicts of identifiers are no failures. `again`: also if it has been imported. `dry_run`: takes each
    part back, and writes no file.
    Raises InvalidHeader, InvalidFile, NoErrorFile, StillRunning, SegmentNotFound and TooManyAtOnce; what was done until
    then stays.
    """
    with source.path.open("rb") as raw:
        source = recognised(source, raw)
        digest = _digest(raw, source, kind)
        raw.seek(0)
        text = io.TextIOWrapper(raw, source.encoding, newline="")
        rows = enumerate(rows_of(source, text), start=1)
        _require_error_file(errors)
        progress = _begun(workspace_id, digest, again=again, keep=not dry_run)
        if progress.finished_at:
            return Imported(id=digest, counts=progress.counts, before=True)
        run = _Run(progress, None if dry_run else errors, skips_rows=skips_rows)
        todo = ((place, row) for place, row in rows if place > run.done or row.number in run.again)
        while part := list(islice(todo, _ROWS_AT_ONCE)):
            with transaction.atomic() if dry_run else nullcontext():
                write([row for _, row in part], partial(run.note, part))
                if dry_run:
                    transaction.set_rollback(True)
            tell(raw.tell(), part[-1][0])
        text.detach()
    if not dry_run:
        _finish(progress)
    return Imported(
        id=digest,
        counts=progress.counts,
        first=run.first,
        unread_phones=run.unread_phones,
        first_unread=run.first_unread,
    )


def _digest(raw: io.BufferedReader, source: Source, kind: str) -> str:
    digest = hashlib.file_digest(raw, "sha256")
    encoding = [] if source.encoding == PLAIN else [source.encoding]
    digest.update(json.dumps([kind, source.delimiter, sorted(source.renamed.items()), *encoding]).encode())
    return digest.hexdigest()


def _begun(workspace_id: str, digest: str, *, again: bool, keep: bool) -> Import:
    """How far the import is; finished if nothing is left to do."""
    found = Import.objects.filter(workspace_id=workspace_id, digest=digest).first()
    if found is None and keep:
        found, _ = Import.objects.get_or_create(workspace_id=workspace_id, digest=digest)
    progress = found or Import(workspace_id=workspace_id, digest=digest)
    if progress.finished_at and again:
        progress.rows, progress.counts, progress.refused = 0, {}, {}
    elif progress.finished_at and not progress.refused.get("failed"):
        return progress
    progress.error_bytes, progress.finished_at = 0, None
    if keep:
        progress.save()
    return progress


class _Run:
    """One run through the file. `again` are the numbers of rows that are done and were refused.

    Nothing is kept without an error file.
    """

    def __init__(self, progress: Import, errors: Path | None, *, skips_rows: bool) -> None:
        self._progress, self._errors, self._skips_rows = progress, errors, skips_rows
        self.done = progress.rows
        self.again = {number for spans in progress.refused.values() for number in _numbers(spans)}
        self.first: dict[str, list[str]] = {name: [] for name in OUTCOMES}
        self.unread_phones, self.first_unread = 0, list[int]()
        self._made: set[int] = set()
        if errors:
            _cut(errors, 0)

    def note(self, part: Sequence[tuple[int, Row]], written: Written) -> None:
        """These rows are done. Raises StillRunning if somebody else has noted anything since."""
        progress = self._progress
        if self._errors:
            mine = Import.objects.select_for_update().filter(
                id=progress.id, rows=progress.rows, refused=progress.refused, finished_at=None
            )
            if not mine.exists():
                raise StillRunning
            progress.error_bytes = _tell_errors(self._errors, progress.error_bytes, written.refused)
        else:
            self._find_those_made(part, written)
        unread = [row.number for _, row in part if isinstance(row.data, CustomerData) and unread_phone(row.data)]
        self.unread_phones += len(unread)
        self.first_unread += unread[: _FIRST - len(self.first_unread)]
        outcomes = self._outcomes([row for _, row in part], written)
        tried = {row.number for _, row in part}
        refused = {
            name: {*_numbers(progress.refused.get(name, []))} - tried | {*outcomes[name]}
            for name in ("failed", "skipped")
        }
        counts = Counter(progress.counts)
        counts.update({name: len(numbers) for name, numbers in outcomes.items()})
        progress.counts = {**counts, **{name: len(numbers) for name, numbers in refused.items()}}
        progress.refused = {name: _spans(numbers) for name, numbers in refused.items()}
        progress.rows = max(progress.rows, part[-1][0])
        if self._errors:
            progress.save()

    def _outcomes(self, rows: Sequence[Row], written: Written) -> dict[str, Collection[int]]:
        """The numbers of the rows, by what became of them."""
        skipped = {
            number
            for number, why in written.refused.items()
            if self._skips_rows and isinstance(why, IdentifierConflict)
        }
        outcomes: dict[str, Collection[int]] = {
            "created": written.created,
            "found": written.found,
            "failed": written.refused.keys() - skipped,
            "skipped": skipped,
            "blank": [row.number for row in rows if row.data is None],
        }
        for name, numbers in outcomes.items():
            for number in sorted(numbers)[: _FIRST - len(self.first[name])]:
                why = written.refused.get(number)
                self.first[name].append(f"row {number}: {why.message}" if why else f"row {number}")
        return outcomes

    def _find_those_made(self, part: Sequence[tuple[int, Row]], written: Written) -> None:
        """Who was created by an earlier part, which was taken back, is found."""
        names = {
            row.number: {hash(name) for name in row.data.sent().items()}
            for _, row in part
            if isinstance(row.data, CustomerData)
        }
        known = [number for number in written.created if names[number] & self._made]
        written.created = [number for number in written.created if number not in {*known}]
        written.found += known
        self._made.update(*(names[number] for number in written.created))


_Spans = Sequence[Sequence[int]]


def _spans(numbers: Iterable[int]) -> list[list[int]]:
    """The first and the last of each run of numbers without a gap: all rows of a file may fail."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return spans


def _numbers(spans: _Spans) -> Iterable[int]:
    return (number for first, last in spans for number in range(first, last + 1))


def _tell_errors(errors: Path, size: int, refused: Mapping[int, Refusal]) -> int:
    """Adds them to the file, which has this length; its length then."""
    if not refused:
        return size
    _cut(errors, size)
    with errors.open("a", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        if not file.tell():
            out.writerow(_ERRORS)
        out.writerows((number, refusal.code, refusal.message) for number, refusal in sorted(refused.items()))
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


def _require_error_file(errors: Path) -> None:
    if errors.exists():
        if not errors.is_file():
            raise NoErrorFile(errors)
        with errors.open("rb") as file:
            if file.readline(_LONGEST_TITLES).strip() not in {b"", ",".join(_ERRORS).encode()}:
                raise NoErrorFile(errors)


def _cut(errors: Path, size: int) -> None:
    if not size:
        errors.unlink(missing_ok=True)
    elif errors.exists():
        os.truncate(errors, min(size, errors.stat().st_size))


def _finish(progress: Import) -> None:
    progress.finished_at = timezone.now()
    progress.save()
    if progress.counts.get("created", 0) >= _MANY:  # until autovacuum comes, queries are planned for those before
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE (SKIP_LOCKED) customers_customer")
