"""All that a worker might be given instead of a message."""

import base64
import json
from collections.abc import Callable
from typing import Any

_Change = Callable[[dict[str, Any]], object]


def _encoded(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


_NO_MESSAGES = [
    b"garbage",
    b"\xff\xfe\x00",
    b"",
    b"5",
    b"null",
    b'"text"',
    b"[]",
    b"{}",
    b"[" * 100_000,
    b'{"body": 5}',
]
_CHANGES: list[_Change] = [
    lambda message: message.update(body="***"),
    lambda message: message.update(body=5),
    lambda message: message.update(body=base64.b64encode(b"\xff\xff").decode()),
    lambda message: message.update(body=_encoded("text")),
    lambda message: message.update(body=_encoded([[], {}])),
    lambda message: message.update(body=_encoded([{}, [], {}])),
    lambda message: message.update(body=_encoded([[], {}, {"callbacks": ["x"]}])),
    lambda message: message.update({"content-type": "application/x-python-serialize"}),
    lambda message: message.update({"content-type": "application/x-nothing"}),
    lambda message: message.update({"content-type": None}),
    lambda message: message.update({"content-encoding": "klingon"}),
    lambda message: message.update(headers=None),
    lambda message: message.update(headers=["task"]),
    lambda message: message.update(headers={}),
    lambda message: message["headers"].update(task="no.such.task"),
    lambda message: message["headers"].update(task=["walk"]),
    lambda message: message["headers"].update(id=None),
    lambda message: message["headers"].pop("id"),
    lambda message: message["headers"].update(expires="soon"),
    lambda message: message["headers"].update(eta="2999-01-01T00:00:00+00:00"),
    lambda message: message["headers"].update(timelimit=["a", "b"]),
    lambda message: message["headers"].update(compression="bzip2"),
    lambda message: message.update(properties=None),
    lambda message: message["properties"].pop("delivery_tag"),
    lambda message: message["properties"].update(delivery_tag=["x"]),
    lambda message: message["properties"].update(delivery_info="here"),
    lambda message: message["properties"].update(body_encoding="rot13"),
]


def garbage_like(message: bytes) -> list[bytes]:
    """What is no message at all, and spoiled ones, made of a good one as it lies in Redis."""
    spoiled = []
    for change in _CHANGES:
        changed = json.loads(message)
        change(changed)
        spoiled.append(json.dumps(changed).encode())
    return [*_NO_MESSAGES, *spoiled]
