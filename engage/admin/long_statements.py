"""What staff ask for may take long: to delete a journey, or to search among a million people."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from engage.database.statement_limit import longer_statements


class LongStatementsMiddleware:
    """Lets the admin's statements take longer than those of calls."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/"):
            return self.get_response(request)
        with longer_statements():
            return self.get_response(request)
