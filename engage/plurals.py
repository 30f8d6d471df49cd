"""Counts in words."""


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 host`, `2 hosts`, `1,000 hosts`; `things` is the plural where it is not made with an s."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"
