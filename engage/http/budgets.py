"""The budget of processor time that a request has for what tenants have written."""

from django.http import HttpRequest, HttpResponse

from engage.process.budget import CALL, Budget
from engage.process.middleware import Middleware


class BudgetMiddleware(Middleware):
    """Opens a call's budget around whatever the request leads to."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with Budget(CALL):
            return self.get_response(request)
