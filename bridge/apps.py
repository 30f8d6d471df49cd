from django.apps import AppConfig


class BridgeConfig(AppConfig):
    name = "bridge"
    verbose_name = "In-app message bridge"

    def ready(self) -> None:
        from bridge.messages.known import offered_messages, shown_messages  # noqa: PLC0415
        from bridge.messages.seeding import SECTION  # noqa: PLC0415 (models are loaded by now, not before)
        from journeys.connections.messages import MESSAGES  # noqa: PLC0415
        from journeys.seeding.sections import SECTIONS  # noqa: PLC0415

        SECTIONS["messages"] = SECTION
        MESSAGES.offered, MESSAGES.shown = staticmethod(offered_messages), staticmethod(shown_messages)
