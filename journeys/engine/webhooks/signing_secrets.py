"""The signing secrets of workspaces: created when first needed, rotated and read."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from engage.credentials.encryption import encrypted
from engage.database.sql import Rows, Statement
from engage.models import Workspace
from journeys.engine.webhooks.signing import new_secret
from journeys.models import WebhookSecret

GRACE = timedelta(hours=24)

# Of two concurrent callers, the second finds the first one's secret.
_MAKE = Statement(
    """
INSERT INTO journeys_webhooksecret (workspace_id, secret)
SELECT * FROM {secrets}
ON CONFLICT (workspace_id) WHERE retires_at IS NULL DO NOTHING
""",
    secrets=Rows("fresh", {"workspace_id": "text", "secret": "text"}),
)


def current_secrets(workspace_ids: Iterable[str]) -> dict[str, str]:
    """The current secret of each workspace; created if there is none."""
    wanted = sorted(set(workspace_ids))
    if not wanted:
        return {}
    found = _read(wanted)
    if missing := [workspace_id for workspace_id in wanted if workspace_id not in found]:
        _MAKE.execute(secrets=[(workspace_id, encrypted(new_secret())) for workspace_id in missing])
        found |= _read(missing)
    return found


def _read(workspace_ids: list[str]) -> dict[str, str]:
    current = WebhookSecret.objects.filter(workspace_id__in=workspace_ids, retires_at=None)
    return {secret.workspace_id: secret.secret for secret in current}


def rotate_webhook_secret(*, workspace_id: str, now: datetime, grace: timedelta = GRACE) -> str:
    """Creates and returns a new secret for the workspace. The previous one also signs until `grace` is over."""
    current_secrets([workspace_id])
    secret = new_secret()
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(id=workspace_id)  # one rotation at a time
        secrets = WebhookSecret.objects.filter(workspace_id=workspace_id)
        secrets.filter(retires_at__lte=now).delete()
        # Secrets that are already retiring keep their time, unless a shorter grace ends them sooner.
        secrets.filter(Q(retires_at=None) | Q(retires_at__gt=now + grace)).update(retires_at=now + grace)
        WebhookSecret.objects.create(workspace_id=workspace_id, secret=secret)
    return secret
