"""What stands on an app's page about identity: what would have been refused in seven days, and what was."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest

from bridge.identity.figures import COUNTED_AT_MOST, PAGES_OF_AT_MOST, IdentityFigures, identity_figures
from bridge.models import Interaction
from engage.admin.columns import may_view
from engage.models import App

WHY = {
    "missing": "no token, and the person needs one",
    "expired": "the token had expired",
    "invalid": "the token is not valid",
    "mismatch": "the token is of somebody else, or does not allow what was written",
}


def identity_section(app: App, *, request: HttpRequest, now: datetime) -> dict[str, Any]:
    """Nothing for staff who may not view interactions, nor while people are who the page says."""
    if app.identity == App.Identity.OFF or not may_view(Interaction, request=request):
        return {}
    figures = identity_figures(app, now=now)
    refused = figures.refused or {}
    reasons = [reason for reason in WHY if reason in figures.unproven or reason in refused]
    return {
        "identity": figures,
        "in_words": _in_words(figures),
        "reasons": {
            "headers": ["Why", "Would have been refused", "Was refused"],
            "rows": [
                [WHY[reason], f"{figures.unproven.get(reason, 0):,}", f"{refused.get(reason, 0):,}"]
                for reason in reasons
            ],
        },
        "origins": {
            "headers": ["Page", "Why", "Calls"],
            "rows": [
                [one.origin or "no page", WHY.get(one.reason, one.reason), f"{one.calls:,}"] for one in figures.origins
            ],
        },
        "pages_of_at_most": f"{PAGES_OF_AT_MOST:,}",
    }


def _in_words(figures: IdentityFigures) -> str:
    of = f"the newest {COUNTED_AT_MOST:,}" if figures.is_partial else f"{figures.calls:,}"
    calls = "call" if figures.calls == 1 else "calls"
    return f"In the last seven days, {figures.would_be_refused:,} of {of} {calls} would have been refused."
