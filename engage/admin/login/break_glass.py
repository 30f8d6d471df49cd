"""The page behind the link of `manage.py break_glass`."""

from django.contrib.auth import login
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET

from engage.audit.recording import change, record
from engage.credentials.break_glass import taken
from engage.models import AuditEntry


@sensitive_variables("token")
@never_cache
@require_GET
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Logs in whom the link is for, once; a second factor is asked for afterwards, as always."""
    with transaction.atomic():
        user = taken(token)
        if user is not None:
            login(request, user)  # and the link holds no more
            record(change(AuditEntry.Action.LOGGED_IN, user, note="With the link of break_glass."))
    if user is None:
        raise PermissionDenied("This link holds no more. Make another one: manage.py break_glass")
    return redirect("admin:index")
