"""Text that would command a terminal, and what of it is printed raw."""

import unicodedata

# Clear the screen and set the title, by C0 and by C1; a line of its own; text from right to left; backspaces.
HOSTILE = "ada\x1b[2J\x1b]0;x\x07\x9b31m\r\nEnd       completed\u202eevil\u2066\u200f\b\b\x7f\u2028\u0085"
SHOWN = r"ada\x1b[2J\x1b]0;x\x07\x9b31m\r\nEnd       completed\u202eevil\u2066\u200f\x08\x08\x7f\u2028\x85"


def commands_in(printed: str) -> set[str]:
    """The characters that a terminal would obey, but for the ends of lines."""
    return {letter for letter in printed if letter != "\n" and unicodedata.category(letter) in {"Cc", "Cf", "Zl", "Zp"}}
