"""How the service stands now, in words: those of the alerts in monitoring/rules.yml that look at one moment.

They are what the page Health says, and what people are told (telling.py) once it has held for a while. Those over rates
are Prometheus' alone. A test holds thresholds and times to be the same in both.
"""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from config.monitoring.metrics import all_metrics
from journeys.engine.operations.alerts import LATE_SECONDS, LEFT_ALONE_SECONDS

_COMPARED = {">": operator.gt, "==": operator.eq}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Something is wrong `when` a sample of the metric with these labels compares so, such as "> 10".

    `wrong` is said with the sample's `value` and labels, and `fine` otherwise. An alert rings once it has been so for
    the seconds that it `holds`.
    """

    alert: str
    metric: str
    labels: Mapping[str, str] = field(default_factory=dict)
    when: str
    holds: float
    wrong: str
    fine: str

    def breaks(self, value: float) -> bool:
        compared, _, threshold = self.when.partition(" ")
        return bool(_COMPARED[compared](value, float(threshold)))


RULES: Sequence[Rule] = (
    Rule(alert="EngageDecisionsLate", metric="engage_queue_late_seconds", labels={"lane": "single"},
         when=f"> {LATE_SECONDS['single']:g}", holds=120,
         wrong="Single triggers are decided {value:.0f} s late.", fine="Single triggers are decided in time."),
    Rule(alert="EngageDecisionsLate", metric="engage_queue_late_seconds", labels={"lane": "bulk"},
         when=f"> {LATE_SECONDS['bulk']:g}", holds=120,
         wrong="Large calls are decided {value:.0f} s late.", fine="Large calls get their turns."),
    Rule(alert="EngageDecisionsLate", metric="engage_queue_late_seconds", labels={"lane": "scheduled"},
         when="> 60", holds=120,
         wrong="What is scheduled comes due {value:.0f} s late.", fine="What is scheduled comes due in time."),
    Rule(alert="EngageEnrollmentsLate", metric="engage_enrollments_late_seconds",
         when=f"> {LATE_SECONDS['enrollments']:g}", holds=300,
         wrong="The steps of journeys are {value:.0f} s late.", fine="The steps of journeys are in time."),
    Rule(alert="EngageWebhooksLate", metric="engage_webhooks_late_seconds",
         when=f"> {LATE_SECONDS['webhooks']:g}", holds=300,
         wrong="Webhooks are {value:.0f} s late.", fine="Webhooks leave in time."),
    Rule(alert="EngageProcessGone", metric="engage_process_seen_seconds", when="> 60", holds=60,
         wrong="No process {process} was seen for {value:.0f} s.", fine="All processes run."),
    Rule(alert="EngagePostgresqlAway", metric="engage_postgresql_up", when="== 0", holds=60,
         wrong="PostgreSQL does not answer.", fine="PostgreSQL answers."),
    Rule(alert="EngageRedisAway", metric="engage_redis_up", when="== 0", holds=120,
         wrong="Redis is away or takes no writes.", fine="Redis answers and takes writes."),
    Rule(alert="EngageHostLeftAlone", metric="engage_webhook_failing_seconds",
         when=f"> {LEFT_ALONE_SECONDS}", holds=60,
         wrong="A receiver has failed for {value:.0f} s.", fine="No receiver fails for long."),
    Rule(alert="EngageJourneyHeldByGuard", metric="engage_journeys_held", labels={"by": "guard"}, when="> 0", holds=0,
         wrong="Journeys that their guards hold: {value:.0f}.", fine="No guard holds a journey."),
    Rule(alert="EngageSubscriptionPaused", metric="engage_subscriptions_paused", when="> 0", holds=0,
         wrong="Subscriptions to which nothing is pushed: {value:.0f}.", fine="No subscription is paused."),
    Rule(alert="EngageOldTransaction", metric="engage_oldest_transaction_seconds", when="> 300", holds=300,
         wrong="A transaction has been open for {value:.0f} s.", fine="No transaction stays open."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one rule comes to, `about` a lane or a process if it looks at several.

    `wrong` is None if its metric is missing, because a server is away.
    """

    alert: str
    wrong: bool | None
    says: str
    about: str = ""


def standing() -> Iterator[Found]:
    """Every rule, evaluated now; one that breaks for several samples says each."""
    samples = {metric.name: list(metric.samples) for metric in all_metrics()}
    for rule in RULES:
        fitting = [one for one in samples.get(rule.metric, ()) if rule.labels.items() <= one.labels.items()]
        broken = [one for one in fitting if rule.breaks(one.value)]
        for one in broken:
            yield Found(
                alert=rule.alert,
                wrong=True,
                says=rule.wrong.format(value=one.value, **one.labels),
                about=" ".join(one.labels.values()),
            )
        if not fitting:
            yield Found(alert=rule.alert, wrong=None, says=f"Unknown, as a server does not answer: {rule.metric}.")
        elif not broken:
            yield Found(alert=rule.alert, wrong=False, says=rule.fine)
