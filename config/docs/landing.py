"""Addresses that only point elsewhere."""

from http import HTTPStatus
from typing import ClassVar

from django.conf import settings
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from rest_framework.request import Request
from rest_framework.response import Response

from engage.http.envelope import success
from engage.http.parsing import PageNegotiation, asks_for_page
from engage.http.views import ApiView


class LandingView(ApiView):
    """`GET /`: where the documentation, the schema and the admin are; a page for browsers, JSON for all others."""

    schema = None
    content_negotiation_class = PageNegotiation

    def get(self, request: Request) -> HttpResponseBase:
        places = {"documentation": "/api/v1/docs", "schema": "/api/v1/schema", "admin": "/admin/"}
        answer: HttpResponseBase = success("This is Engage.", places)
        if asks_for_page(request):
            demo = "" if settings.PRODUCTION else "/demo"
            answer = render(request._request, "config/landing.html", {**places, "demo": demo})
            answer["Content-Security-Policy"] = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'"
        patch_vary_headers(answer, ["Accept"])
        return answer


class ElsewhereView(ApiView):
    """Redirects an address with one slash too many or too few; without a body, because that would be HTML."""

    schema = None
    content_negotiation_class = PageNegotiation
    address: ClassVar[str] = ""

    def get(self, request: Request) -> Response:
        return Response(status=HTTPStatus.MOVED_PERMANENTLY, headers={"Location": self.address})
