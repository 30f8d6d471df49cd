"""Staff and their groups, in the clothes of the other pages."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class StaffAdmin(UserAdmin[User], ModelAdmin):  # type: ignore[misc] # unfold narrows what Django declares
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


@admin.register(Group)
class StaffGroupAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc] # unfold narrows what Django declares
    """Groups carry the permissions."""
