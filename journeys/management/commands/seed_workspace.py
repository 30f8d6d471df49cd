"""`manage.py seed_workspace`: a workspace from a file, or the built-in demo."""

import json
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from engage.audit.acting import acting, command
from engage.errors import Refusal
from engage.notations.plurals import counted
from engage.notations.terminal import printable
from engage.resources.resource import DefinitionWarning
from journeys.management.arguments import read_object
from journeys.seeding.plan import Plan, plan_seed
from journeys.seeding.seed import SeededWorkspace, read_seed, seed_workspace

_DEMO = Path(__file__).parents[2] / "seeding" / "demo.json"
_MOST_CUSTOMERS_LISTED = 20
_SOMETHING_WOULD_CHANGE = 2
_MOST_CUSTOMERS_MADE = 10_000_000


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = """\
Make a workspace as a JSON file describes it, or the demo where no file is given.

  {
    "workspace": {"key": "acme", "name": "Acme"},
    "apiKeys":   [{"name": "server", "rateLimit": "100/m", "customersRateLimit": null, "eventsRateLimit": null,
                   "scopes": ["trigger", "events"], "journeys": ["welcome"], "networks": ["203.0.113.0/24"],
                   "expiresAt": null}],
    "apps":      [{"name": "web", "allowedOrigins": [], "messagePolicy": "open", "identity": "off",
                   "anonymous": "allow", "identityKeys": [{"kid": "k1", "alg": "HS256", "expiresAt": null,
                                                           "secret": "at-least-32-bytes-that-nobody-knows"}]}],
    "customers": [{"external_id": "ada", "email": "ada@example.com", "phone": "+14155550101", "userId": null,
                   "attributes": {"plan": "pro"}}],
    "segments":  [{"key": "vip", "name": "VIP", "members": ["ada"]},
                  {"key": "pro", "name": "Pro plan",
                   "conditions": {"field": "customer.plan", "op": "eq", "value": "pro"}}],
    "variables": {"shop": "Garden", "colours": ["green"]},
    "connections": [{"key": "mail", "name": "Our mailer", "channel": "email", "url": "https://mail.example/send",
                     "headers": {"X-Token": {"env": "ENGAGE_MAIL_TOKEN"}}, "perSecond": 10, "html": ["text"],
                     "body": {"to": "{{ inputs.to }}", "text": "{{ inputs.text }}"},
                     "inputs": {"type": "object", "required": ["to", "text"],
                                "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}}],
    "journeys":  [{"key": "welcome", "name": "Welcome", "trigger": "api", "active": true,
                   "maxEntriesPerCustomer": null, "allowReenrollment": false, "entryConditions": null,
                   "concurrentEntrances": false,
                   "steps": [{"id": "wait", "type": "delay", "for": "P1D"}]},
                  {"key": "thanks", "name": "Thanks", "trigger": "event", "eventName": "bought",
                   "where": {"field": "event.properties.price", "op": "gt", "value": 10},
                   "steps": [{"id": "wait", "type": "delay", "for": "P1D"}],
                   "exitOn": [{"event": "returned"},
                              {"if": {"field": "customer.plan", "op": "eq", "value": "free"}}]}],
    "messages":  [{"key": "sale", "status": "active",
                   "actions": [{"id": "cta", "type": "track_event", "eventName": "clicked",
                                "properties": {"n": {"type": "number", "max": 10}}}],
                   "forms": [{"id": "city", "fields": {"city": {"type": "string"}}}],
                   "content": {"kind": "banner", "title": "Sale", "buttons": [{"action": "cta", "text": "More"}]}}]
  }

Everything is optional but the workspace's key, the keys and names that identify a thing, and an identifier for each
customer. The same file again changes what differs and makes nothing twice: keys and names identify; a customer goes
by the external_id, else by the first of email, phone and userId.

What the file does not name stays as it is, be it a customer, a journey or a single field of one; null empties a
field, and takes a variable away. Where a secret stands (in headers), {"env": "ENGAGE_NAME"} reads it from the
environment (the name begins with ENGAGE_), and "***" keeps what is stored. Attributes are set one by one and others
kept (null takes one away). Members, where given, are exactly those listed: by the name that a customer of the file goes
by, or by the external_id of one who is there already.

A journey that staff or a key has closed, aborted or archived stays closed, whatever the file says: the output tells it,
and the command succeeds. Activate it to open it.

--plan changes nothing, and says what the file would create and change (exit code 2, else 0), and what is in the
workspace and not in the file (drift). export_workspace writes such a file.

A bad file changes nothing; the error names the place. What may be saved but is probably not meant (a step that nobody
can reach) is printed as a warning.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("file", nargs="?", metavar="FILE", help="The description; - is standard input.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object with the ids and new keys.")
        parser.add_argument(
            "--customers", type=int, default=0, metavar="N", help="Make the customers user-0 to user-<N-1> as well."
        )
        parser.add_argument(
            "--plan",
            action="store_true",
            help="Change nothing, and say what would change: exit code 2 if something would, else 0.",
        )
        parser.add_argument(
            "--new-keys", action="store_true", help="Replace the file's API keys by fresh ones; the old ones stop."
        )

        parser.add_argument(
            "--confirm",
            action="store_true",
            help="Change connections although journeys could not send by them any more.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if not 0 <= options["customers"] <= _MOST_CUSTOMERS_MADE:
            raise CommandError(f"--customers must be from 0 to {_MOST_CUSTOMERS_MADE:,}.")
        try:
            with acting(command("seed_workspace")):
                seed = read_seed(read_object(str(_DEMO) if options["file"] is None else options["file"]))
                if options["plan"]:
                    self._tell(
                        plan_seed(seed=seed, now=timezone.now(), confirmed=options["confirm"]), as_json=options["json"]
                    )
                    return
                seeded = seed_workspace(
                    seed=seed,
                    crowd_size=options["customers"],
                    renew_keys=options["new_keys"],
                    confirmed=options["confirm"],
                    now=timezone.now(),
                )
        except Refusal as refusal:
            raise CommandError(printable(refusal.message)) from None
        in_words = map(printable, _in_words(seeded, crowd_size=options["customers"]))
        self.stdout.write(_as_json(seeded) if options["json"] else "\n".join(in_words))

    def _tell(self, plan: Plan, *, as_json: bool) -> None:
        in_words = map(printable, _plan_in_words(plan))
        self.stdout.write(_plan_as_json(plan) if as_json else "\n".join(in_words))
        if plan.does_something:
            sys.exit(_SOMETHING_WOULD_CHANGE)


def _plan_as_json(plan: Plan) -> str:
    told = {name: value for name, value in vars(plan).items() if name not in {"stay_closed", "warnings"}}
    return json.dumps(told | {"stayClosed": plan.stay_closed, "warnings": _warnings_as_json(plan.warnings)})


def _warnings_as_json(warnings: Sequence[DefinitionWarning]) -> list[dict[str, str]]:
    return [{"place": one.place, "message": one.message} for one in warnings]


def _plan_in_words(plan: Plan) -> list[str]:
    """Line by line."""
    return [
        *(f"create  {name}" for name in plan.create),
        *(f"change  {name}: {', '.join(fields)}" for name, fields in plan.change.items()),
        *(f"drift   {name}: not in the file, and left alone" for name in plan.drift),
        f"{len(plan.create)} to create, {len(plan.change)} to change, {plan.stay} stay as they are",
        *(f"Journey {key} stays closed, {why}" for key, why in plan.stay_closed.items()),
        *(f"Warning: {one.place}: {one.message}" for one in plan.warnings),
    ]


def _as_json(seeded: SeededWorkspace) -> str:
    return json.dumps(
        {
            "workspaceId": seeded.workspace.id,
            "apiKeys": seeded.api_keys,
            "apps": seeded.apps,
            "customers": seeded.customers,
            **seeded.defined,
            "stayClosed": seeded.stay_closed,
            "warnings": _warnings_as_json(seeded.warnings),
        }
    )


def _in_words(seeded: SeededWorkspace, *, crowd_size: int) -> list[str]:
    """Line by line."""
    lines = [f"Workspace {seeded.workspace.key}: {seeded.workspace.id}"]
    for name, secret in seeded.api_keys.items():
        lines.append(f"API key {name}: {secret or 'was there already; --new-keys replaces it'}")
    if any(seeded.api_keys.values()):
        lines.append("Keep the new API keys: they are shown this once.")
    lines += _ids("App", seeded.apps)
    if len(seeded.customers) <= _MOST_CUSTOMERS_LISTED:
        lines += _ids("Customer", seeded.customers)
    else:
        lines.append(f"{len(seeded.customers):,} customers of the file (--json prints their ids)")
    for section, ids in seeded.defined.items():
        lines += _ids(section.removesuffix("s").capitalize(), ids)
    lines += [f"Journey {key} stays closed, {why}" for key, why in seeded.stay_closed.items()]
    if seeded.stay_closed:
        lines.append("A file opens no journey that staff or a key has closed: activate it, in the admin or by a call.")
    if crowd_size:
        lines.append(
            f"{counted(crowd_size, 'customer')} from user-0 to user-{crowd_size - 1}, {seeded.crowd_made:,} made now"
        )
    lines += [f"Warning: {one.place}: {one.message}" for one in seeded.warnings]
    return lines


def _ids(kind: str, ids: Mapping[str, str]) -> list[str]:
    return [f"{kind} {name}: {id_}" for name, id_ in ids.items()]
