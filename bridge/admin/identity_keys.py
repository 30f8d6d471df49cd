"""The keys that verify an app's identity tokens. What was entered once is shown to nobody again."""

import secrets
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from engage.admin.parts.columns import badge, page_url
from engage.admin.parts.filters import AutocompleteSelectFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.credentials.identity_keys import MAX_KEYS, InvalidIdentityKey, verifying_key
from engage.models import App, IdentityKey

_MADE_BYTES = 32
_HS256 = IdentityKey.Algorithm.HS256


class IdentityKeyForm(forms.ModelForm[IdentityKey]):
    """Makes a secret where one is needed and none was entered; `made` is that secret."""

    secret = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "spellcheck": "false", "autocomplete": "off"}),
        help_text="The secret that your server shares (at least 32 bytes), or its public key in PEM. With HS256 this "
        "may stay empty: a secret is made, and shown once.",
    )
    made = ""

    class Meta:
        model = IdentityKey
        fields = ("app", "kid", "alg", "secret", "expires_at")

    def clean(self) -> None:
        super().clean()
        if "secret" not in self.fields or self.errors.keys() & {"app", "alg"}:
            return
        alg, secret = self.cleaned_data["alg"], self.cleaned_data["secret"].replace("\r\n", "\n")
        if alg == _HS256 and not secret:
            secret = self.made = secrets.token_urlsafe(_MADE_BYTES)
        try:
            verifying_key(alg, secret)
        except InvalidIdentityKey as invalid:
            self.add_error("secret", f"The {'secret' if alg == _HS256 else 'key'} {invalid}")
        self.cleaned_data["secret"] = secret
        self._refuse_too_many(self.cleaned_data["app"])

    def _refuse_too_many(self, app: App) -> None:
        """The app's row is locked, so that of two who add a key at once one waits for the other."""
        App.objects.select_for_update(no_key=True).get(pk=app.pk)
        if IdentityKey.objects.filter(app=app).count() >= MAX_KEYS:
            raise ValidationError(f"The app has {MAX_KEYS} keys, which is all it may have. Delete one that has ended.")


@admin.register(IdentityKey)
class IdentityKeyAdmin(RecordAdmin):
    """Of a key only its end can change: another secret is another key."""

    form = IdentityKeyForm
    reads_people = True  # whoever has the key proves to be anybody, and reads what is delivered to them
    list_display = ("kid", "app", "alg", "validity", "workspace", "expires_at", "created_at")
    list_filter = (("app", AutocompleteSelectFilter),)
    search_fields = ("kid", "=id")
    search_help_text = "Key id (kid) or id"
    autocomplete_fields = ("app",)
    fields = ("app", ("kid", "alg"), "secret", "expires_at", "validity", "workspace", ("id", "created_at"))
    written_once = ("app", "kid", "alg", "secret")

    def may_write(self, name: str, request: HttpRequest) -> bool:
        return name != "workspace"  # it is the app's

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        return None if name == "secret" else super().shown_as(name, request)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "expires_at":
            kwargs["help_text"] = "In UTC; empty: it does not end. From then on, no token of this key counts."
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @display(description="status")
    def validity(self, key: IdentityKey) -> SafeString:
        """Whether tokens of this key count now."""
        ended = key.expires_at is not None and key.expires_at <= timezone.now()
        return badge("ended", "warning") if ended else badge("valid", "success")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        obj.workspace_id = obj.app.workspace_id
        vars(obj)["made"] = form.made
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Shows a secret that was made here, once. A message would leave it in a cookie or in the database."""
        if not vars(obj)["made"]:
            return super().response_add(request, obj, post_url_continue)
        return self.page(
            request,
            "engage/admin/new_key.html",
            title="The new identity key",
            key=obj,
            of=obj.app,
            secret=vars(obj)["made"],
            done=page_url(obj.app),
        )


show_on(
    App,
    Panel(model=IdentityKey, by="app", columns=("__str__", "alg", "validity", "expires_at"), title="identity keys"),
)
