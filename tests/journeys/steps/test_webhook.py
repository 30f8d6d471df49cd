"""Webhooks: what may be written, what is rendered of it, and where the walk goes on."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from customers.conditions.fields import IDENTIFIER_COLUMNS
from journeys.models import WebhookDelivery
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.definition import parse_steps
from journeys.steps.results import Answered, Ended, Send, StepRecord, TimedOut, WebhookRequest
from journeys.steps.webhook_targets import parse_target
from journeys.steps.written import InvalidSteps
from tests.customers.facts import NOBODY
from tests.journeys.steps.contexts import context, course, refusal_of, walk
from tests.support.cases import each
from tests.support.factories import OUT


def webhook(url: str = "https://example.com/hook", **fields: Any) -> dict[str, Any]:
    return {"id": "tell", "type": "webhook", "url": url, **fields}


def begun(step: dict[str, Any], in_context: StepContext | None = None) -> StepRecord:
    return walk(course(step), in_context).step_records[0]


def request_of(step: dict[str, Any], in_context: StepContext | None = None) -> WebhookRequest:
    request = begun(step, in_context).request
    assert request is not None
    return request


def failure_of(step: dict[str, Any], in_context: StepContext | None = None) -> str:
    step_record = begun(step, in_context)
    assert (step_record.state, step_record.request) == ("failed", None)
    return step_record.detail


def named(name: str) -> StepContext:
    return context(customer=replace(NOBODY, attributes={"name": name}))


def test_a_webhook_that_says_nothing_more_is_a_post_without_a_body() -> None:
    assert request_of(webhook()) == WebhookRequest(
        method="POST", url="https://example.com/hook", host="example.com:443", headers={}, body=None
    )


def test_a_webhook_is_rendered_and_waits_for_its_result() -> None:
    step = webhook(
        "HTTPS://example.com:8443/users/{{ customer.id }}?city={{ customer.address.city }}&x=%20",
        method="PUT",
        headers={"X-Plan": "{{ customer.plan | upcase }}", "content-type": "application/vnd.x+json"},
        body={"seats": 3, "who": "{{ customer.first_name }}", "tags": ["{{ customer.tags }}", None, True]},
        onFailure="exit",
    )
    walked = walk(course(step))
    assert walked.stop == Send(step_id="tell")
    assert walked.step_records == (
        StepRecord(
            step_id="tell",
            type="webhook",
            resumed=False,
            state="waiting",
            detail="Sends PUT to example.com:8443.",
            request=WebhookRequest(
                method="PUT",
                url="https://example.com:8443/users/6560a1b2c3d4e5f60718293a?city=London&x=%20",
                host="example.com:8443",
                headers={"X-Plan": "PRO", "content-type": "application/vnd.x+json"},
                body='{"seats":3,"who":"Ada","tags":["[\\"a\\",\\"b\\"]",null,true]}',
            ),
        ),
    )


def test_templates_see_the_payload_the_event_the_journey_and_the_enrollment() -> None:
    text = "{{ api.payload.x }} {{ api.properties.x }} {{ event.name }} {{ event.properties.y }}"
    more = "{{ journey.id }} {{ journey.name }} {{ enrollment.id }} {{ now }}"
    given_context = context(payload={"x": 1}, event=Occurrence(name="order", properties={"y": 2}))
    assert json.loads(request_of(webhook(body=[text, more]), given_context).body or "") == [
        "1 1 order 2",
        "6560a1b2c3d4e5f607182900 Welcome 6560a1b2c3d4e5f607182901 2026-11-20T12:00:00.000Z",
    ]


NAMED = dict.fromkeys(IDENTIFIER_COLUMNS, "attribute")
KNOWN = replace(NOBODY, external_id="ada", email="ada@example.com", phone="+49", user_id="u-1", attributes=NAMED)


@each("spelling, column", IDENTIFIER_COLUMNS.items())
def test_an_identifier_s_name_means_the_identifier_and_no_attribute(spelling: str, column: str) -> None:
    tell = webhook(body=[f"{{{{ customer.{spelling} }}}}", f"{{{{ customer.attributes.{spelling} }}}}"])
    assert json.loads(request_of(tell, context(customer=KNOWN)).body or "") == [getattr(KNOWN, column), "attribute"]


@each("spelling", [name for name, column in IDENTIFIER_COLUMNS.items() if column != "id"])
def test_an_identifier_that_is_not_set_is_empty_and_noted_whatever_attributes_are_called(spelling: str) -> None:
    tell = webhook(body=[f"[{{{{ customer.{spelling} }}}}]", "{{ customer | size }}"])
    record = begun(tell, context(customer=replace(NOBODY, attributes={**NAMED, "plan": "pro"})))
    assert record.request is not None
    assert json.loads(record.request.body or "") == ["[]", "4"]  # id, customerId, plan and attributes
    assert record.missing == (f"customer.{spelling}",)


def test_names_without_a_value_are_noted_whether_the_step_fails_or_not() -> None:
    body = ["{{ customer.nobody }}", "{{ customer.nobody }}{{ api.payload.x }}"]
    assert begun(webhook(body=body)).missing == ("customer.nobody", "api.payload.x")
    failing = begun(webhook(body=[*body, "{{ 1 | divided_by: 0 }}"]))
    assert (failing.state, failing.missing) == ("failed", ("customer.nobody", "api.payload.x"))


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=40)


@given(name=texts | st.sampled_from(['"}', '","admin":true,"x":"', "\\", "\n", "\u2028", "{{ 1 }}", "</script>"]))
def test_no_value_breaks_out_of_the_json(name: str) -> None:
    body = {"user": {"name": "{{ customer.name }}"}, "greeting": "Hi {{ customer.name }}!", "admin": False}
    assert json.loads(request_of(webhook(body=body), named(name)).body or "") == {
        "user": {"name": name},
        "greeting": f"Hi {name}!",
        "admin": False,
    }


@given(
    name=texts | st.sampled_from(["../admin", "?x=1", "#frag", "@evil.com", "//evil.com", "\\evil", "%2e%2e", "&a=b"])
)
def test_no_value_breaks_out_of_its_place_in_the_url(name: str) -> None:
    step = webhook("https://example.com/users/x{{ customer.name }}/mail?name={{ customer.name }}&admin=0")
    url = urlsplit(request_of(step, named(name)).url)
    assert (url.scheme, url.netloc, url.fragment) == ("https", "example.com", "")
    before, user, after = url.path.rsplit("/", 2)
    assert (before, unquote(user), after) == ("/users", f"x{name}", "mail")
    assert [unquote(pair) for pair in url.query.split("&")] == [f"name={name}", "admin=0"]


@each("name", [".", ".."])
def test_a_value_cannot_lead_to_another_path(name: str) -> None:
    step = webhook("https://example.com/users/{{ customer.name }}/mail")
    assert failure_of(step, named(name)) == "The url has . or .. for a part of its path."
    fine = webhook("https://example.com/users?name={{ customer.name }}/.")
    assert request_of(fine, named(name)).url == f"https://example.com/users?name={name}/."


def test_what_no_url_can_hold_is_encoded_where_it_is_literal() -> None:
    assert request_of(webhook("https://example.com/kä se/{a}?q=\"x\"|'y'")).url == (
        "https://example.com/k%C3%A4%20se/%7Ba%7D?q=%22x%22%7C'y'"
    )


@each("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\tb", "a\x7fb"])
def test_no_value_breaks_out_of_its_header(value: str) -> None:
    step = webhook(headers={"X-Name": "{{ customer.name }}"})
    assert failure_of(step, named(value)) == "The header X-Name holds a line break or another control character."


@each(
    "value, detail",
    [
        ("a" * 1025, "The header X-Name is 1025 characters long; the maximum is 1024."),
        ("Ж", "The header X-Name holds a character that no header can hold."),
    ],
)
def test_a_header_that_cannot_be_sent_fails_the_step(value: str, detail: str) -> None:
    assert failure_of(webhook(headers={"X-Name": "{{ customer.name }}"}), named(value)) == detail


def test_the_longest_headers_are_sent() -> None:
    long = "é" * 1024
    headers = {f"{'x' * 98}{n}": long for n in range(10, 38)} | {"X-Rendered": "{{ customer.name }}", "X-Last": ""}
    assert request_of(webhook(headers=headers), named(long)).headers == headers | {"X-Rendered": long}


def test_a_header_may_be_latin_1_or_empty() -> None:
    step = webhook(headers={"X-Name": " {{ customer.name }} ", "X-Empty": ""})
    assert request_of(step, named("Zoë")).headers == {"X-Name": "Zoë", "X-Empty": ""}


def test_a_body_says_what_it_is() -> None:
    assert request_of(webhook(body={}, headers={"X-A": "1"})).headers == {
        "Content-Type": "application/json",
        "X-A": "1",
    }


def test_what_grows_too_large_fails_the_step() -> None:
    large = named("é" * 30_000)
    body = ["{{ customer.name }}" for _ in range(5)]
    assert failure_of(webhook(body=body), large) == "The body is 300016 bytes of JSON; the maximum is 262144."
    short = named("é" * 400)
    url = webhook("https://example.com/{{ customer.name }}")
    assert failure_of(url, short) == "The url is 2420 characters long; the maximum is 2048."


def test_what_is_just_as_large_as_may_be_is_sent() -> None:
    path, rest = "x" * (2048 - len("https://example.com/")), "x" * (262_144 - 4 * 60_000 - len('["","","","",""]'))
    step = webhook("https://example.com/{{ api.payload.path }}", body=[*["{{ api.payload.text }}"] * 4, rest])
    request = request_of(step, context(payload={"path": path, "text": "é" * 30_000}))
    assert request.url == f"https://example.com/{path}"
    assert len((request.body or "").encode()) == 262_144
    parse_steps([webhook(body="ä" * 131_071), webhook(f"https://example.com/{path}") | {"id": "also"}])


def test_a_template_that_fails_names_its_place_and_the_walk_goes_on() -> None:
    step = webhook(body={"user": [{"name": "{{ customer.name | divided_by: 0 }}"}]})
    walked = walk(course(step, OUT))
    assert walked.step_records[0].detail == (
        "The template of body.user[0].name failed: the filter divided_by cannot work with what it was given."
    )
    assert walked.stop == Ended(step_id="out", exited=True, reason="Enough.")


def test_a_webhook_that_cannot_be_rendered_ends_the_enrollment_where_failures_do() -> None:
    walked = walk(course(webhook("https://example.com/{{ 1 | divided_by: 0 }}", onFailure="exit"), OUT))
    assert walked.stop == Ended(
        step_id="tell",
        exited=True,
        reason="The webhook 'tell' failed. The template of url failed: the filter divided_by cannot work with what it "
        "was given.",
    )


@each(
    "on_failure, ok, state, stop",
    [
        ("continue", True, "done", Ended(step_id="out", exited=True, reason="Enough.")),
        ("continue", False, "failed", Ended(step_id="out", exited=True, reason="Enough.")),
        ("exit", True, "done", Ended(step_id="out", exited=True, reason="Enough.")),
        ("exit", False, "failed", Ended(step_id="tell", exited=True, reason="The webhook 'tell' failed. It said 500.")),
    ],
)
def test_the_final_result_decides_where_the_walk_goes_on(on_failure: str, ok: bool, state: str, stop: Ended) -> None:
    walked = walk(course(webhook(onFailure=on_failure), OUT), arrival=Answered(ok=ok, reason="It said 500."))
    first = walked.step_records[0]
    assert (first.state, first.resumed, first.detail) == (state, True, "It said 500.")
    assert walked.stop == stop


def test_a_webhook_is_not_over_with_its_time() -> None:
    with pytest.raises(ValueError, match="over with its final result"):
        walk(course(webhook()), arrival=TimedOut())


@each(
    "url, why",
    [
        ("ftp://example.com/", "must begin with http:// or https://."),
        ("example.com/hook", "must begin with http:// or https://."),
        ("//example.com/hook", "must begin with http:// or https://."),
        ("{{ customer.url }}", "must begin with http:// or https://."),
        ("https://", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https:///hook", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://[1:2]/x", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://e..example/x", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://-a.example/x", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        (f"https://{'a.' * 127}example/", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://bücher.example/", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://exa mple.com/", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        ("https://example.com\\@evil.com/", "must not name a user."),
        ("https://a:b@example.com/", "must not name a user."),
        ("https://example.com:0/", "has a port that is not between 1 and 65535."),
        ("https://example.com:65536/", "has a port that is not between 1 and 65535."),
        ("https://example.com:http/", "has no host that can be called; letters beyond ASCII are written as xn--…."),
        (
            "https://{{ customer.host }}/",
            "may hold templates in its path and query only: its host and port are literal.",
        ),
        (
            "https://example.com{{ customer.host }}/",
            "may hold templates in its path and query only: its host and port are literal.",
        ),
        ("https://example.com/#top", "must not have a fragment (#…)."),
        ("https://example.com/a/../b", "must not have . or .. for a part of its path."),
        ("https://example.com/a\x00", "holds a NUL character."),
        ("https://example.com/{{ '\ud800' }}", "holds half of a surrogate pair."),
        (f"https://example.com/{'ä' * 400}", "is 2420 characters long; its maximum is 2048."),
        ("https://example.com/.", "must not have . or .. for a part of its path."),
        ("https://example.com/{{ customer.id", "is no valid template: a {{ is not closed by }}."),
        ("https://example.com/{% capture x %}{% endcapture %}", "is no valid template: unexpected tag 'capture'."),
    ],
)
def test_a_url_that_leads_nowhere_known_is_refused(url: str, why: str) -> None:
    assert refusal_of(webhook(url)) == f"steps[0].url {why}"


@each(
    "url, host",
    [
        ("http://10.0.0.1:8080", "10.0.0.1:8080"),
        ("http://10.0.0.1:1", "10.0.0.1:1"),
        ("http://10.0.0.1:65535", "10.0.0.1:65535"),
        ("https://[::1]:8443/x", "::1:8443"),
        ("https://a_b.Example?x", "a_b.example:443"),
        ("http://x.example./{{ '#..' }}", "x.example:80"),
    ],
)
def test_other_urls_are_taken(url: str, host: str) -> None:
    assert request_of(webhook(url)).host == host


@given(
    host=st.text("aB1.-_[]:%\u00df", min_size=1, max_size=300)
    | st.lists(st.text("ab-", max_size=64), max_size=12).map(".".join),
    rest=st.text("/?#a%. \\\u00e9", max_size=8),
)
def test_whatever_url_is_taken_can_be_sent_and_kept(host: str, rest: str) -> None:
    try:
        request = request_of(webhook(f"https://{host}/{rest}"))
    except InvalidSteps:
        return
    assert parse_target(request.url).host_and_port == request.host
    assert len(request.host) <= (WebhookDelivery._meta.get_field("host").max_length or 0)


@each(
    "fields, message",
    [
        ({"method": "HEAD"}, "steps[0].method must be one of GET, POST, PUT, PATCH, DELETE, not "),
        ({"method": "post"}, "steps[0].method must be one of GET, POST, PUT, PATCH, DELETE, not "),
        ({"method": None}, "steps[0].method must be a string, but null came."),
        ({"method": "GET", "body": {}}, "steps[0].body must not be there where the method is GET."),
        ({"onFailure": "retry"}, "steps[0].onFailure must be one of continue, exit, not 'retry'."),
        ({"body": {"user": {"name": "{{ x | dance }}"}}}, "steps[0].body.user.name is no valid template: there is no "),
        ({"body": ["{% if %}"]}, "steps[0].body[0] is no valid template: missing expression."),
        ({"body": {"a": "\x00"}}, "steps[0].body holds a NUL character."),
        ({"body": "ä" * 128 * 1024}, "steps[0].body is 262146 bytes of JSON; its maximum is 262144."),
        ({"headers": []}, "steps[0].headers must be an object, but an array came."),
        ({"headers": {"X-A": 1}}, "steps[0].headers.X-A must be a string, but a number came."),
        ({"headers": {"X A": "1"}}, "steps[0].headers.X A is no name for a header."),
        ({"headers": {"X" * 101: "1"}}, f"steps[0].headers.{'X' * 101} is no name for a header."),
        ({"headers": {"": "1"}}, "steps[0].headers. is no name for a header."),
        ({"headers": {"X-A\r\n": "1"}}, "steps[0].headers.X-A\r\n is no name for a header."),
        ({"headers": {"X-A": "1\n2"}}, "steps[0].headers.X-A holds a line break or another control character."),
        ({"headers": {"X-A": "{{ '\x00' }}"}}, "steps[0].headers.X-A holds a NUL character."),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "steps[0].headers.x-a stands there twice; small and capital letters"),
        ({"headers": {f"X-{n}": "" for n in range(31)}}, "steps[0].headers holds 31 headers; its maximum is 30."),
        ({"extra": 1}, "steps[0].extra is not known; what may stand here is id, type, url, method, headers, auth, "),
    ],
)
def test_a_bad_webhook_is_refused_with_its_place(fields: dict[str, Any], message: str) -> None:
    assert refusal_of(webhook(**fields)).startswith(message)


RESERVED = "Host content-LENGTH Transfer-Encoding Connection TE Upgrade Trailer Keep-Alive Expect Content-Encoding"
SIGNING = "webhook-id Webhook-Timestamp WEBHOOK-SIGNATURE"


@each("name", f"{RESERVED} {SIGNING} Accept-Encoding Proxy-Authorization Proxy-Connection".split())
def test_what_the_service_decides_no_journey_sets(name: str) -> None:
    assert refusal_of(webhook(headers={name: "x"})) == (
        f"steps[0].headers.{name} must not be set: the service sets it."
    )


def test_a_body_is_nested_at_most_20_deep() -> None:
    body: Any = "x"
    for _ in range(20):
        body = [body]
    course(webhook(body=body))
    assert refusal_of(webhook(body=[body])) == "steps[0].body is nested more than 20 deep."


@each("method", ["GET", "DELETE", "POST"])
def test_a_null_body_is_none(method: str) -> None:
    assert request_of(webhook(method=method, body=None)).body is None
