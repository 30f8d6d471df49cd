"""`webhook`: sends a JSON request to a URL that the journey's author chose.

`{"id": "tell", "type": "webhook", "url": "https://example.com/users/{{ customer.id }}", "method": "PUT",
"headers": {"Authorization": "Bearer …"}, "body": {"name": "{{ customer.name }}"}, "onFailure": "exit"}`. The request
is rendered here (request.py), and its result decides where the walk goes on; the caller sends it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from engage.json.described import all_of
from journeys.rendering import Names, Rendering
from journeys.steps.answer_rules import STATUS
from journeys.steps.context import StepContext
from journeys.steps.kinds import KeptBy
from journeys.steps.request import RequestTemplate
from journeys.steps.results import WebhookRequest
from journeys.steps.sending import SendingStep


@dataclass(frozen=True, kw_only=True)
class Webhook(SendingStep):
    """Sends a request. If it fails for good, goes on or ends the enrollment, as `on_failure` says."""

    type: ClassVar = "webhook"
    title: ClassVar = "Call a webhook"
    icon: ClassVar = "webhook"
    called: ClassVar = "webhook"
    does: ClassVar = (
        "Sends a signed request. Only url is needed; method is POST, and onFailure continue, where they are left out. "
        "A form stands in place of body. ok says when an answer is well, and keep what of it later steps read."
    )
    examples: ClassVar = (
        {
            "id": "hello",
            "url": "https://mail.example/send",
            "method": "POST",
            "headers": {"X-Shop": "acme"},
            "body": {"to": "{{ customer.email }}", "seats": {"$value": "customer.seats"}},
            "onFailure": "exit",
        },
        {
            "id": "stock",
            "url": "https://shop.example/stock",
            "auth": {"bearer": "secret"},
            "form": {"item": "{{ api.payload.item }}", "tags": {"$value": "customer.tags"}},
            "ok": {"field": "answer.status", "op": "eq", "value": 200},
            "keep": {"left": "items[0].left"},
            "giveUpAfter": "PT10M",
        },
    )

    request: RequestTemplate = all_of(RequestTemplate)

    @property
    def label(self) -> str:
        return self.request.label

    @classmethod
    def kept_names(cls, step: Mapping[str, Any], kept_by: KeptBy) -> Names:
        keep = step.get("keep")
        return dict.fromkeys([*keep, STATUS]) if isinstance(keep, dict) else {}

    def rendered(self, context: StepContext, rendering: Rendering) -> WebhookRequest:
        return self.request.render(rendering)
