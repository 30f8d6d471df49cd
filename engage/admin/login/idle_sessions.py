"""Sessions of staff end after SESSION_COOKIE_AGE without a request, not after that time in all."""

import time
from http import HTTPStatus
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse

REFRESHED_SECONDS = 300  # a session is written this often at most, instead of by every request
_REFRESHED = "refreshed_at"


class IdleSessionMiddleware(SessionMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        session = request.session
        answered = response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR  # else the database may be away
        if answered and session.accessed and SESSION_KEY in session:
            now = int(time.time())
            if now - session.get(_REFRESHED, 0) >= REFRESHED_SECONDS:
                session[_REFRESHED] = now
        return super().process_response(request, response)


def _begin(sender: Any, request: HttpRequest, **kwargs: Any) -> None:
    request.session[_REFRESHED] = int(time.time())


user_logged_in.connect(_begin)
