"""What a page of the admin holds to be drawn."""

import json
import re
from html import unescape
from typing import Any

from django.utils.html import strip_tags

BRANCH = {"id": "plan", "type": "branch", "cases": [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"},
          "next": "day"}], "else": None}  # fmt: skip


def drawing_in(page: str, name: str) -> Any:
    """The JSON under this id."""
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found, f"The page has nothing to draw under {name}."
    return json.loads(found[1])


def node_in(drawing: Any, node_id: str) -> Any:
    return next(node for node in drawing["nodes"] if node["id"] == node_id)


def notes_of(drawing: Any, node_id: str) -> list[str]:
    return [note["text"] for note in node_in(drawing, node_id)["notes"]]


def ways_of(drawing: Any) -> dict[tuple[str, str], int | None]:
    return {(edge["source"], edge["target"]): edge["count"] for edge in drawing["edges"]}


def rows_in(page: str, section: str) -> list[list[str]]:
    """The texts of the rows of all tables in a section, headings left out."""
    inside = page.partition(f'id="{section}"')[2].partition("</section>")[0]
    rows = re.findall(r"<tr.*?</tr>", inside, re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*data-label[^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [[unescape(strip_tags(cell)).strip() for cell in row] for row in cells if row]


def lit(drawing: object) -> set[tuple[str, str]]:
    return {(edge["source"], edge["target"]) for edge in drawing["edges"] if edge["lit"]}  # type: ignore[index]


def marks(drawing: object) -> dict[str, str]:
    return {node["id"]: node["mark"] for node in drawing["nodes"]}  # type: ignore[index]
