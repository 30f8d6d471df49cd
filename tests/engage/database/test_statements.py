"""Statements of our own stand whole in tests/statements/, where a review sees what has become of them."""

from tests.support.statements import FOLDER, statements


def test_each_statement_is_as_it_is_written_down() -> None:
    written = {path.relative_to(FOLDER): path.read_text() for path in FOLDER.rglob("*.sql")}
    expected = dict(statements())
    differing = sorted(str(path) for path in {*written, *expected} if written.get(path) != expected.get(path))
    assert not differing, f"python -m tests.support.statements writes them anew: {', '.join(differing)}"
    assert sum(text.count("\n-- ") for text in expected.values()) > 200
