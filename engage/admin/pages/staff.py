"""Staff accounts and groups, styled like the other admin pages."""

from collections.abc import Iterable
from typing import Any, cast

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission, User
from django.contrib.auth.views import PasswordChangeView
from django.db.models import QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.admin import ModelAdmin
from unfold.forms import AdminOwnPasswordChangeForm, AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from engage.admin.login.new_passwords import KeepsPassword
from engage.admin.login.openid import PREFIX
from engage.admin.parts.edits import CheckedEdits
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record
from engage.models import AuditEntry, Membership

admin.site.unregister(User)
admin.site.unregister(Group)


class _OwnPasswordForm(KeepsPassword, AdminOwnPasswordChangeForm):
    pass


class _PasswordForm(KeepsPassword, AdminPasswordChangeForm):
    pass


class _NewAccountForm(UserCreationForm):
    """`digest` is the password's, made before the transaction in which Django's page makes the account."""

    digest = ""

    def set_password_and_save(self, user: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.cleaned_data["set_usable_password"]:
            return super().set_password_and_save(user, *args, **kwargs)
        user.password = self.digest
        return user


def change_own_password(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """The page where staff change their own password."""
    shown = {**admin.site.each_context(request), **(extra_context or {})}
    done = reverse("admin:password_change_done")
    page = PasswordChangeView.as_view(form_class=_OwnPasswordForm, success_url=done, extra_context=shown)
    return cast("HttpResponse", page(request))


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


class _PermissionsField(ModelMultipleChoiceField[Permission]):
    """Names permissions without their app and model, which their names repeat, so that each fits into its list."""

    def label_from_instance(self, obj: Permission) -> str:
        return obj.name


class OfferedPermissions(admin.ModelAdmin[Any]):
    """Offers only the permissions that matter in this admin; Django's admins offer all of them."""

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs |= {"form_class": _PermissionsField, "queryset": _offered_permissions()}
        return super().formfield_for_manytomany(db_field, request, **kwargs)


def _offered_permissions() -> QuerySet[Permission]:
    """Those of the apps that have pages here. A model without a page of its own may be shown on another's."""
    with_page = filter(admin.site.is_registered, apps.get_models())
    return Permission.objects.filter(content_type__app_label__in={model._meta.app_label for model in with_page})


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


@admin.register(User)
class StaffAdmin(SuperusersChange, OfferedPermissions, UserAdmin[User], ModelAdmin, CheckedEdits):  # type: ignore[misc] # unfold narrows what Django declares
    warn_unsaved_form = True
    form = UserChangeForm
    add_form = _NewAccountForm
    change_password_form = _PasswordForm
    delete_confirmation_template = "engage/admin/delete_user.html"
    readonly_fields = ("last_login", "date_joined")

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method == "POST" and self.has_add_permission(request):
            vars(request)["digest"] = make_password(request.POST.get("password1"))
        return super().add_view(request, *args, **kwargs)

    def save_form(self, request: HttpRequest, form: Any, change: Any) -> Any:
        if not change:
            form.digest = vars(request)["digest"]
        return super().save_form(request, form, change)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """An account that is made here is for the admin, so it may log in."""
        obj.is_staff = obj.is_staff or not change
        super().save_model(request, obj, form, change)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        """With their memberships, which go along: a workspace's audit tells of these, and of no account."""
        accounts = list(queryset)
        super().log_deletions(request, accounts)
        gone = Membership.objects.filter(user__in=accounts).select_related("user", "workspace")
        record(*(change(AuditEntry.Action.DELETED, one, changes=changes_between(facts_of(one), {})) for one in gone))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Of members, roles say what they may do: their page has no list of permissions, which count no more."""
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not Membership.objects.filter(user=obj).exists():
            return fieldsets
        hidden = {"groups", "user_permissions"}
        return [
            (title, {**options, "fields": [name for name in options["fields"] if name not in hidden]})
            for title, options in fieldsets
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The name of an account that an OpenID Connect provider vouches for says whose it is."""
        fixed = super().get_readonly_fields(request, obj)
        return (*fixed, "username") if obj is not None and obj.username.startswith(PREFIX) else fixed


@admin.register(Group)
class StaffGroupAdmin(SuperusersChange, OfferedPermissions, GroupAdmin, ModelAdmin, CheckedEdits):  # type: ignore[misc] # unfold narrows what Django declares
    """Groups carry the permissions."""

    delete_confirmation_template = "engage/admin/delete_group.html"
    warn_unsaved_form = True
