"""What `make run` shows once the service has started: that it works, where it is, and what to try."""

import http.client
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from config.local.demo import ADMIN, Demo
from config.local.tour import LISTENING, TOUR
from engage.notations.terminal import printable

PATIENCE_SECONDS = 20.0  # for a first job
WAITED_SECONDS = 30  # for the tour
LISTENS = f'"state":"active","stepId":"{LISTENING}"'


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where this machine reaches the web server."""

    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class TriedTrigger:
    """One trigger's result, and how many ms it took to be accepted and, once queued, to be decided by a worker."""

    job_id: str
    result: str
    accepted_ms: float
    decided_ms: float


class TriggerFailed(Exception):
    """The trigger was refused, could not be sent, or was not decided in time."""


def try_trigger(*, address: Address, demo: Demo) -> TriedTrigger:
    """Sends one trigger as any server would, and follows its job. Raises TriggerFailed."""
    started = time.monotonic()
    accepted = _call(address, demo, "POST", _trigger_path(demo), {"external_id": "ada"})
    accepted_after = time.monotonic() - started
    path, pause = _job_path(demo, accepted["jobId"]), 0.01
    job = _call(address, demo, "GET", path)
    while job["status"] == "queued":
        if time.monotonic() - started > PATIENCE_SECONDS:
            raise TriggerFailed(f"No worker decided the job {accepted['jobId']} within {PATIENCE_SECONDS:.0f} s.")
        time.sleep(pause)
        pause = min(pause * 2, 1)  # the key's rate limit counts these calls too
        job = _call(address, demo, "GET", path)
    decided_after = datetime.fromisoformat(job["decidedAt"]) - datetime.fromisoformat(job["queuedAt"])
    return TriedTrigger(
        job_id=accepted["jobId"],
        result=job["result"],
        accepted_ms=accepted_after * 1000,
        decided_ms=decided_after.total_seconds() * 1000,
    )


def first_screen(*, address: Address, demo: Demo) -> str:
    """Sends one trigger; returns the text to show, with the trigger's result."""
    try:
        tried = try_trigger(address=address, demo=demo)
    except TriggerFailed as failure:
        return screen(address, demo, f"  A trigger was sent just now, and failed. {printable(str(failure))}")
    proof = (
        f"  A trigger was sent just now: accepted after {tried.accepted_ms:.0f} ms, decided by a worker "
        f"after {tried.decided_ms:.0f} ms: {tried.result}.\n\n"
    )
    return screen(address, demo, proof + commands(address, demo, job_id=tried.job_id))


def screen(address: Address, demo: Demo, more: str) -> str:
    """Where the service is and who may log in, and what else there is to say."""
    password = (
        demo["adminPassword"] or "as it was set before; .venv/bin/python manage.py changepassword admin sets another"
    )
    return f"""
  engage runs at {address.url}

    Admin      {address.url}/admin/   user {ADMIN}, password {password}
    API docs   {address.url}/api/v1/docs
    Messages   {address.url}/demo   in-app messages to try, and what the service records of them

{more}

  Ctrl-C stops everything; the data stay for the next start. `make info` shows this again.
"""


def commands(address: Address, demo: Demo, *, job_id: str) -> str:
    """What to paste, with the demo's ids and keys."""
    workspace = demo["workspace"]
    as_server = {"Authorization": f"Bearer {workspace['apiKeys']['server']}"}
    as_app = {"X-App-Id": workspace["apps"]["web"]}
    trigger, job = address.url + _trigger_path(demo), address.url + _job_path(demo, job_id)
    action = f"{address.url}/api/v1/sdk/bridge/action"
    one = {"external_id": "ada", "payload": {"coupon": "WELCOME10"}}
    tour = {"external_id": "grace", "payload": {"coupon": "TOUR20"}}
    grace = f"{address.url}/api/v1/customers/{workspace['workspaceId']}/{workspace['customers']['grace']}/journeys"
    many = {"segment_ids": [workspace["segments"]["vip"]], "exclude_external_ids": ["ada"]}
    click = {"messageId": "welcome-message", "actionType": "track_event", "actionData": {"eventName": "clicked"}}
    return f"""\
  To paste into another terminal:

  # One customer enters a journey
  {_curl(trigger, as_server, one)}

  # An in-app message for Ada: log in as her at {address.url}/demo, and it is there within a second; its click moves the
  # journey on
  {_curl(address.url + _trigger_path(demo, "offer"), as_server, {"external_id": "ada", "payload": {"coupon": "MAY"}})}

  # All members of a segment enter it, but for one
  {_curl(trigger, as_server, many)}

  # What became of a job
  {_curl(job, as_server)}

  # A customer takes a tour of every type of step; the lines of `receiver` show the webhooks that arrive
  {_curl(address.url + _trigger_path(demo, TOUR), as_server, tour)}

  # Within some seconds, the tour listens for a click; this waits until it does
  {_waiting(_curl(grace, as_server), until=LISTENS)}

  # A click in an in-app message, which ends the tour with thanks
  {_curl(action, as_app, click | {"external_id": "grace"})}

  # What named this customer for journeys, and how it went
  {_curl(grace, as_server)}"""


def _waiting(command: str, *, until: str) -> str:
    """A line of a shell that runs the command again and again until its output holds the text, for a while."""
    return f"for i in $(seq {WAITED_SECONDS}); do {command} | grep -q '{until}' && break; sleep 1; done"


def _trigger_path(demo: Demo, journey: str = "welcome") -> str:
    workspace = demo["workspace"]
    return f"/api/v1/journeys/{workspace['workspaceId']}/{workspace['journeys'][journey]}/trigger"


def _job_path(demo: Demo, job_id: str) -> str:
    return f"/api/v1/journeys/{demo['workspace']['workspaceId']}/jobs/{job_id}"


def _curl(url: str, headers: Mapping[str, str], body: Mapping[str, object] | None = None) -> str:
    if body is not None:
        headers = {**headers, "Content-Type": "application/json"}
    options = [f"-H '{name}: {value}'" for name, value in headers.items()]
    if body is not None:
        options.append(f"-d '{json.dumps(body)}'")
    return " ".join(["curl -sS", url, *options])


def _call(
    address: Address, demo: Demo, method: str, path: str, body: Mapping[str, object] | None = None
) -> Mapping[str, Any]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE_SECONDS)
    headers = {"Authorization": f"Bearer {demo['workspace']['apiKeys']['server']}", "Content-Type": "application/json"}
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        response = connection.getresponse()
        answer = json.load(response)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise TriggerFailed(f"{method} {path}: {error}") from error
    finally:
        connection.close()
    if not answer.get("success"):
        raise TriggerFailed(f"{method} {path} was answered {response.status}: {answer.get('message')}")
    data: Mapping[str, Any] = answer["data"]
    return data
