"""Connections, parsed. A process keeps those that it used last, for as long as they are as they were stored."""

from dataclasses import replace
from datetime import datetime

from engage.json.compact import ascii_json
from engage.notations.sizes import KIB
from engage.process.bounded_cache import BoundedCache
from journeys.models import Connection
from journeys.steps.provider import Provider, parse_provider

_BYTES_OF_JSON = 256  # what a character comes to when it is parsed, at most
_known: BoundedCache[tuple[str, datetime], Provider] = BoundedCache(most=16 * 1024 * KIB)


def provider_of(connection: Connection) -> Provider:
    """The connection as steps use it. Raises InvalidConnection for one that this version cannot read."""
    version = connection.id, connection.updated_at
    provider = _known.get(version)
    if provider is None:
        provider = parse_provider(connection.definition, connection_id=connection.id, key=connection.key, stored=True)
        provider = replace(provider, channel=connection.channel)
        if not provider.sealed:
            _known.keep(version, provider, size=_BYTES_OF_JSON * len(ascii_json(connection.definition)))
    return provider
