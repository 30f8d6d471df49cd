"""The floor: views that do nothing, behind the same web server, middleware, request log and envelope as the others."""

from django.urls import path
from rest_framework.request import Request
from rest_framework.views import APIView

from config.monitoring.health import livez
from engage.http.envelope import JsonAnswer, success


class NothingView(APIView):
    """Answers in the envelope; reads no body, asks nobody."""

    def post(self, request: Request) -> JsonAnswer:
        return success("Nothing was done.", {"done": False})


urlpatterns = [path("nothing", NothingView.as_view()), path("livez", livez)]
