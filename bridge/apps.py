from django.apps import AppConfig


class BridgeConfig(AppConfig):
    name = "bridge"
    verbose_name = "In-app message bridge"

    def ready(self) -> None:
        from bridge.messages.known import offered_messages, shown_messages  # noqa: PLC0415
        from bridge.messages.saving import MESSAGES as DEFINED  # noqa: PLC0415 (models are loaded by now, not before)
        from engage.resources.resource import Resource  # noqa: PLC0415
        from journeys.engine.connections.messages import MESSAGES  # noqa: PLC0415

        Resource.register(DEFINED)
        MESSAGES.offered, MESSAGES.shown = staticmethod(offered_messages), staticmethod(shown_messages)
