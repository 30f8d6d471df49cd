"""The choices that an input loads while staff type in it."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView

from engage.admin.columns import choice_label


class ChoicesView(AutocompleteJsonView):
    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """Asks for no workspace by itself: the admins of records that have one fetch it for the whole page."""
        found = super().serialize_result(obj, to_field_name)
        return {**found, "text": choice_label(obj, request=self.request)}
