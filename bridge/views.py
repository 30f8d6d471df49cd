"""The views of the bridge's calls, which an app's SDK makes."""

from functools import partial
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from bridge import schema
from bridge.answers import batch_answer
from bridge.batch import do_batch
from bridge.calls import caller_of, do_action, do_capture, require_proof
from bridge.serializers import (
    Sender,
    idempotency_key,
    read_batch,
    without_sending,
)
from engage.http.app_quotas import count_bridge_call
from engage.http.envelope import success
from engage.http.idempotency import Caller
from engage.http.rate_limit import RateLimitExceeded
from engage.http.replays import once_per_key
from engage.http.views import SdkView


class _BridgeView(SdkView):
    @property
    def sender(self) -> Sender:
        token = self.request._request.META.get("HTTP_X_IDENTITY_TOKEN")
        origin = self.request._request.META.get("HTTP_ORIGIN", "")
        return Sender(app=self.app, address=self.address, identity_token=token or None, origin=origin)


class KeyedView(_BridgeView):
    """A call with an Idempotency-Key, which may also stand in the body."""

    @property
    def caller(self) -> Caller:
        return caller_of(self.request.data, sender=self.sender)

    def key_of(self, request: Request) -> str | None:
        return idempotency_key(request.data, header=super().key_of(request))

    def compared_body(self, request: Request) -> Any:
        return without_sending(request.data)

    def require_proof(self, request: Request) -> None:
        require_proof(request.data, sender=self.sender)


class ActionView(KeyedView):
    """`POST /api/v1/sdk/bridge/action`: a button in a message was clicked."""

    @schema.describe_action
    @once_per_key()
    def post(self, request: Request) -> Response:
        return do_action(request.data, sender=self.sender)


class CaptureView(KeyedView):
    """`POST /api/v1/sdk/bridge/capture`: a form in a message was submitted."""

    @schema.describe_capture
    @once_per_key()
    def post(self, request: Request) -> Response:
        return do_capture(request.data, sender=self.sender)


class BatchView(_BridgeView):
    """`POST /api/v1/sdk/bridge/batch`: calls that waited, each of them as if it had come alone."""

    @schema.describe_batch
    def post(self, request: Request) -> Response:
        calls, sender = read_batch(request.data, sender=self.sender)
        folder = request.path.rpartition("/")[0]
        answers = do_batch(
            calls,
            sender=sender,
            address_of=lambda call: f"{folder}/{call}",
            count=partial(self._count_one_more, request),
        )
        whole = success(*batch_answer(answers))
        if retry_after := next((one["Retry-After"] for one in answers if "Retry-After" in one), None):
            whole["Retry-After"] = retry_after
        return whole

    def _count_one_more(self, request: Request) -> None:
        try:
            self.usage = self.count(request)
        except RateLimitExceeded as exceeded:
            self.usage = exceeded.usage
            raise
        count_bridge_call(app_id=self.app.id, kib=0)  # the size is counted with the whole body
