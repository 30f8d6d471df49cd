"""What a bridge call asks: whether its message allows it, and what is to be done.

With an app whose policy is `open`, a call without an `actionId` is not looked at: it costs one comparison.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from django.utils import timezone

from bridge.messages.definition import Definition
from bridge.messages.known import KnownMessage, active_message
from bridge.messages.matching import Match, match_action, match_form
from bridge.messages.problems import MessageNotRegistered, NotInMessage, Problem, Reason
from bridge.requests import MAX_ORIGIN_LENGTH, Action, BridgeCall, SubmitAction
from engage.errors import Refusal
from engage.feed import FeedType, tell
from engage.models import App
from engage.redis.metric_counters import MESSAGE_POLICY, MESSAGE_REFUSALS, metric_counters

_Asked = TypeVar("_Asked", Action, SubmitAction | None)
_MOST_NOTED = 20
_UNKNOWN = Problem(reason=Reason.NOT_REGISTERED, field="messageId", why="is not the key of an active message.")


def asked_action(*, app: App, call: BridgeCall, action: Action) -> tuple[BridgeCall, Action]:
    """The call and the action that are to be recorded. Raises MessageNotRegistered, NotInMessage."""
    if app.message_policy == App.MessagePolicy.OPEN and not call.action_id:
        return call, action
    return _decided(
        app,
        call,
        action,
        lambda known: match_action(known, action, form_data=call.form_data, action_id=call.action_id),
    )


def asked_form(*, app: App, call: BridgeCall, submit: SubmitAction | None) -> tuple[BridgeCall, SubmitAction | None]:
    """The same for a form that was submitted."""
    if app.message_policy == App.MessagePolicy.OPEN and not call.action_id:
        return call, submit
    return _decided(
        app, call, submit, lambda known: match_form(known, submit, form_data=call.form_data, action_id=call.action_id)
    )


def _decided(
    app: App, call: BridgeCall, asked: _Asked, match: Callable[[Definition], Match[_Asked]]
) -> tuple[BridgeCall, _Asked]:
    """An `actionId` is refused whatever the policy, if there is no such thing: nobody else knows what it means."""
    known = active_message(workspace_id=app.workspace_id, message_id=call.message_id)
    found = match(known.definition) if known else Match(asked=asked, form_data=call.form_data, problems=(_UNKNOWN,))
    refuses = bool(call.action_id) or app.message_policy == App.MessagePolicy.ENFORCE
    if found.problems:
        _count(app, known, found.problems[0].reason, refused=refuses)
    if refuses:
        if found.problems:
            refusal: Refusal = MessageNotRegistered() if known is None else NotInMessage(found.problems)
            if app.workspace_tells:
                refusal.then = partial(_tell, app, known, found.problems[0].reason)
            raise refusal
        return replace(
            call, form_data=found.form_data, marks=replace(call.marks, action_id=found.action_id)
        ), found.asked
    marks = replace(call.marks, action_id=found.action_id)
    if found.problems:
        marks = replace(marks, message_problems=_noted(found.problems), origin=call.origin[:MAX_ORIGIN_LENGTH])
    return replace(call, marks=marks), asked


def _count(app: App, known: KnownMessage | None, reason: Reason, *, refused: bool) -> None:
    """What is let through is also marked; of what is refused nothing else remains. Unknown messages count as one."""
    metric_counters.count(MESSAGE_POLICY, "enforce" if refused else "report", reason)
    if refused:
        today, row = timezone.now().date().isoformat(), known.id if known else ""
        metric_counters.count(MESSAGE_REFUSALS, today, app.workspace_id, row, reason)


def _tell(app: App, known: KnownMessage | None, reason: Reason) -> None:
    which = f"The message {known.key}." if known else "No message that is registered."
    tell(FeedType.MESSAGE_REFUSED, workspace_id=app.workspace_id, result=reason, reason=which)


def _noted(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [
        {"reason": str(one.reason), "field": one.field, "why": one.why, **({"value": one.value} if one.value else {})}
        for one in problems[:_MOST_NOTED]
    ]
