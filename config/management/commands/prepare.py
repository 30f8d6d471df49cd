"""`manage.py prepare`: creates what a development set-up lacks in its database."""

import json
import os
import secrets
from io import StringIO
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from config.local.demo import ADMIN, RECEIVER_HOST, Demo, PrintedWorkspace, read_demo, write_demo
from config.local.offer import OFFER, save_offer
from config.local.tour import MAILER, TOUR, tour_connection, tour_steps
from engage.audit.acting import acting, command
from engage.credentials.api_keys import digest
from engage.management.accounts import save_account
from engage.models import ApiKey, Workspace
from journeys.connection.resource import CONNECTIONS
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.journey.authoring import save_journey
from journeys.seeding.access import SeedApiKey, seed_api_keys

_KEY = "server"  # used by the first screen


class Command(BaseCommand):
    help = "Migrate; make the demo workspace and an administrator where they are missing, and note their secrets."

    def handle(self, *_args: Any, **_options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("prepare is for development: it makes a demo and an administrator. Nothing was done.")
        call_command("migrate", verbosity=0)
        known = read_demo()
        workspace = known["workspace"] if known else None
        if workspace is None or not Workspace.objects.filter(id=workspace["workspaceId"]).exists():
            workspace = _seed()
        password = _ensure_administrator(noted=known["adminPassword"] if known else None)
        stored = Workspace.objects.get(id=workspace["workspaceId"])
        if not _is_valid(workspace["apiKeys"][_KEY], stored):
            workspace["apiKeys"][_KEY] = _make_another_key(stored)
        if port := os.environ.get("DEMO_RECEIVER_PORT"):
            workspace["journeys"][TOUR] = _save_tour(stored, receiver=f"http://{RECEIVER_HOST}:{port}")
        with acting(command("prepare")):
            workspace["journeys"][OFFER] = save_offer(stored, app_id=workspace["apps"]["web"])
        secret = current_secrets([stored.id])[stored.id]
        write_demo(Demo(workspace=workspace, adminPassword=password, webhookSecret=secret))


def _seed() -> PrintedWorkspace:
    seeded = _seed_workspace()
    if None in seeded["apiKeys"].values():  # created by an earlier start whose notes are lost
        seeded = _seed_workspace("--new-keys")
    return seeded


def _seed_workspace(*options: str) -> PrintedWorkspace:
    printed = StringIO()
    call_command("seed_workspace", "--json", *options, stdout=printed)
    seeded: PrintedWorkspace = json.loads(printed.getvalue())
    return seeded


def _ensure_administrator(*, noted: str | None) -> str | None:
    """Returns the password; None if it was set elsewhere."""
    user = User.objects.filter(username=ADMIN).first()
    if user is None:
        fresh = secrets.token_urlsafe(12)
        user = User(username=ADMIN, is_staff=True, is_superuser=True)
        user.set_password(fresh)
        with acting(command("prepare")):
            save_account(user)
        return fresh
    return noted if noted and user.check_password(noted) else None


def _is_valid(secret: str | None, workspace: Workspace) -> bool:
    key = ApiKey.objects.filter(workspace=workspace, digest=digest(secret or "")).first()
    return key is not None and key.is_valid_at(timezone.now())


def _make_another_key(workspace: Workspace) -> str | None:
    """Uses its own name: the key that replaced the noted one may be in use."""
    another = SeedApiKey(name="make run")
    with acting(command("prepare")), transaction.atomic():
        return seed_api_keys(workspace=workspace, keys=[another], renew=True)[another.name]


def _save_tour(workspace: Workspace, *, receiver: str) -> str:
    """Creates the tour and its connection, or points them at the receiver's current address; returns the tour's id."""
    with acting(command("prepare")):
        CONNECTIONS.save(
            workspace=workspace,
            key=MAILER,
            now=timezone.now(),
            name="The receiver of make run",
            channel="email",
            definition=tour_connection(receiver=receiver),
        )
        saved = save_journey(
            workspace=workspace,
            key=TOUR,
            now=timezone.now(),
            name="Tour of every step",
            allow_reenrollment=True,
            steps=tour_steps(receiver=receiver),
        )
    return saved.journey.id
