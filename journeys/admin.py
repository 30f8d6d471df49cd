"""The pages of staff about journeys: each thing has its own, which is found where it is called page.py."""

from importlib import import_module
from pathlib import Path

from journeys.delivery import failures, in_app, webhook_secrets
from journeys.delivery import hosts as steered
from journeys.enrollment import history, panels
from journeys.overview import dashboard
from journeys.trigger import jobs_page as jobs

for _page in sorted(Path(__file__).parent.glob("*/page.py")):
    import_module(f"{__package__}.{_page.parent.name}.page")

__all__ = [
    "dashboard",
    "failures",
    "history",
    "in_app",
    "jobs",
    "panels",
    "steered",
    "webhook_secrets",
]
