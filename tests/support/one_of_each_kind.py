"""A definition of each kind in a workspace, made of the first example of its calls."""

from typing import Any

from django.utils import timezone

from engage.json.documents import Part, Reading
from engage.models import Workspace
from engage.resources.fields import KEY
from engage.resources.resource import InvalidDefinition, Resource


def define_each_kind(workspace: Workspace, *, name: str) -> None:
    """Makes one of each kind that the workspace has none of; what has no key but a name is called by this one."""
    for kind in Resource.all():
        if kind.calls and not kind.own(workspace.pk).exists():
            key = kind.calls.example[KEY] if kind.named_by == KEY else name
            with Reading() as reading:
                example = {**next(iter(kind.calls.requests.values())), KEY: key}
                described = kind.read(Part(example, "", InvalidDefinition), reading)
            kind.save(workspace=workspace, key=key, now=timezone.now(), **described.changes)


def ids_of_each_kind(workspace: Workspace) -> dict[str, Any]:
    """The id of the workspace's first, as a path names it."""
    return {
        f"{kind.noun}Id": kind.own(workspace.pk).earliest("pk").pk
        for kind in Resource.all()
        if kind.named_by == KEY and not kind.only and kind.own(workspace.pk).exists()
    }
