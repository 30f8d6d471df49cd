"""Whether the process lives, and whether it can serve."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from engage.redis_availability import REDIS_FAILURES, redis_client


def livez(request: HttpRequest) -> JsonResponse:
    """200 as long as the process answers at all."""
    return JsonResponse({"status": "alive"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 where PostgreSQL answers, else 503. Redis is reported, but the service does its work without it."""
    postgresql, redis_answers = _postgresql_answers(), _redis_answers()
    return JsonResponse(
        {
            "status": "ready" if postgresql else "unavailable",
            "postgresql": "up" if postgresql else "down",
            "redis": "up" if redis_answers else "down",
        },
        status=200 if postgresql else 503,
    )


def _postgresql_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()
        return False
    return True


def _redis_answers() -> bool:
    try:
        with redis_client() as client:
            return bool(client.ping())
    except REDIS_FAILURES:
        return False
