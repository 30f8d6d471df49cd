"""In-app messages: what their buttons and forms may write, and what became of it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.views import ChangeList

from bridge.admin.message_form import MessageForm
from bridge.admin.message_page import learned_of, may_learn, page_of
from bridge.messages.figures import COUNTED_AT_MOST, recent_figures
from bridge.messages.saving import MESSAGES
from bridge.models import Interaction, Message
from engage.admin.parts.columns import badge, may_view
from engage.admin.parts.definitions import DefinitionAdmin
from engage.admin.parts.filters import ChoicesDropdownFilter
from engage.admin.parts.panels import Panel, show_on
from engage.models import Workspace

_STATUS = {"active": "success", "draft": "info", "archived": ""}
_LEARN = "learn"  # in the address of a message's page
_OF_INTERACTIONS = {"clicks", "refusals"}


class _WithFigures(ChangeList):
    """Reads the figures of all messages of a page at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        if _OF_INTERACTIONS & {*self.list_display}:
            figures = recent_figures(self.result_list, now=timezone.now())
            for message in self.result_list:
                vars(message)["recent"] = figures[message.pk]


@admin.register(Message)
class MessageAdmin(DefinitionAdmin):
    form, resource = MessageForm, MESSAGES
    reads_people = True
    list_display = ("key", "status", "workspace", "revision", "clicks", "refusals", "updated_at")
    colours: ClassVar = {"status": _STATUS}
    list_filter = (("status", ChoicesDropdownFilter),)
    search_fields = ("key", "=id")
    search_help_text = "Key or id"
    autocomplete_fields = ("workspace",)
    fieldsets = (
        (None, {"fields": ("workspace", ("key", "status"))}),
        ("What it may write", {"fields": ("actions", "forms")}),
        ("What it shows", {"fields": ("content",)}),
        (None, {"fields": (("id", "revision"), ("created_at", "updated_at"))}),
    )
    written_once = ("workspace", "key")
    change_form_outer_before_template: Any = "bridge/admin/message_usage.html"
    change_form_before_template: Any = "bridge/admin/learned.html"
    change_form_outer_after_template: Any = "bridge/admin/message.html"

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        if name in _OF_INTERACTIONS and not may_view(Interaction, request=request):
            return None
        return super().shown_as(name, request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        return _WithFigures

    @display(description="clicks in 7 days")
    def clicks(self, message: Message) -> str:
        """How often its buttons and forms were used."""
        return up_to(vars(message)["recent"].clicks)

    @display(description="refusals in 7 days")
    def refusals(self, message: Message) -> SafeString | str:
        """Of apps that enforce, and what those that report would have refused."""
        recent = vars(message)["recent"]
        told = [f"{up_to(recent.reported)} reported"] if recent.reported else []
        if recent.refused is None:
            told.append("refused: not known while Redis is away")
        elif recent.refused:
            told.append(f"{recent.refused:,} refused")
        return badge(", ".join(told), "warning") if told else "0"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        message, now = context["original"], timezone.now()
        if message is not None:
            context |= page_of(message, request=request, now=now)
            context["may_learn"] = may_learn(request) and self.has_change_permission(request, message)
            if context["may_learn"] and _LEARN in request.GET and request.method == "GET":
                proposed, context["diff"] = learned_of(message, now=now)
                context["adminform"].form.initial |= proposed
        return super().render_change_form(request, context, *args, **kwargs)


def up_to(number: int) -> str:
    """A number that was counted up to COUNTED_AT_MOST."""
    return f"{number:,}+" if number >= COUNTED_AT_MOST else f"{number:,}"


show_on(Workspace, Panel(model=Message, by="workspace", columns=("__str__", "status", "revision", "updated_at")))
