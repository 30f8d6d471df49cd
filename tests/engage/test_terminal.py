"""What is printed for people to read commands no terminal."""

from engage.notations.terminal import printable
from tests.support.cases import each
from tests.support.terminals import HOSTILE, SHOWN, commands_in


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert commands_in(HOSTILE)
    assert printable(HOSTILE) == SHOWN
    assert printable("lone \ud800") == r"lone \ud800"


@each("letters", [range(0x20), range(0x7F, 0xA0), range(0x202A, 0x202F), range(0x2066, 0x206A)])
def test_no_control_character_is_printed_but_the_tab(letters: range) -> None:
    assert commands_in("".join(printable(chr(letter)) for letter in letters if chr(letter) != "\t")) == set()


@each("text", ["Ada", "tab\tbed", "Zoë \u00a0 \u3000 \U0001f469\u200d\U0001f680", "\u0645\u06cc\u200c\u062e", ""])
def test_other_text_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text
