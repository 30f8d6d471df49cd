from django.apps import AppConfig


class JourneysConfig(AppConfig):
    name = "journeys"

    def ready(self) -> None:
        from customers import watching  # noqa: PLC0415 (models are loaded by now, not before)
        from customers.contact import ledger, reach, topics  # noqa: PLC0415
        from engage.resources.resource import Resource  # noqa: PLC0415
        from journeys.engine.connections.using import journeys_about  # noqa: PLC0415
        from journeys.engine.walking.confirmations import ask_to_confirm  # noqa: PLC0415
        from journeys.engine.walking.opted_out import on_suppression, opted_out  # noqa: PLC0415
        from journeys.engine.walking.watching import look  # noqa: PLC0415
        from journeys.kinds import KINDS  # noqa: PLC0415

        Resource.register(*KINDS)
        watching.LOOKS.append(look)
        ledger.CHANGED.append(ask_to_confirm)
        ledger.CHANGED.append(opted_out)
        reach.SUPPRESSED.append(on_suppression)
        topics.NAMED_BY.append(journeys_about)
