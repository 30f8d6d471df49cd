"""What the bridge's calls do, whether they come alone or in a batch."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils import timezone
from rest_framework.response import Response

from bridge.answers import CAPTURED_MESSAGE, action_answer, captured_data
from bridge.identity.proof import proven
from bridge.interactions.actions import perform_action
from bridge.interactions.capture import capture_form
from bridge.serializers import Sender, identifiers_as_sent, read_action, read_capture, read_sent_again
from engage.http.envelope import success
from engage.http.idempotency import Caller
from engage.models import App


def do_action(body: Any, *, sender: Sender) -> Response:
    """A button in a message was clicked. Raises the refusals of reading and performing it."""
    now = timezone.now()
    call, action = read_action(body, sender=sender, now=now)
    recorded = perform_action(app=sender.app, call=call, action=action, now=call.occurred_at or now)
    return success(*action_answer(recorded))


def do_capture(body: Any, *, sender: Sender) -> Response:
    """A form in a message was submitted. Raises the refusals of reading and capturing it."""
    now = timezone.now()
    call, submit = read_capture(body, sender=sender, now=now)
    recorded = capture_form(app=sender.app, call=call, submit=submit, now=call.occurred_at or now)
    return success(CAPTURED_MESSAGE, captured_data(recorded))


CALLS: Mapping[str, Callable[..., Response]] = {"action": do_action, "capture": do_capture}


def require_proof(body: Any, *, sender: Sender) -> None:
    """Asks of a call that was made before what it asked of it then: raises the refusals of identity tokens.

    Whom the app lets be anonymous says the same as before; any other token than the first may prove it.
    """
    if sender.app.identity == App.Identity.ENFORCE:
        proven(app=sender.app, call=read_sent_again(body, sender=sender), attributes=None)


def caller_of(body: Any, *, sender: Sender) -> Caller:
    """Whose Idempotency-Keys a call has: those of the person whom it names, in this app."""
    app = sender.app
    return Caller(workspace_id=app.workspace_id, app_id=app.id, person=identifiers_as_sent(body))
