"""The admin's pages for workspaces and access, and what the pages of every app share."""

from django.contrib import admin

from engage.admin import access, staff, workspaces
from engage.admin.login import LoginForm

__all__ = ["access", "staff", "workspaces"]

# Not by unfold's setting for it: that is imported before the models are ready to be registered.
admin.site.login_form = LoginForm
