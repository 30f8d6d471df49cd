"""Stand-ins for providers: each takes what the provider's pages document, and refuses what the provider would refuse.

A stand-in gets the path, the headers (their names in lower case) and the body as text, and answers with a status, and a
body of JSON or text.
"""

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

TOKEN, USER = "s3cret-token", "AC0123"
Answer = tuple[int, Any]
StandIn = Callable[[str, Mapping[str, str], str], Answer]


def _json(headers: Mapping[str, str], body: str) -> dict[str, Any]:
    assert headers["content-type"] == "application/json"
    parsed: dict[str, Any] = json.loads(body)
    return parsed


def _form(headers: Mapping[str, str], body: str) -> dict[str, str]:
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    return {name: values[0] for name, values in parse_qs(body, strict_parsing=True).items()}


def _bearer(headers: Mapping[str, str]) -> bool:
    return headers.get("authorization") == f"Bearer {TOKEN}"


def _basic(headers: Mapping[str, str], user: str) -> bool:
    given = base64.b64encode(f"{user}:{TOKEN}".encode()).decode()
    return headers.get("authorization") == f"Basic {given}"


def _address(text: object) -> bool:
    return isinstance(text, str) and bool(re.fullmatch(r"(.* <)?[^@\s<>]+@[^@\s<>]+\.[a-z]+>?", text))


def postmark(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://postmarkapp.com/developer/api/templates-api"""
    if headers.get("accept") != "application/json":
        return 406, {}
    if headers.get("x-postmark-server-token") != TOKEN:
        return 401, {"ErrorCode": 10, "Message": "Bad or missing Server API token."}
    sent = _json(headers, body)
    if path != "/email/withTemplate" or set(sent) != {"From", "To", "TemplateAlias", "TemplateModel"}:
        return 422, {"ErrorCode": 403, "Message": "Invalid JSON."}
    if not (_address(sent["To"]) and _address(sent["From"]) and isinstance(sent["TemplateModel"], dict)):
        return 422, {"ErrorCode": 300, "Message": "Invalid email request."}
    if sent["TemplateAlias"] == "inactive":
        return 200, {"ErrorCode": 406, "Message": "You tried to send to a recipient that has been marked as inactive."}
    return 200, {"ErrorCode": 0, "Message": "OK", "MessageID": "pm-1", "To": sent["To"]}


def sendgrid(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send"""
    if not _bearer(headers):
        return 401, {"errors": [{"message": "The provided authorization grant is invalid"}]}
    sent = _json(headers, body)
    to = [one["email"] for person in sent["personalizations"] for one in person["to"]]
    fine = path == "/v3/mail/send" and len(to) == 1 and _address(to[0]) and _address(sent["from"]["email"])
    [content] = sent["content"]
    if not (fine and sent["subject"] and content["type"] in {"text/plain", "text/html"} and content["value"]):
        return 400, {"errors": [{"message": "The mail is not as it should be."}]}
    return 202, ""


def mailgun(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages"""
    if not _basic(headers, "api"):
        return 401, "Forbidden"
    sent = _form(headers, body)
    if path != "/v3/mg.example.com/messages":
        return 404, {"message": "Domain not found"}
    if not (_address(sent.get("to")) and _address(sent.get("from")) and sent.get("subject") and sent.get("html")):
        return 400, {"message": "to parameter is not a valid address. please check documentation"}
    return 200, {"id": "<mg-1>", "message": "Queued. Thank you."}


def resend(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://resend.com/docs/api-reference/emails/send-email"""
    if not _bearer(headers):
        return 401, {"name": "missing_api_key", "message": "Missing API key in the authorization header."}
    sent = _json(headers, body)
    if path != "/emails" or not (all(map(_address, sent["to"])) and _address(sent["from"])):
        return 422, {"name": "validation_error", "message": "Invalid `to` field."}
    if not (sent["subject"] and sent["html"]):
        return 422, {"name": "missing_required_field", "message": "Missing `html` or `text` field."}
    return 200, {"id": "re-1"}


def twilio(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://www.twilio.com/docs/messaging/api/message-resource"""
    if not _basic(headers, USER):
        return 401, {"code": 20003, "message": "Authenticate", "status": 401}
    sent = _form(headers, body)
    if path != "/2010-04-01/Accounts/ACCOUNT_SID/Messages.json":
        return 404, {"code": 20404, "status": 404}
    if not re.fullmatch(r"\+[1-9]\d{6,14}", sent.get("To", "")):
        return 400, {"code": 21211, "message": "Invalid 'To' Phone Number", "status": 400}
    if not sent.get("From") or not sent.get("Body"):
        return 400, {"code": 21602, "message": "Message body is required.", "status": 400}
    return 201, {"sid": "SM1", "status": "queued", "error_code": None}


def expo(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://docs.expo.dev/push-notifications/sending-notifications/"""
    sent = _json(headers, body)
    if path != "/--/api/v2/push/send" or not isinstance(sent["data"], dict) or not sent["body"]:
        return 400, {"errors": [{"code": "VALIDATION_ERROR", "message": '"data" must be an object'}]}
    if not re.fullmatch(r"Expo(nent)?PushToken\[.+\]", sent["to"]):
        return 400, {"errors": [{"code": "VALIDATION_ERROR", "message": '"to" must be a token'}]}
    if "gone" in sent["to"]:
        return 200, {"data": {"status": "error", "message": "x", "details": {"error": "DeviceNotRegistered"}}}
    return 200, {"data": {"status": "ok", "id": "ex-1"}}


def slack(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"""
    if path != f"/services/T0/B0/{TOKEN}":
        return 403, "invalid_token"
    return (200, "ok") if _json(headers, body).get("text") else (400, "no_text")


def ntfy(path: str, headers: Mapping[str, str], body: str) -> Answer:
    """https://docs.ntfy.sh/publish/#publish-as-json"""
    if not _bearer(headers):
        return 401, {"code": 40101, "http": 401, "error": "unauthorized"}
    sent = _json(headers, body)
    if path != "/" or not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", sent["topic"]) or not isinstance(sent["message"], str):
        return 400, {"code": 40024, "http": 400, "error": "invalid request: topic invalid"}
    return 200, {"id": "nt-1", "event": "message", "topic": sent["topic"], "message": sent["message"]}


STAND_INS: Mapping[str, StandIn] = {
    one.__name__: one for one in (postmark, sendgrid, mailgun, resend, twilio, expo, slack, ntfy)
}
