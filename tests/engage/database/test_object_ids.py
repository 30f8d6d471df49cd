"""Ids of 24 hex characters that never meet."""

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from engage.database.object_ids import is_object_id, new_object_id, new_object_ids


def test_an_id_has_the_object_id_layout() -> None:
    before = int(time.time())
    made = new_object_id()
    assert re.fullmatch(r"[0-9a-f]{24}", made)
    assert before <= int(made[:8], 16) <= time.time()


def test_nobody_can_tell_from_an_id_which_was_made_before_or_after_it() -> None:
    ids = [bytes.fromhex(new_object_id())[4:] for _ in range(2000)]
    for place in range(8):  # each byte of the last eight takes all values
        assert len({made[place] for made in ids}) > 200
    ascending = sum(one < other for one, other in pairwise(ids))
    assert 850 < ascending < 1150  # of 1,999 pairs; twelve standard deviations on either side


def test_ids_made_together_are_as_random_and_in_order() -> None:
    ids = new_object_ids(2000)
    assert ids == sorted(ids)
    for place in range(12, 24):  # the leading ones are in order, too
        assert len({one[place] for one in ids}) == 16
    assert len({one[8:] for one in ids + new_object_ids(2000)}) == 4000


def test_threads_make_ids_that_never_meet() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [new_object_id() for _ in range(2000)], range(8)))
    assert len({one for ids in made for one in ids}) == 16_000


def test_a_forked_process_makes_ids_of_its_own() -> None:
    new_object_id()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, "".join(new_object_id() for _ in range(100)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    text = os.read(reading, 2400).decode()
    of_the_child = {text[at + 8 : at + 24] for at in range(0, 2400, 24)}
    assert len(of_the_child) == 100
    assert not of_the_child & {new_object_id()[8:] for _ in range(1000)}


def test_only_24_lower_case_hex_characters_are_an_id() -> None:
    assert is_object_id("0123456789abcdef01234567")
    for text in ("", "0" * 23, "0" * 25, "A" * 24, "g" * 24, "0" * 23 + "\n", "\uff10" * 24):
        assert not is_object_id(text)
