"""Imports the whole of a file, some thousand rows at a time, from where an earlier run was stopped.

The import's id is the digest of the file and of what its columns are said to be. How far it is stands in the database,
written in the transaction that ends each part; a part that was stopped before that is done again, and changes what it
would have changed. The error file is cut to its length of that moment before it grows. It holds no values of the rows:
the refusals name fields, and other customers by their ids.
"""

import csv
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from customers.audience.membership import put_in
from customers.files.reading import Row, Source, rows_of
from customers.files.sets import Written, write_customers
from customers.identity.roster import IdentifierConflict
from customers.models import Import
from engage.errors import Refusal

_ROWS_AT_ONCE = 10_000
_MANY = 10_000
OUTCOMES = ("created", "found", "failed", "skipped", "blank")
_ERRORS = ("row", "error", "message")
_LONGEST_TITLES = 100  # bytes

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
    """How many rows were `created`, `found`, `failed`, `skipped` and `blank`. `before`: an earlier run did all."""

    id: str
    counts: Mapping[str, int]
    before: bool = False


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
    tell: Tell = lambda _bytes, _rows: None,
) -> Imported:
    """Imports the file, or the rest of it. `kind` is part of the import's id: what is done with the rows.

    `skips_rows`: conflicts of identifiers are no failures. `again`: also if it has been imported.
    Raises InvalidHeader, InvalidFile, NoErrorFile, StillRunning, SegmentNotFound and TooManyAtOnce; what was done until
    then stays.
    """
    with source.path.open("rb") as raw:
        digest = _digest(raw, source, kind)
        raw.seek(0)
        text = io.TextIOWrapper(raw, "utf-8-sig", newline="")
        rows = rows_of(source, text)
        _require_error_file(errors)
        progress, _ = Import.objects.get_or_create(workspace_id=workspace_id, digest=digest)
        if progress.finished_at and not again:
            return Imported(id=digest, counts=progress.counts, before=True)
        if progress.finished_at:
            progress.rows, progress.counts, progress.error_bytes, progress.finished_at = 0, {}, 0, None
            progress.save()
        _cut(errors, progress.error_bytes)
        for _ in islice(rows, progress.rows):
            pass
        while part := list(islice(rows, _ROWS_AT_ONCE)):
            write(part, partial(_advance, progress, part, errors, skips_rows=skips_rows))
            tell(raw.tell(), progress.rows)
        text.detach()
    _finish(progress)
    return Imported(id=digest, counts=progress.counts)


def _digest(raw: io.BufferedReader, source: Source, kind: str) -> str:
    digest = hashlib.file_digest(raw, "sha256")
    digest.update(json.dumps([kind, source.delimiter, sorted(source.renamed.items())]).encode())
    return digest.hexdigest()


def _advance(progress: Import, rows: Sequence[Row], errors: Path, written: Written, *, skips_rows: bool) -> None:
    """Notes that these rows are done. Raises StillRunning if somebody else has noted anything since."""
    skipped = {number for number, why in written.refused.items() if skips_rows and isinstance(why, IdentifierConflict)}
    counts = Counter(progress.counts)
    counts.update(
        created=written.created,
        found=written.found,
        failed=len(written.refused) - len(skipped),
        skipped=len(skipped),
        blank=sum(row.data is None for row in rows),
    )
    mine = Import.objects.select_for_update().filter(id=progress.id, rows=progress.rows, finished_at=None)
    if not mine.exists():
        raise StillRunning
    progress.error_bytes = _tell_errors(errors, progress.error_bytes, written.refused)
    progress.counts = dict(counts)
    progress.rows += len(rows)
    progress.save()


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
