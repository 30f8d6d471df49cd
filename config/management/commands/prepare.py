"""`manage.py prepare`: what a development set-up needs in its database, made where it is missing."""

import json
import os
import secrets
from io import StringIO
from typing import Any

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils import timezone

from config.demo import ADMIN, Demo, SeededWorkspace, read_demo, write_demo
from config.tour import TOUR, tour_steps
from engage.models import Workspace
from journeys.design import save_journey
from journeys.webhooks.signing_secrets import current_secrets


class Command(BaseCommand):
    help = "Migrate; make the demo workspace and an administrator where they are missing, and note their secrets."

    def handle(self, *_args: Any, **_options: Any) -> None:
        call_command("migrate", verbosity=0)
        known = read_demo()
        workspace = known["workspace"] if known else None
        if workspace is None or not Workspace.objects.filter(id=workspace["workspaceId"]).exists():
            workspace = _seed()
        password = known["adminPassword"] if known else None
        if not User.objects.filter(username=ADMIN).exists():
            password = secrets.token_urlsafe(12)
            User.objects.create_superuser(ADMIN, password=password)
        stored = Workspace.objects.get(id=workspace["workspaceId"])
        if port := os.environ.get("DEMO_RECEIVER_PORT"):
            workspace["journeys"][TOUR] = _save_tour(stored, receiver=f"http://127.0.0.1:{port}")
        secret = current_secrets([stored.id])[stored.id]
        write_demo(Demo(workspace=workspace, adminPassword=password, webhookSecret=secret))


def _seed() -> SeededWorkspace:
    seeded = _seed_workspace()
    if None in seeded["apiKeys"].values():  # made by an earlier start whose notes are lost
        seeded = _seed_workspace("--new-keys")
    return seeded


def _seed_workspace(*options: str) -> SeededWorkspace:
    printed = StringIO()
    call_command("seed_workspace", "--json", *options, stdout=printed)
    seeded: SeededWorkspace = json.loads(printed.getvalue())
    return seeded


def _save_tour(workspace: Workspace, *, receiver: str) -> str:
    """Makes the tour, or lets it call where the receiver is this time; its id."""
    saved = save_journey(
        workspace=workspace,
        key=TOUR,
        now=timezone.now(),
        name="Tour of every step",
        allow_reenrollment=True,
        steps=tour_steps(receiver=receiver),
    )
    return saved.journey.id
