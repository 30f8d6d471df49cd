"""What a call asks: its body and query string as typed objects, and who asks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from rest_framework.request import Request

from engage.audit.acting import by_key
from engage.models import ApiKey, App

Body = TypeVar("Body")
Query = TypeVar("Query")


@dataclass(frozen=True, kw_only=True)
class Asked(Generic[Body, Query]):
    """A call of a server, which has an API key."""

    body: Body
    query: Query
    key: ApiKey
    request: Request

    @property
    def workspace_id(self) -> str:
        return self.key.workspace_id

    @property
    def country(self) -> str:
        """That of phone numbers without one (ISO 3166); "" for none."""
        return self.key.default_country

    @property
    def actor(self) -> str:
        """Who asks, as histories tell it."""
        return by_key(self.key)


@dataclass(frozen=True, kw_only=True)
class AskedBySdk(Generic[Body, Query]):
    """A call of an app's SDK. `address` is the caller's.

    `count_one_more` counts another call that came with it towards the limits, or raises what refuses it.
    """

    body: Body
    query: Query
    app: App
    address: str
    request: Request
    count_one_more: Callable[[], None]

    @property
    def workspace_id(self) -> str:
        return self.app.workspace_id
