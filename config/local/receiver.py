"""The demo's receiver of webhooks: shows what arrives, and whether its signature is valid.

Your own receiver must do the same (Standard Webhooks): sign `<id>.<timestamp>.<body>` with the workspace's secret,
compare with each of the signatures sent, and refuse a timestamp too far from now. A library can do it as well.
"""

import base64
import hashlib
import hmac
import os
import sys
import time
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from config.local.demo import RECEIVER_HOST, read_demo
from engage.notations.terminal import printable

TOLERANCE_SECONDS = 300
_LONGEST_BODY = 1 << 20


def is_signed(headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str], now: float) -> bool:
    """Whether one of the secrets (`whsec_…`) signed this request, dated at most five minutes from now."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    sent = headers.get("webhook-signature", "").split()
    signed = f"{message_id}.{timestamp}.".encode() + body
    return any(hmac.compare_digest(one.encode(), _signature(signed, secret)) for secret in secrets for one in sent)


def _signature(signed: bytes, secret: str) -> bytes:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _LONGEST_BODY))
        demo = read_demo()
        headers = {name.lower(): value for name, value in self.headers.items()}
        secrets = [demo["webhookSecret"]] if demo and demo["webhookSecret"] else []
        verdict = "valid" if is_signed(headers, body, secrets=secrets, now=time.time()) else "INVALID"
        _say(f"{self.path} {headers.get('webhook-id')} signature {verdict} {body.decode(errors='replace')}")
        self.send_response(200 if verdict == "valid" else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Our own line says more."""


def _say(text: str) -> None:
    sys.stdout.write(f"{printable(text)}\n")
    sys.stdout.flush()


def main() -> None:
    ThreadingHTTPServer((RECEIVER_HOST, int(os.environ["DEMO_RECEIVER_PORT"])), _Receiver).serve_forever()


if __name__ == "__main__":
    main()
