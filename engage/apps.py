from django.apps import AppConfig


class EngageConfig(AppConfig):
    name = "engage"
    verbose_name = "Workspaces and access"
