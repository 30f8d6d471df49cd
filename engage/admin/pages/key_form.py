"""The form of an API key: what it may do, for which journeys, and from where."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from engage.admin.rights.key_rights import why_no_key
from engage.database.table import tables
from engage.models import ApiKey, Workspace
from engage.notations.networks import tidy_network
from engage.scopes import Scope

_ALL = "all"
_RIGHTS = ("scopes", "journeys", "networks")


class ScopesField(forms.MultipleChoiceField):
    """Some scopes, or all: then None is stored."""

    def __init__(self) -> None:
        told = [(scope.value, f"{scope.value} ({scope.label})") for scope in Scope]
        super().__init__(
            choices=[(_ALL, "all (everything, also what is added later)"), *told],
            widget=UnfoldAdminCheckboxSelectMultipleWidget,
            help_text="What the key may do.",
        )

    def prepare_value(self, value: Any) -> Any:
        return [_ALL] if value is None else value

    def clean(self, value: Any) -> Any:
        chosen = super().clean(value)
        return None if _ALL in chosen else chosen

    def has_changed(self, initial: Any, data: Any) -> bool:
        return set(self.prepare_value(initial)) != set(data or [])


class LinesField(forms.CharField):
    """Text with one value per line; None if there is none."""

    def __init__(self, *, help_text: str, placeholder: str) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": placeholder})
        super().__init__(widget=widget, help_text=help_text, required=False)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = dict.fromkeys(line.strip() for line in str(value or "").splitlines())
        return [self.tidy(line) for line in lines if line] or None

    def tidy(self, line: str) -> str:
        """The value in its usual spelling. Raises ValidationError."""
        return line

    def run_validators(self, value: Any) -> None:
        """Runs none: a text field's validators do not fit a list."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool(self.to_python(data) != initial)
        except ValidationError:
            return True


class NetworksField(LinesField):
    def tidy(self, line: str) -> str:
        try:
            return tidy_network(line)
        except ValueError as error:
            raise ValidationError(f"{line} is no network: {error}.") from None


class ApiKeyForm(forms.ModelForm[ApiKey]):
    """Refuses what gives the key more than its editor may do."""

    request: ClassVar[HttpRequest]
    scopes = ScopesField()
    journeys = LinesField(
        help_text="The journeys that the key is for, one per line by key or id; empty: all of them.",
        placeholder="welcome",
    )
    networks = NetworksField(
        help_text="The networks from which the key may be used, one per line; empty: all of them.",
        placeholder="203.0.113.0/24",
    )

    class Meta:
        model = ApiKey
        fields = ("workspace", "name", *_RIGHTS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if ids := self.instance.journeys:
            keys = dict(self._own_journeys(self.instance.workspace).filter(id__in=ids).values_list("id", "key"))
            self.initial["journeys"] = [keys.get(one, one) for one in ids]

    def clean(self) -> None:
        super().clean()
        if names := self.cleaned_data.get("journeys"):
            self.cleaned_data["journeys"] = self._ids_of(names)
        is_new = "workspace" in self.fields
        if (is_new or {*_RIGHTS} & {*self.changed_data}) and "scopes" in self.cleaned_data:
            why_not = why_no_key(self.request, self.cleaned_data["scopes"])
            if why_not:
                self.add_error("scopes", why_not)

    def _ids_of(self, names: list[str]) -> list[str]:
        """The ids of these journeys, which are named by key or id. One that was deleted meanwhile may stay."""
        own = self._own_journeys(self.cleaned_data.get("workspace") or self.instance.workspace_id)
        found = own.filter(Q(key__in=names) | Q(id__in=names)).values_list("id", "key")
        ids = {one: one for one in self.instance.journeys or ()} | {
            name: id_ for id_, key in found for name in (id_, key)
        }
        if unknown := [name for name in names if name not in ids]:
            self.add_error("journeys", f"The workspace has no journey {', '.join(unknown)}.")
        return list(dict.fromkeys(ids[name] for name in names if name in ids))

    def _own_journeys(self, workspace: Workspace | str | None) -> QuerySet[Any]:
        model = next(model for model, table in tables() if table.limits_keys)
        return QuerySet(model).filter(workspace=workspace)
