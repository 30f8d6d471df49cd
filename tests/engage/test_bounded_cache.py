"""What a process keeps of what tenants make is bounded by its size."""

from engage.process.bounded_cache import BoundedCache


def test_those_used_longest_ago_make_room_and_the_last_is_kept_however_large() -> None:
    cache: BoundedCache[str, str] = BoundedCache(most=10)
    for name in "abc":
        cache.keep(name, name.upper(), size=3)
    assert cache.get("a") == "A"
    cache.keep("d", "D", size=4)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    cache.keep("d", "E", size=5)
    assert [cache.get(name) for name in "acd"] == [None, "C", "E"]
    cache.keep("f", "F", size=1000)
    assert [cache.get(name) for name in "cdf"] == [None, None, "F"]
