"""Metrics of how long requests take, by route."""

import time

from django.http import HttpRequest, HttpResponse

from engage.process.middleware import Middleware
from engage.process.request_log import METHODS
from engage.redis.metric_counters import REQUESTS, metric_counters


class RequestTimesMiddleware(Middleware):
    """Counts every request with its time until the answer begins, at a cost of some microseconds.

    Labels have few values, whatever callers send: the path is its route's pattern, and unknown methods share one value.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        metric_counters.observe(
            REQUESTS,
            request.method if request.method in METHODS else "other",
            match.route if match else "none",
            str(response.status_code),
            seconds=time.perf_counter() - started,
        )
        return response
