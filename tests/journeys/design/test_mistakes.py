"""All mistakes of a definition are found at once, each with its place; and what can never work is one."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from time import thread_time
from typing import Any

import pytest

from engage.models import Workspace
from journeys.connection.resource import CONNECTIONS
from journeys.journey.authoring import InvalidJourney, refusals_of, save_journey
from journeys.journey.past_moments import few_customers, moment_of_a_profile, past_for
from journeys.journey.warnings import STATUS_AS_TEXT, UNESCAPED
from journeys.models import Journey, JourneyRevision
from journeys.steps.course import parse_course
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, WorkspaceFactory

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MANY: list[Any] = [
    {"id": "a b", "type": "webhook", "url": "http://10.0.0.1/x#y", "methd": "PUT", "onFailure": "stop",
     "headers": {"Host": "a", "Good": "b", "good": "{{ x"}, "body": {"a": ["{{ user.name }}", "{{ api.coupon }}"]}},
    {"id": "wait", "type": "delay", "until": "25:00", "timezone": "Mars/Base", "next": "nowhere"},
    {"id": "wait", "type": "wait_for_event", "timeout": "soon", "fromBridge": 1,
     "where": {"all": [{"field": "plan", "op": "eq", "value": 1}, {"field": "event.name", "op": "is"}]}},
    {"id": "which", "type": "branch", "cases": [{"if": {}, "next": "gone"}, {"if": 1}], "else": 7},
    {"id": "halves", "type": "split", "paths": [{"weight": 0, "next": "gone"}]},
    {"id": "fax", "type": "fax"},
    {"id": "turn", "type": "update_profile", "attributes": {"n": 1}, "next": "turn"},
    {"type": "exit", "reason": ""},
]  # fmt: skip


def places(steps: object, exit_on: object = None) -> list[str]:
    """Where there are mistakes, in order."""
    journey = Journey(key="welcome", name="Welcome")
    return [refusal.message.split()[0] for refusal in refusals_of(journey, steps=steps, exit_on=exit_on)]


@pytest.mark.django_db
def test_every_mistake_is_told_with_its_place_and_once() -> None:
    assert places(MANY, [{"event": ""}, {"if": {"not": {"field": "x", "op": "eq", "value": None}}}, {}]) == [
        "steps[0].id",
        "steps[2].id",
        "steps[7].id",
        "steps[0].methd",
        "steps[0].url",
        "steps[0].url",
        "steps[0].headers.Host",
        "steps[0].headers.good",
        "steps[0].headers.good",
        "steps[0].body.a[0]",
        "steps[0].body.a[1]",
        "steps[0].onFailure",
        "steps[1].next",
        "steps[1].until",
        "steps[1].timezone",
        "steps[2].event",
        "steps[2].where.all[0].field",
        "steps[2].where.all[1].op",
        "steps[2].fromBridge",
        "steps[2].timeout",
        "steps[3].cases[0].if",
        "steps[3].cases[0].next",
        "steps[3].cases[1].next",
        "steps[3].cases[1].if",
        "steps[3].else",
        "steps[4].paths[0].weight",
        "steps[4].paths[0].next",
        "steps[4].paths",
        "steps[5].type",
        "steps[7].reason",
        "steps[6]",
        "exitOn[0].event",
        "exitOn[1].if.not.field",
        "exitOn[1].if.not.value",
        "exitOn[2]",
    ]


@pytest.mark.django_db
def test_nothing_is_saved_and_all_that_is_wrong_comes_with_the_first(acme: Workspace) -> None:
    with pytest.raises(InvalidJourney) as refused:
        save_journey(workspace=acme, key="welcome", now=NOW, steps=MANY, max_entries_per_customer=0)
    assert not Journey.objects.exists()
    assert [type(one) for one in refused.value.all_found()] == [InvalidJourney] * 32
    assert {one.field for one in refused.value.all_found()} == {"steps", "max_entries_per_customer"}  # type: ignore[attr-defined]


@pytest.mark.django_db
@each(
    "text, strange",
    [
        ("{{ user.name }}", "user.name"),
        ("{{ api.coupon }} {{ email }}", "api.coupon, email"),
        ("{{ event.price | default: 1 }}", "event.price"),
        ("{{ journey.key }}{{ enrollment.state }}{{ now.year }}", "journey.key, enrollment.state, now.year"),
        ("{% for x in api.payload.items %}{{ x.y }}{% endfor %}{{ x }}", "x"),
        ("{% if user.vip %}{% endif %}", "user.vip"),
        ("{% assign n = customer.n %}{{ n.m }}{% capture c %}{{ n }}{% endcapture %}{{ c }}", ""),
        ("{{ customer.anything.at.all }}{{ api.payload['a b'] }}{{ api.properties.x }}{{ event.properties.y }}", ""),
        ("{{ api[customer.which].x }}{{ event.messageId }}{{ event.verified }}{{ now | date: '%Y' }}{{ api }}", ""),
    ],
)
def test_names_that_never_have_a_value_are_mistakes(text: str, strange: str) -> None:
    steps = [{"id": "note", "type": "update_profile", "attributes": {"a": text}}]
    messages = [refusal.message for refusal in refusals_of(Journey(key="k", name="n"), steps=steps)]
    told = [message.partition(" reads ")[2].partition(", which")[0] for message in messages]
    assert told == ([strange] if strange else [])
    assert parse_course(steps, None).first == "note"  # what is stored already goes on


@pytest.mark.django_db
def test_what_never_holds_in_a_condition_is_a_mistake_and_where_it_was_stored_before_a_warning(acme: Workspace) -> None:
    test: dict[str, Any] = {"field": "event.properties.of", "op": "eq", "value": "{{ api.payload.of }}"}
    listed = {"not": {**test, "op": "in", "value": ["a", {"b": 1}]}}
    text = {"field": "customer.seats", "op": "gt", "value": "10"}
    steps: list[Any] = [
        {"id": "wait", "type": "wait_for_event", "event": "e", "where": {"all": [test]}, "timeout": "PT1H"},
        {"id": "which", "type": "branch", "cases": [{"if": listed, "next": None}]},
    ]
    values: dict[str, Any] = {"steps": steps, "exit_on": [{"event": "e", "where": test}, {"if": text}]}
    event = Journey(key="k", name="n", trigger_type="event", event_name="e", event_where=test, entry_conditions=test)
    places = [
        "where.value",
        "entryConditions.value",
        "steps[0].where.all[0].value",
        "steps[1].cases[0].if.not.value[1]",
        "exitOn[0].where.value",
        "exitOn[1].if.value",
    ]
    assert [refusal.message.split()[0] for refusal in refusals_of(event, **values)] == places
    stored = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="e", event_where=test, steps=steps)
    JourneyRevision.objects.update(exit_on=values["exit_on"])
    saved = save_journey(workspace=acme, key=stored.key, now=NOW, name="Renamed", **values)
    assert saved.outcome == "changed"
    template = "It is a template, but a condition compares with the text as it is written."
    told = [(warning.place, warning.step_id, warning.message) for warning in saved.warnings]
    assert [(place, step) for place, step, _ in told] == [
        ("where.value", None),
        ("steps[0].where.all[0].value", "wait"),
        ("steps[1].cases[0].if.not.value[1]", "which"),
        ("exitOn[0].where.value", None),
        ("exitOn[1].if.value", None),
    ]
    assert [told[number][2] for number in (0, 2, 4)] == [
        f'{template} Name a field in "to", instead of "value".',
        'It must not be an object. Name a field in "to", instead of "value".',
        "It is a text, which is less or more than texts alone, letter by letter. Write the number: 10.",
    ]
    assert list(parse_course(**values).steps) == ["wait", "which"]
    with pytest.raises(InvalidJourney, match=r"where\.any\[0\]\.value is a template"):
        save_journey(workspace=acme, key=stored.key, now=NOW, event_where={"any": [test]})


@pytest.mark.django_db
def test_addresses_that_are_never_called_are_mistakes(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("10.1.0.0/16")]
    for host, wrong in {
        "10.0.0.1": True, "127.1": True, "0x7f000001": True, "[::1]": True, "169.254.169.254": True,
        "10.1.2.3": False, "1.1.1.1": False, "mail.example": False, "[2606:4700::1111]": False,
    }.items():  # fmt: skip
        steps = [{"id": "call", "type": "webhook", "url": f"https://{host}/send"}]
        assert bool(places(steps)) == wrong, host
        assert parse_course(steps, None).first == "call"


def test_a_stranger_could_put_markup_into_a_text_that_has_a_tag(acme: Workspace) -> None:
    definition = {"url": "https://a.example/", "html": ["safe"], "body": {"a": "<b>{{ inputs.safe }}</b>"}}
    CONNECTIONS.save(workspace=acme, key="mailer", now=NOW, definition=definition)
    texts = {
        "a": "<p>{{ customer.name }}</p>",
        "b": "<p>{{ customer.name | escape }}</p>",
        "c": "{{ customer.name }} < 3 > 2",
        "d": "<p>Hello</p>",
        "e": "{% if customer.pro %}<b>{% endif %}{{ now }}",
        "f": "<p>{{ 'x' }}{{ now | raw }}</p>",
        "g": "<p>{{ now | escape | url_decode }}</p>",
        "h": ["<br>{{ customer.name | upcase }}"],
    }
    call = {"id": "call", "type": "webhook", "url": "https://a.example/{{ customer.id }}", "body": texts}
    send = {"id": "send", "type": "send", "connection": "mailer", "inputs": {"safe": texts["a"], "plain": texts["a"]}}
    note = {"id": "note", "type": "update_profile", "attributes": {"bio": texts["a"]}}
    saved = save_journey(workspace=acme, key="welcome", now=NOW, steps=[call, send, note])
    assert {(one.place, one.step_id) for one in saved.warnings} == {
        ("steps[0].body.a", "call"), ("steps[0].body.e", "call"), ("steps[0].body.g", "call"),
        ("steps[0].body.h[0]", "call"), ("steps[1].inputs.plain", "send"), ("steps[2].attributes.bio", "note"),
    }  # fmt: skip
    assert {one.message for one in saved.warnings} == {UNESCAPED}


def test_a_status_that_is_compared_with_texts_is_warned_of(acme: Workspace) -> None:
    tests: list[Any] = [
        ("eq", "200"),
        ("in", [200, "201"]),
        ("not_in", ["500"]),
        ("eq", 200),
        ("in", [200]),
        ("gt", 199),
    ]
    steps = [
        {"id": f"call{number}", "type": "webhook", "url": "https://a.example/",
         "ok": {"all": [{"field": "answer.body.state", "op": "eq", "value": "a"},
                        {"field": "answer.status", "op": op, "value": value}]}}
        for number, (op, value) in enumerate(tests)
    ]  # fmt: skip
    saved = save_journey(workspace=acme, key="welcome", now=NOW, steps=steps)
    assert [(one.place, one.step_id) for one in saved.warnings] == [
        (f"steps[{number}].ok", f"call{number}") for number in range(3)
    ]
    assert {one.message for one in saved.warnings} == {STATUS_AS_TEXT}


def test_a_moment_of_a_profile_that_is_past_is_warned_of_with_its_share(acme: Workspace, server: ServerClient) -> None:
    soon = str((datetime.now(UTC) + timedelta(days=400)).date())
    for number, born in enumerate(["1990-01-01", "1991-01-01", soon, "no date", None]):
        CustomerFactory.create(workspace=acme, external_id=f"p-{number}", attributes={"born": born})
    CustomerFactory.create(workspace=WorkspaceFactory.create(key="rival"), attributes={"born": "1992-01-01"})
    delays = [
        "{{ customer.born }}",
        "{{ customer.attributes.born }}",
        "{{ api.payload.born }}",
        "1990-01-01",
        "{{ now }}",
    ]
    steps = [{"id": f"d-{number}", "type": "delay", "at": at} for number, at in enumerate(delays)]
    told = data(server.put(f"/api/v1/journeys/{acme.id}/birthday", {"name": "B", "steps": steps}), status=201)[
        "warnings"
    ]
    share = "at is past for 2 of 3 looked at who have such a time: it does not wait for them, and goes on at once."
    assert told == [{"place": f"steps[{number}].at", "message": share} for number in (0, 1)]


def test_looking_for_past_moments_is_bounded(acme: Workspace, django_assert_num_queries: Any) -> None:
    loop = "{% for a in (1..9000) %}{% for b in (1..9000) %}{{ customer.born }}{% endfor %}{% endfor %}"
    CustomerFactory.create_batch(105, workspace=acme, attributes={"born": "1990-01-01"})
    course = parse_course([{"id": "slow", "type": "delay", "at": loop}], [])
    moment = moment_of_a_profile(course.steps["slow"])
    with django_assert_num_queries(1):
        few = few_customers(acme.id)
    began = thread_time()
    assert (len(few), moment and past_for(moment, few)) == (100, (0, 0))
    assert thread_time() - began < 0.3
