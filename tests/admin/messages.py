"""Messages of a workspace, and what people did in them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from bridge.models import Interaction, Message
from engage.database.object_ids import first_id_at, new_object_id
from tests.support.factories import AppFactory, CustomerFactory

HOSTILE = "</textarea></script><script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


def interact(message: Message, number: int, *, days_ago: float = 0, **fields: Any) -> list[Interaction]:
    """So many interactions of the message; made so long ago as their ids say."""
    app = fields.pop("app", None) or AppFactory.create(workspace=message.workspace)
    customer = CustomerFactory.create(workspace=message.workspace)
    begin = first_id_at(timezone.now() - timedelta(days=days_ago))
    made = [
        Interaction(
            id=begin + new_object_id()[len(begin) :],
            workspace=message.workspace,
            app=app,
            customer=customer,
            message_id=message.key,
            kind=Interaction.Kind.CLOSE,
            **fields,
        )
        for _ in range(number)
    ]
    return Interaction.objects.bulk_create(made)
