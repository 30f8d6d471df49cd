from django.apps import AppConfig


class BridgeConfig(AppConfig):
    name = "bridge"
    verbose_name = "In-app message bridge"
