"""Inviting a colleague: an account with a role in a workspace, and a link to set its password, which is shown once."""

from django import forms
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from engage.admin.rights.reach import reachable
from engage.audit.facts import facts_of
from engage.audit.recording import record, saved
from engage.models import Membership, Workspace


class InviteForm(forms.Form):
    """Who, where and as what. The e-mail address is the name to log in with."""

    name = forms.CharField(max_length=150, required=False, widget=UnfoldAdminTextInputWidget)
    email = forms.EmailField(label="E-mail", max_length=150, widget=UnfoldAdminEmailInputWidget)
    role = forms.ChoiceField(choices=Membership.Role.choices, initial="support", widget=UnfoldAdminSelectWidget)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.POST or None)
        own = reachable(Workspace.objects.order_by("name"), request=request)
        self.fields["workspace"] = forms.ModelChoiceField(own, widget=UnfoldAdminSelectWidget, empty_label=None)

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"]).lower()

    def clean(self) -> None:
        said = self.cleaned_data
        known = Membership.objects.filter(user__username=said.get("email"), workspace=said.get("workspace"))
        there = known.select_related("user").first()
        if there and not _awaits_a_password(there.user):
            self.add_error("email", "They are a member already.")


@transaction.atomic
def invite(form: InviteForm) -> tuple[User, bool]:
    """The account with its role, and whether it needs a link: one that somebody can log in to gets the role alone."""
    said = form.cleaned_data
    user, is_new = User.objects.get_or_create(
        username=said["email"], defaults={"email": said["email"], "first_name": said["name"], "is_staff": True}
    )
    if is_new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        record(*saved(user, before=None, after=facts_of(user)))
    elif not user.is_staff:
        before = facts_of(user)
        user.is_staff = True
        user.save(update_fields=["is_staff"])
        record(*saved(user, before=before, after=facts_of(user)))
    there = Membership.objects.filter(user=user, workspace=said["workspace"]).first()
    role_before = facts_of(there) if there else None
    membership = there or Membership(user=user, workspace=said["workspace"])
    membership.role = said["role"]
    membership.save()
    record(*saved(membership, before=role_before, after=facts_of(membership)))
    return user, _awaits_a_password(user)


def _awaits_a_password(user: User) -> bool:
    """Whether nobody could ever log in to the account: the link that it was sent may be lost, or too old."""
    return user.is_active and not user.has_usable_password() and user.last_login is None


def why_no_login(user: User) -> str:
    """Why nobody can log in to the account; "" if somebody can."""
    if not user.is_active:
        return "the account is not active"
    if not user.is_staff:
        return "the account is not staff"
    return "" if user.has_usable_password() or user.last_login else "no password is set yet"
