"""The admin's pages for workspaces and access, and what the pages of every app share."""

from django.contrib import admin

from engage.admin import access, audit, memberships, staff, workspaces
from engage.admin.filters import ChoicesView
from engage.admin.known_devices import remembering
from engage.admin.login import LoginForm
from engage.admin.second_factor import pages as second_factor

__all__ = ["access", "audit", "memberships", "second_factor", "staff", "workspaces"]

# Not through Unfold's setting for it, which is imported before the models are ready.
admin.site.login_form = LoginForm
admin.site.login = remembering(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = staff.telling_of_passwords(admin.site.password_change)  # type: ignore[assignment, method-assign]
# Django has no setting for this one.
admin.site.autocomplete_view = ChoicesView.as_view(admin_site=admin.site)  # type: ignore[assignment, method-assign]
