"""Counts in words, and numbers as they are written."""


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 host`, `2 hosts`, `1,000 hosts`; `things` is the plural where it is not made with an s."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def plain(number: float) -> str:
    """`1000000`, `0.5`, `2` also of 2.0: as it was written, where `g` would round it to six digits."""
    return str(number).removesuffix(".0")
