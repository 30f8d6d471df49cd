from django.apps import AppConfig


class BridgeConfig(AppConfig):
    name = "bridge"
    verbose_name = "In-app message bridge"

    def ready(self) -> None:
        from bridge.messages.seeding import SECTION  # noqa: PLC0415 (models are loaded by now, not before)
        from bridge.personal import PERSONAL  # noqa: PLC0415 (models are loaded by now, not before)
        from customers import personal  # noqa: PLC0415
        from journeys.seeding.sections import SECTIONS  # noqa: PLC0415

        SECTIONS["messages"] = SECTION
        personal.PERSONAL |= PERSONAL
