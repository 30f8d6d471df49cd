"""What a caller accepts: anything, if the header says nothing."""

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request

_ANYTHING = "*/*"


class LenientNegotiation(DefaultContentNegotiation):
    """Takes an empty `Accept` as none, and a lone `*`, which Java's own client sends, as `*/*`."""

    def get_accept_list(self, request: Request) -> list[str]:
        if not request.headers.get("Accept", _ANYTHING).strip(" \t,"):
            return [_ANYTHING]
        accepted = super().get_accept_list(request)
        return [_ANYTHING if one.partition(";")[0].strip() == "*" else one for one in accepted]
