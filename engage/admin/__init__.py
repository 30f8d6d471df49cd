"""The admin's pages for workspaces and access, and what the pages of every app share.

1. parts/: what pages are made of; rights/: who may do what.
2. login/: who gets in; pages/: workspaces, keys, staff, the audit.
3. layers.py: the middlewares of all pages; error_pages.py: what is shown where something fails.
"""

from django.contrib import admin

from engage.admin.login.known_devices import remembering
from engage.admin.login.passwords import LoginForm
from engage.admin.login.second_factor import pages as second_factor
from engage.admin.pages import audit, memberships, staff, workspaces
from engage.admin.pages import keys as access
from engage.admin.parts.filters import ChoicesView

__all__ = ["access", "audit", "memberships", "second_factor", "staff", "workspaces"]

# Not through Unfold's setting for it, which is imported before the models are ready.
admin.site.login_form = LoginForm
admin.site.login = remembering(admin.site.login)  # type: ignore[method-assign]
admin.site.password_change = staff.change_own_password  # type: ignore[assignment, method-assign]
# Django has no setting for this one.
admin.site.autocomplete_view = ChoicesView.as_view(admin_site=admin.site)  # type: ignore[assignment, method-assign]
