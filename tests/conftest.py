"""What every test may ask for: two workspaces, their keys and apps, and clients that speak HTTP as they do."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from engage.models import ApiKey, App, Workspace
from engage.redis_availability import redis_availability
from tests.factories import ApiKeyFactory, AppFactory, WorkspaceFactory


class ServerClient:
    """A server that calls with its key."""

    def __init__(self, key: ApiKey) -> None:
        self.key = key
        self.headers = {"Authorization": f"Bearer {vars(key)['secret']}"}
        self._client = Client()

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> HttpResponse:
        """`body` may be any JSON value, or raw bytes."""
        headers = {**self.headers, **options.pop("headers", {})}
        if body is None:
            return self._client.generic(method, path, headers=headers, **options)  # type: ignore[return-value]
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        options.setdefault("content_type", "application/json")
        return self._client.generic(method, path, raw, headers=headers, **options)  # type: ignore[return-value]

    def get(self, path: str, **options: Any) -> HttpResponse:
        return self.call("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> HttpResponse:
        return self.call("POST", path, body, **options)

    def put(self, path: str, body: Any, **options: Any) -> HttpResponse:
        return self.call("PUT", path, body, **options)

    def delete(self, path: str, **options: Any) -> HttpResponse:
        return self.call("DELETE", path, **options)


class SdkClient(ServerClient):
    """An SDK that calls with its app's id."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.headers = {"X-App-Id": app.id}
        self._client = Client()


@pytest.fixture(autouse=True)
def _redis_is_expected() -> Iterator[None]:
    redis_availability.reset()
    yield
    redis_availability.reset()


@pytest.fixture
def acme(db: None) -> Workspace:
    return WorkspaceFactory.create(key="acme", name="Acme")


@pytest.fixture
def rival(db: None) -> Workspace:
    """The second tenant, whose things nobody of Acme may see or touch."""
    return WorkspaceFactory.create(key="rival", name="Rival")


@pytest.fixture
def server(acme: Workspace) -> ServerClient:
    return ServerClient(ApiKeyFactory.create(workspace=acme))


@pytest.fixture
def rival_server(rival: Workspace) -> ServerClient:
    return ServerClient(ApiKeyFactory.create(workspace=rival))


@pytest.fixture
def sdk(acme: Workspace) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=acme))


@pytest.fixture
def rival_sdk(rival: Workspace) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=rival))
