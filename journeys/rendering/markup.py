"""Takes markup out of a text, in one pass over it, whatever it holds."""

import re

_HTML = re.IGNORECASE | re.ASCII
# What is removed with all that it holds, and how it ends.
_BLOCK = re.compile(r"<(?:!--|(?P<element>script|style)\b)", _HTML)
_ENDS = {
    "comment": re.compile("-->"),
    "script": re.compile(r"</script\s*>", _HTML),
    "style": re.compile(r"</style\s*>", _HTML),
}
_TAG = re.compile("<[^>]*>")


def without_markup(text: str) -> str:
    """The text without comments, scripts and styles, and without whatever else stands between `<` and `>`.

    As in Liquid, what is not closed stays: a `<` without a later `>`, and what a script holds if it never ends. So
    nothing is left that could be read as a tag, also if taking one out makes another.
    """
    text = _without_blocks(text)
    closed = text.rfind(">") + 1  # beyond it, the search for each tag's end would read the rest in vain
    return _TAG.sub("", text[:closed]) + text[closed:]


def _without_blocks(text: str) -> str:
    kept, position = [], 0
    endless: set[str] = set()  # kinds of blocks that do not end any more: their end is looked for once
    for start in _BLOCK.finditer(text):
        kind = (start["element"] or "comment").lower()
        if start.start() < position or kind in endless:
            continue
        if end := _ENDS[kind].search(text, start.end()):
            kept.append(text[position : start.start()])
            position = end.end()
        else:
            endless.add(kind)
    return "".join([*kept, text[position:]])
