"""Django's admin as an app of this service."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite


class Site(UnfoldAdminSite):
    """The pages of staff."""

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Found out only by the pages that show it: each one has it in its context, and most show the sidebar."""
        listed = super().get_app_list
        return SimpleLazyObject(lambda: listed(request, app_label))


class AdminAppConfig(SimpleAdminConfig):
    """The admin's pages are loaded only by config/urls.py, so in web processes, and when Django checks them."""

    default_site = "config.admin_app.Site"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(_check_pages, checks.Tags.admin)


def _check_pages(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """Loads the pages first: the order in which Django runs its checks is arbitrary."""
    admin.autodiscover()
    found: list[checks.CheckMessage] = check_admin_app(app_configs, **options)
    return found
