from django.apps import AppConfig
from django.core import checks


class EngageConfig(AppConfig):
    name = "engage"
    verbose_name = "Workspaces and access"

    def ready(self) -> None:
        from engage.database.table import check_tables  # noqa: PLC0415 (models are loaded by now, not before)

        checks.register(check_tables, checks.Tags.models)
