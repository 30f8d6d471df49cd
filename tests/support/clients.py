"""Clients that speak HTTP as the service's callers do."""

import gzip
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http.response import HttpResponseBase
from django.test import Client

from engage.models import ApiKey, App
from tests.support.conformance import Exchange


@dataclass(frozen=True)
class Answer:
    """What came back, read to its end also where it was streamed."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @classmethod
    def of(cls, response: HttpResponseBase) -> "Answer":
        streaming = getattr(response, "streaming_content", None)
        content = b"".join(streaming) if streaming is not None else response.content  # type: ignore[attr-defined]
        return cls(response.status_code, dict(response.items()), content)

    @property
    def succeeded(self) -> bool:
        return self.status_code < HTTPStatus.BAD_REQUEST

    def json(self) -> Any:
        return json.loads(self.content)

    def __getitem__(self, header: str) -> str:
        return self.headers[header]

    def __contains__(self, header: str) -> bool:
        return header in self.headers


class _Caller:
    """Sends what identifies it with every call."""

    headers: dict[str, str]

    def __init__(self) -> None:
        self._client = Client()

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        """`body` may be any JSON value, or raw bytes; `headers=` adds to the caller's own, None takes one away.

        The answer must be one that the OpenAPI document describes, and so must the body of a call that succeeds.
        """
        headers = {**self.headers, **options.pop("headers", {})}
        options["headers"] = {name: value for name, value in headers.items() if value is not None}
        encoding = options["headers"].get("Content-Encoding", "").lower()
        raw = b""
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            options.setdefault("content_type", "application/json")
        answer = Answer.of(self._client.generic(method, path, raw, **options))
        Exchange(
            method=method,
            path=path,
            sent=gzip.decompress(raw) if answer.succeeded and "gzip" in encoding else raw,
            status=answer.status_code,
            headers=answer.headers,
            received=answer.content,
        ).hold_to_document()
        return answer

    def get(self, path: str, **options: Any) -> Answer:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.call("POST", path, body, **options)

    def put(self, path: str, body: Any, **options: Any) -> Answer:
        return self.call("PUT", path, body, **options)

    def patch(self, path: str, body: Any, **options: Any) -> Answer:
        return self.call("PATCH", path, body, **options)

    def delete(self, path: str, **options: Any) -> Answer:
        return self.call("DELETE", path, **options)


class ServerClient(_Caller):
    """A server that calls with its key."""

    def __init__(self, key: ApiKey) -> None:
        super().__init__()
        self.key = key
        self.headers = {"Authorization": f"Bearer {vars(key)['secret']}"}


class SdkClient(_Caller):
    """An SDK that calls with its app's id."""

    def __init__(self, app: App) -> None:
        super().__init__()
        self.app = app
        self.headers = {"X-App-Id": app.id}
