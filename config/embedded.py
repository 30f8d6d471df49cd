"""PostgreSQL and Redis from wheels, where DATABASE_URL / REDIS_URL are not set."""


def database_url() -> str:
    raise NotImplementedError


def redis_url() -> str:
    raise NotImplementedError
