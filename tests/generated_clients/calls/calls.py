"""Triggers, looks up, reports a click and is refused, with the client of openapi-generator's python.

Prints the refusal.
"""

import json
import os
import sys
import time
from typing import Any

from openapi_client import ApiClient, Configuration, InAppMessagesApi, JourneysApi
from openapi_client.exceptions import ApiException
from openapi_client.models import ActionData, ActionRequest, TriggerRequest

WORLD: dict[str, str] = json.loads(os.environ["WORLD"])
api = JourneysApi(ApiClient(Configuration(host=WORLD["url"], access_token=WORLD["key"])))


def trigger(dry_run: bool | None = None, **fields: Any) -> Any:
    request = TriggerRequest.model_validate(fields)
    return api.trigger_journey(WORLD["workspaceId"], WORLD["journeyId"], request, dry_run=dry_run).data


dry = trigger(dry_run=True, external_id="ada")
assert (dry.status, dry.results["enrolled"]) == ("dry_run", 1)
single = trigger(external_id="ada")
assert single.status == "queued"
bulk = trigger(external_ids=["bob", "nobody"])
assert (bulk.customers_enrolled, len(bulk.job_ids)) == (1, 1)

deadline = time.monotonic() + 60
while (job := api.get_job(WORLD["workspaceId"], single.job_id).data).status == "queued":
    assert time.monotonic() < deadline
    time.sleep(0.1)
assert job.result == "enrolled"
assert job.enrollment_id

click = ActionRequest(messageId="sale", userId="u-1", actionType="track_event", actionData=ActionData(eventName="seen"))
sdk = InAppMessagesApi(ApiClient(Configuration(host=WORLD["url"], api_key={"appId": WORLD["app"]})))
assert sdk.record_action(click).data.event_id

try:
    trigger(external_id="nobody")
except ApiException as refused:
    sys.stdout.write(json.dumps({json.loads(refused.body)["code"]: refused.status}))
