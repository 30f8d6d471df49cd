from django.apps import AppConfig


class JourneysConfig(AppConfig):
    name = "journeys"

    def ready(self) -> None:
        from customers import personal, watching  # noqa: PLC0415 (models are loaded by now, not before)
        from journeys.personal import PERSONAL  # noqa: PLC0415
        from journeys.walking.watching import look  # noqa: PLC0415

        personal.PERSONAL |= PERSONAL
        watching.LOOKS.append(look)
