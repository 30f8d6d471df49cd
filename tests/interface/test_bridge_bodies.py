"""What the body of a bridge call may be: JSON of at most 64 KiB that can be kept."""

import json

from bridge.models import Interaction
from customers.models import Customer, Event
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST, both_calls, refused_without_a_trace, submit
from tests.support.cases import each
from tests.support.clients import SdkClient

# How big -------------------------------------------------------------------------------------------------------------


def _body_of(path: str, size: int) -> bytes:
    """The least call to this path, padded to so many bytes."""
    empty = json.dumps({**LEAST[path], "padding": ""})
    return json.dumps({**LEAST[path], "padding": "x" * (size - len(empty))}).encode()


@both_calls
def test_a_body_of_64_kib_is_taken(sdk: SdkClient, path: str) -> None:
    assert sdk.post(path, _body_of(path, 64 * 1024)).status_code == 200


@both_calls
def test_a_larger_body_is_refused(sdk: SdkClient, path: str) -> None:
    answer = sdk.post(path, _body_of(path, 64 * 1024 + 1))
    message = refused_without_a_trace(answer, status=413, error="Body too large")
    assert message == "The body is larger than 64 KiB."


# Of what kind --------------------------------------------------------------------------------------------------------


@both_calls
@each("content_type", ["text/html", "text/*", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_only_json_is_taken(sdk: SdkClient, path: str, content_type: str) -> None:
    answer = sdk.post(path, LEAST[path], content_type=content_type)
    message = refused_without_a_trace(answer, status=415, error="Unsupported media type")
    assert message == "The body must be sent as application/json."


@both_calls
def test_json_may_say_that_it_is_utf_8(sdk: SdkClient, path: str) -> None:
    assert sdk.post(path, LEAST[path], content_type="application/json; charset=utf-8").status_code == 200


@both_calls
@each(
    "body, message",
    [
        (b"", "messageId is required."),
        (b"[]", "The body must be a JSON object, but an array came."),
        (b'"close"', "The body must be a JSON object, but a string came."),
        (b"{", "The body is not JSON: Expecting property name enclosed in double quotes at line 1, column 2."),
        (b'{"messageId', "The body is not JSON: Unterminated string starting at line 1, column 2."),
        (b'{"messageId": "\xff"}', "The body is not UTF-8: byte 15 does not fit."),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(sdk: SdkClient, path: str, body: bytes, message: str) -> None:
    answer = sdk.post(path, body)
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(message)
    assert not Interaction.objects.exists()


# What PostgreSQL could not keep --------------------------------------------------------------------------------------

DEEP = b'{"a":' * 11 + b"1" + b"}" * 11
UNSTORABLE = [
    (rb'{"a": "x\u0000"}', "{field}.a holds a NUL character, which cannot be stored."),
    (rb'{"a\u0000": 1}', "A key of {field} holds a NUL character, which cannot be stored."),
    (rb'{"a": ["\ud800"]}', "{field}.a[0] holds half of a surrogate pair, which cannot be stored."),
    (b'{"a": 1e400}', "{field}.a is a number out of range: it must fit a 64-bit float."),
    (b'{"a": 18446744073709551616}', "{field}.a is a number out of range: integers go from -2^63 to 2^64 - 1."),
    (b'{"a": NaN}', "{field}.a is NaN, which is not JSON."),
    (DEEP, "{field} is nested more than 10 deep."),
]
PLACES = [
    (ACTION, "formData", b'"actionType": "close", "formData": %s'),
    (
        ACTION,
        "actionData.eventProperties",
        b'"actionType": "track_event", "actionData": {"eventName": "e", "eventProperties": %s}',
    ),
    (
        ACTION,
        "actionData.profileAttributes",
        b'"actionType": "update_profile", "actionData": {"profileAttributes": %s}',
    ),
    (CAPTURE, "formData", b'"formData": %s'),
    (
        CAPTURE,
        "submitAction.eventProperties",
        b'"formData": {}, "submitAction": {"type": "track_event", "eventName": "e", "eventProperties": %s}',
    ),
    (
        CAPTURE,
        "submitAction.profileAttributes",
        b'"formData": {}, "submitAction": {"type": "update_profile", "profileAttributes": %s}',
    ),
]


@each("path, field, template", PLACES)
@each("value, message", UNSTORABLE)
def test_what_cannot_be_stored_is_refused_by_its_place(
    sdk: SdkClient, path: str, field: str, template: bytes, value: bytes, message: str
) -> None:
    answer = sdk.post(path, b'{"messageId": "m", "userId": "u-1", %s}' % (template % value))
    assert refused_without_a_trace(answer) == message.format(field=field)


@each("path, field, template", PLACES)
def test_what_is_nested_10_deep_is_kept(sdk: SdkClient, path: str, field: str, template: bytes) -> None:
    value = b'{"a":' * 10 + b"1" + b"}" * 10
    assert sdk.post(path, b'{"messageId": "m", "userId": "u-1", %s}' % (template % value)).status_code == 200
    match field.rpartition(".")[2]:
        case "formData":
            kept = Interaction.objects.get().form_data
        case "eventProperties":
            kept = Event.objects.get().properties
        case _:
            kept = Customer.objects.get().attributes
    assert kept == json.loads(value)


def test_every_kind_of_value_is_read_back_the_same(sdk: SdkClient) -> None:
    form = {"a": [2**64 - 1, -(2**63), 0.1, 1e-300, True, "😀 \\ \u2028 '\"", {}], "": "", "%s": "%(a)s", "{}": "{{a}}"}
    assert submit(sdk, formData={name: value for name, value in form.items() if name}).status_code == 200
    assert submit(sdk, formData=form, submitAction={"type": "track_event", "eventName": "e"}).status_code == 200
    assert Customer.objects.get().attributes == {name: value for name, value in form.items() if name}
    assert [one.form_data for one in Interaction.objects.order_by("created_at")] == [
        {name: value for name, value in form.items() if name},
        {},
    ]
    assert Event.objects.get().properties == form
