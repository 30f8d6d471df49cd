"""What the database holds."""

from typing import Any

from django.apps import apps


def everything() -> dict[str, list[Any]]:
    """Every row of every table, by the model's name."""
    return {model.__name__: list(model._default_manager.order_by("pk").values()) for model in apps.get_models()}
