"""`strip_html`: what is taken out of a text, whatever people have typed."""

import re
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from tests.journeys.rendering.templates import PROMISED, processor_time, rendered
from tests.support.cases import each

LARGEST = 256 * 1024


def stripped(text: str) -> str:
    return rendered("{{ typed | strip_html | slice: 0, 1000 }}", typed=text)


@each(
    "text, result",
    [
        ("<p class='a'>Hi <b>Ada</b>,<br/>\n1 &lt; 2 &amp; 3</p>", "Hi Ada,\n1 &lt; 2 &amp; 3"),
        ("a<script src='x'>alert('<b>')</script >b<STYLE>p {}</Style\n>c", "abc"),
        ("a<!-- <script> -->b<!---->c<!-- > -->d", "abcd"),
        ("a<script>b", "ab"),
        ("a<!-- b > c", "a c"),
        ("a < b", "a < b"),
        ("a < b > c", "a  c"),
        ("a > b", "a > b"),
        ("a<scripture>b</scripture><styled>c</styled>", "abc"),
        ("a<scr<script></script>ipt>b", "ab"),
        ("<<b>script>a", "script>a"),
        ("<\u017fcript>a</\u017fcript>", "a"),
        ("<![ada[x]]>", ""),
        ("<![CDATA[a]]><!doctype html><?xml?>b", "b"),
        ("", ""),
    ],
)
def test_comments_scripts_styles_and_tags_are_taken_out_as_in_liquid(text: str, result: str) -> None:
    assert stripped(text) == result


PIECES = [
    "<", ">", "/", "!", "--", "script", "style", "<script>", "</script>", "</style ", "<!--", "-->", "a", " ", "\n",
]  # fmt: skip
_BLOCKS = re.compile(r"<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>", re.DOTALL)
_TAGS = re.compile("<.*?>", re.DOTALL)


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=20))
def test_it_means_what_the_expressions_of_liquid_mean_and_leaves_no_tag(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert stripped(text) == _TAGS.sub("", _BLOCKS.sub("", text))
    assert not _TAGS.search(stripped(text))


@each(
    "piece",
    [
        "<", "<!", "<!-", "<!--", "<a", "<a ", "</", "<script", "<script>", "<style>", "<script>a</script ",
        "<script></style>",
        "</script ", "<!-- --", "<![", "<![a[", "&#", "<?", "<a b='",
    ],
)  # fmt: skip
def test_what_is_never_closed_costs_no_more_than_its_length(piece: str) -> None:
    for text in (piece * (LARGEST // len(piece)), piece * (LARGEST // len(piece) - 1) + ">"):
        assert processor_time(partial(stripped, text)) < PROMISED
