"""Addresses that only point elsewhere."""

from http import HTTPStatus
from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from engage.http.envelope import success
from engage.http.views import ApiView


class LandingView(ApiView):
    """`GET /`: where the documentation, the schema and the admin are."""

    schema = None

    def get(self, request: Request) -> Response:
        return success(
            "This is Engage.",
            {"documentation": "/api/v1/docs", "schema": "/api/v1/schema", "admin": "/admin/"},
        )


class ElsewhereView(ApiView):
    """Redirects an address with one slash too many or too few; without a body, because that would be HTML."""

    schema = None
    address: ClassVar[str] = ""

    def get(self, request: Request) -> Response:
        return Response(status=HTTPStatus.MOVED_PERMANENTLY, headers={"Location": self.address})
