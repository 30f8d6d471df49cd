"""Ids of 24 hex characters that never meet."""

import os
import re
import time

import pytest

from engage import object_ids
from engage.object_ids import is_object_id, new_object_id


def test_an_id_has_the_object_id_layout() -> None:
    before = int(time.time())
    made = new_object_id()
    assert re.fullmatch(r"[0-9a-f]{24}", made)
    assert before <= int(made[:8], 16) <= time.time()


def test_ids_of_one_process_share_their_random_part_and_count_up() -> None:
    one, other = new_object_id(), new_object_id()
    assert one[8:18] == other[8:18]
    assert (int(other[18:], 16) - int(one[18:], 16)) % (1 << 24) == 1


def test_after_its_greatest_number_the_counter_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_ids._sequence, "_count", (1 << 24) - 2)
    ids = [new_object_id() for _ in range(3)]
    assert [made[18:] for made in ids] == ["ffffff", "000000", "000001"]
    assert all(is_object_id(made) for made in ids)


def test_a_forked_process_has_a_random_part_of_its_own() -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, new_object_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 24).decode()[8:18] != new_object_id()[8:18]


def test_only_24_lower_case_hex_characters_are_an_id() -> None:
    assert is_object_id("0123456789abcdef01234567")
    for text in ("", "0" * 23, "0" * 25, "A" * 24, "g" * 24, "0" * 23 + "\n", "\uff10" * 24):
        assert not is_object_id(text)
