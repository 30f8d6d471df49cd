"""Receiving messages from Redis, where anybody may have put anything.

A message that no task of ours can be made of would end the worker, and every other one that takes such a message: also
after a restart, for as long as there are any. It is skipped instead; what waits in PostgreSQL is found by the next one.
"""

from typing import Any

import structlog
from celery import current_app
from celery.utils.time import maybe_iso8601
from kombu.serialization import prepare_accept_content
from kombu.transport import TRANSPORT_ALIASES, redis
from kombu.transport.virtual import Empty

from engage.redis.metric_counters import SKIPPED, metric_counters

log = structlog.get_logger(__name__)
# What none of our messages has, and what would make Celery do more than run a task.
_NEVER_SENT = ("eta", "chord", "group", "compression")
_NO_TIME_LIMITS = (None, [None, None])


class Channel(redis.Channel):
    def __init__(self, connection: "Transport", **options: Any) -> None:
        super().__init__(connection, **options)
        self.handlers["BRPOP"] = self._read_or_skip

    def _read_or_skip(self, **options: Any) -> Any:
        """Skips what is no JSON, before anything is known about the message."""
        try:
            return self._brpop_read(**options)  # type: ignore[attr-defined] # not in the stubs
        except _errors_of(self.connection):
            raise
        except Exception as error:  # noqa: BLE001 - whatever was put there
            _note(queue=None, error=error)
            return True


class Transport(redis.Transport):
    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        try:
            _require_a_task(message, self._channels()[0])
        except Exception as error:  # noqa: BLE001 - whatever was put there
            _note(queue=queue, error=error)
            return
        try:
            super()._deliver(message, queue)
        except _errors_of(self):
            raise
        except Exception as error:  # noqa: BLE001 - whatever was put there
            self._make_room_again(message["properties"]["delivery_tag"])
            _note(queue=queue, error=error)

    def _make_room_again(self, delivery_tag: str) -> None:
        """It must not count among those that the worker is at, or the worker would take none any more."""
        for channel in self._channels():
            if delivery_tag in channel.qos._delivered:  # noqa: SLF001
                channel.basic_ack(delivery_tag)

    def _channels(self) -> list[Any]:
        return list(self.channels or ())


def _errors_of(transport: Any) -> tuple[type[BaseException], ...]:
    """What it raises if Redis is away or refuses, or if there is no message."""
    return (*transport.connection_errors, *transport.channel_errors, Empty)


def use_for_redis() -> None:
    TRANSPORT_ALIASES.update(dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport"))


def _require_a_task(raw: Any, channel: Any) -> None:
    """Raises some exception unless a worker can make one of our tasks of the message."""
    message: Any = channel.Message(raw, channel=channel)
    message.accept = prepare_accept_content(current_app.conf.accept_content)
    arguments, keywords, embedded = message.decode()
    headers = message.headers
    is_one_of_ours = (
        headers["task"] in (current_app.tasks or ())
        and isinstance(headers["id"], str)
        and message.content_encoding == "utf-8"
        and isinstance(message.delivery_tag, str)
        and isinstance(message.delivery_info, dict)
        and isinstance(arguments, list)
        and isinstance(keywords, dict)
        and not any((embedded or {}).values())
        and not any(headers.get(name) for name in _NEVER_SENT)
        and headers.get("timelimit") in _NO_TIME_LIMITS
    )
    if not is_one_of_ours:
        raise ValueError("no task of ours")
    maybe_iso8601(headers.get("expires"))


def _note(*, queue: str | None, error: Exception) -> None:
    """Says nothing of what the message holds."""
    metric_counters.count(SKIPPED)
    log.error("message_skipped", queue=queue, error=type(error).__name__)
