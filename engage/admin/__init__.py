"""The admin's pages for workspaces and access, and what the pages of every app share."""

from engage.admin import access, staff, workspaces

__all__ = ["access", "staff", "workspaces"]
