"""Text for a terminal, which must not obey what people and callers named themselves or others."""

import unicodedata

# Control characters, invisible ones (those that turn the direction of text, too), lone surrogates, ends of lines.
_COMMANDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_HARMLESS = frozenset("\t\u200c\u200d")  # the joiners, which scripts and emoji need


def printable(text: str) -> str:
    r"""The text in one line, with an escape such as `\x1b` or `\u202e` for what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(letter.encode("unicode_escape").decode() if _is_command(letter) else letter for letter in text)


def _is_command(letter: str) -> bool:
    return unicodedata.category(letter) in _COMMANDS and letter not in _HARMLESS
