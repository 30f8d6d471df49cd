"""`manage.py identity_token`: a token to try an app's identity with, signed by one of its shared secrets."""

import time
from argparse import ArgumentParser
from typing import Any

import jwt
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from django.utils import timezone

from bridge.identity.tokens import LONGEST_LIFE
from engage.audit.acting import acting, command
from engage.audit.recording import change, record
from engage.models import AuditEntry, IdentityKey

_LONGEST = int(LONGEST_LIFE.total_seconds())


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = "Print an identity token for a person. Only keys of HS256 can sign: of others no secret is known."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("app", metavar="APP_ID")
        parser.add_argument("sub", metavar="EXTERNAL_ID", help="The person's external_id.")
        parser.add_argument("--kid", help="The key; by default one that has not ended.")
        parser.add_argument("--email")
        parser.add_argument("--phone")
        parser.add_argument("--user-id", action="store_true", help="What is named is the person's userId.")
        parser.add_argument("--seconds", type=int, default=3600, help=f"How long it is valid; at most {_LONGEST}.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not 1 <= options["seconds"] <= _LONGEST:
            raise CommandError(f"--seconds must be from 1 to {_LONGEST}.")
        keys = IdentityKey.objects.filter(app=options["app"], alg=IdentityKey.Algorithm.HS256).order_by("-id")
        lasting = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        key = keys.filter(lasting if options["kid"] is None else Q(kid=options["kid"])).first()
        if key is None:
            raise CommandError("The app has no such key of the algorithm HS256.")
        claims = {"sub": options["sub"], "exp": int(time.time()) + options["seconds"], "aud": key.app_id}
        claims |= {name: options[name] for name in ("email", "phone") if options[name] is not None}
        if options["user_id"]:
            claims["idt"] = "userId"
        with acting(command("identity_token")):
            record(change(AuditEntry.Action.LOOKED_AT, key, note="A token was signed with it."))
        self.stdout.write(jwt.encode(claims, key.secret, algorithm="HS256", headers={"kid": key.kid}))
