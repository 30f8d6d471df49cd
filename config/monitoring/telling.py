"""Tells people of alerts: those of a workspace whom it names, and those of the whole service whom the settings name.

engage/alerts.py keeps what is wrong, what was told, and what is to be told. While nobody is to be told of anything,
nothing is looked at. What keeps this from working (PostgreSQL is away, no scheduler runs) only Prometheus tells.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Q
from django.utils import timezone

from config.monitoring.mailing import send_mail
from config.monitoring.standing import RULES, standing
from engage import alerts
from engage.alerts import Cause, Told
from engage.database.alone import alone
from engage.models import Workspace
from engage.notations.plurals import counted
from engage.notations.recipients import addresses_in
from journeys.engine.operations.alerts import FAILING_HOLDS, causes_in
from journeys.engine.operations.sending_once import accepted_inputs, send_once
from journeys.models import Connection

log = structlog.get_logger(__name__)
_SECONDS = 30.0
_HOLDS = {rule.alert: rule.holds for rule in RULES} | {"EngageWebhooksFail": FAILING_HOLDS}


@dataclass(frozen=True, kw_only=True)
class Recipients:
    """Who is told: addresses of e-mail, and a connection by its workspace's key and its own."""

    emails: Sequence[str] = ()
    connection: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.emails or self.connection)


def of_service() -> Recipients:
    workspace_key, _, key = settings.ALERT_CONNECTION.partition("/")
    return Recipients(emails=settings.ALERT_EMAILS, connection=(workspace_key, key) if key else None)


def of_workspace(workspace: Workspace) -> Recipients:
    key = workspace.alert_connection
    return Recipients(emails=addresses_in(workspace.alert_emails), connection=(workspace.key, key) if key else None)


def look() -> None:
    """Notes what is wrong now, where somebody is to be told of it."""
    told = Workspace.objects.exclude(Q(alert_emails="") & Q(alert_connection=""))
    causes = causes_in([*told.values_list("id", flat=True), *([None] if of_service() else [])])
    unknown: set[str] = set()
    if of_service():
        found = list(standing())
        unknown = {one.alert for one in found if one.wrong is None}
        causes += [
            Cause(workspace_id=None, rule=one.alert, about=one.about, says=one.says) for one in found if one.wrong
        ]
    alerts.note(causes, holds=_HOLDS, unknown=unknown)


def tell() -> None:
    """Tells what is due: one message for all alerts of a workspace. In no transaction.

    What is left after a while is told by whoever is asked next.
    """
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and (due := alerts.claim()) is not None:
        if not due:
            continue
        sent, workspace_id = False, due[0].workspace_id
        with alone("alert", workspace_id=workspace_id):  # whatever is wrong with a connection, others are told
            workspace = None if workspace_id is None else Workspace.objects.get(id=workspace_id)
            recipients = of_service() if workspace is None else of_workspace(workspace)
            sent = _sent(_message(due, "the service" if workspace is None else workspace.name), recipients)
        if sent:
            alerts.settle(due)
        elif due[0].attempts >= alerts.MOST_ATTEMPTS:
            alerts.give_up(due)


@dataclass(frozen=True, kw_only=True)
class _Message:
    subject: str
    text: str


def _message(due: Sequence[Told], where: str) -> _Message:
    lines = [_line(one) for one in sorted(due, key=lambda one: (one.over, one.began_at))]
    first = lines[0].partition("\n")[0] if len(due) == 1 else counted(len(due), "alert")
    text = "\n\n".join([f"Engage, {where}:", *lines, "What to do about each: docs/alerts.md."])
    return _Message(subject=f"Engage, {where}: {first}", text=text)


def _line(one: Told) -> str:
    since = f"{one.began_at:%Y-%m-%d %H:%M} UTC"
    if one.over and one.ended_at:
        return f"This is over: {one.says}\n{one.rule}, from {since} to {one.ended_at:%H:%M} UTC"
    return f"{one.says}\n{one.rule}, since {since}"


def _sent(message: _Message, recipients: Recipients) -> bool:
    """Whether it has left by any of the ways; there is nobody to wait for if there is none."""
    ways = [_mailed(message, recipients.emails)] if recipients.emails else []
    ways += [_by_connection(message, *recipients.connection)] if recipients.connection else []
    return any(ways) or not ways


def _mailed(message: _Message, emails: Iterable[str]) -> bool:
    subject = " ".join(message.subject.split())  # a header is one line
    try:
        send_mail(EmailMessage(subject, message.text, settings.EMAIL_FROM, list(emails)))
    except Exception as error:  # noqa: BLE001 - whatever a mail server does, others are told
        log.warning("alert_not_sent", by="email", error=type(error).__name__)
        return False
    return True


def _by_connection(message: _Message, workspace_key: str, key: str) -> bool:
    connection = Connection.objects.filter(workspace__key=workspace_key, key=key).first()
    if connection is None:
        log.warning("alert_not_sent", by="connection", workspace=workspace_key, error="There is no such connection.")
        return False
    says = {"text": message.text, "title": message.subject, "subject": message.subject, "html": message.text}
    sent = send_once(connection, accepted_inputs(connection, says), now=timezone.now())
    if not sent.ok:
        log.warning("alert_not_sent", by="connection", connection_id=connection.id, status=sent.status)
    return sent.ok
