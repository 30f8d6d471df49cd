"""Which call may be meant by an address at which there is nothing."""

import re
from functools import cache

from django.urls import Resolver404, resolve

from engage.json.fields import camel_case

_CALLS = "api/v1/"
_MOST_SEGMENTS = 12
_PARAMETER = re.compile(r"<\w+:(\w+)>")


def call_meant_by(path: str) -> str | None:
    """The address of the call, such as `/api/v1/journeys/{workspaceId}/jobs/{jobId}`; None if it is like none.

    Slashes too many, a beginning other than `/api/v1/`, and a segment too few, such as the workspace's id, are made
    good.
    """
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > _MOST_SEGMENTS:
        return None
    ends = [segments[begin:] for begin in range(len(segments))]
    filled = [[*end[:place], "missing", *end[place:]] for end in ends for place in range(1, len(end) + 1)]
    return next((call for tried in (*ends, *filled) if (call := _call_at(tried))), None)


def _call_at(segments: list[str]) -> str | None:
    try:
        route = resolve(f"/{_CALLS}{'/'.join(segments)}").route
    except Resolver404:
        return None
    return documented_path(route)


@cache
def documented_path(route: str) -> str:
    """A route of Django's as the OpenAPI document names it, such as `/api/v1/customers/{workspaceId}`."""
    return f"/{_PARAMETER.sub(lambda found: f'{{{camel_case(found[1])}}}', route)}"
