from django.apps import AppConfig


class JourneysConfig(AppConfig):
    name = "journeys"

    def ready(self) -> None:
        from customers import watching  # noqa: PLC0415 (models are loaded by now, not before)
        from journeys.walking.watching import look  # noqa: PLC0415

        watching.LOOKS.append(look)
