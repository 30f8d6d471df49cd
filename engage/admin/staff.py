"""Staff accounts and groups, styled like the other admin pages."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import DateTimeField
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from engage.admin.edits import EditedFields

admin.site.unregister(User)
admin.site.unregister(Group)


class SuperusersChange(admin.ModelAdmin[Any]):
    """Only superusers may change accounts and groups; others may at most view them.

    Under Django's own rules, staff who may change users can make themselves a superuser, or set a superuser's password.
    Staff who may change groups can likewise grant themselves any permission.
    """

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_superuser(request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return _is_superuser(request) and super().has_delete_permission(request, obj)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


@admin.register(User)
class StaffAdmin(SuperusersChange, UserAdmin[User], ModelAdmin, EditedFields):  # type: ignore[misc] # unfold narrows what Django declares
    warn_unsaved_form = True
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, DateTimeField):
            kwargs["help_text"] = "In UTC."
        return super().formfield_for_dbfield(db_field, request, **kwargs)


@admin.register(Group)
class StaffGroupAdmin(SuperusersChange, GroupAdmin, ModelAdmin, EditedFields):  # type: ignore[misc] # unfold narrows what Django declares
    """Groups carry the permissions."""

    warn_unsaved_form = True
