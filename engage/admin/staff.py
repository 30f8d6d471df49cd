"""Staff and their groups, in the clothes of the other pages."""

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


@admin.register(User)
class StaffAdmin(UserAdmin[User], ModelAdmin, EditedFields):  # type: ignore[misc] # unfold narrows what Django declares
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, DateTimeField):
            kwargs["help_text"] = "In UTC."
        return super().formfield_for_dbfield(db_field, request, **kwargs)


@admin.register(Group)
class StaffGroupAdmin(GroupAdmin, ModelAdmin, EditedFields):  # type: ignore[misc] # unfold narrows what Django declares
    """Groups carry the permissions."""
