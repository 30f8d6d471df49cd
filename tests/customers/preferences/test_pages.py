"""The pages behind the links of messages: one click, all choices, and what strangers learn there."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from customers.erasure import erase_customer
from customers.models import Consent, ConsentAct, ContactRing, Customer, Topic
from customers.preferences.languages import texts
from customers.preferences.links import DAYS_SHOWN, Link, link_of
from engage.models import Workspace
from tests.support.cases import each
from tests.support.simultaneous import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com", attributes={"locale": "en"})]
NOW = datetime(2026, 11, 28, 9, tzinfo=UTC)
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
ENROLLMENT = "68a1f0c2e4b0a1d2c3e4f5a6"


@pytest.fixture(autouse=True)
def topics(acme: Workspace) -> list[Topic]:
    made = [
        Topic(workspace=acme, key="news", name="News", channels=["email", "sms"], default="opted_in"),
        Topic(
            workspace=acme, key="offers", name="Offers", channels=["email", "push"], default="opted_out",
            texts={"de": {"name": "Angebote"}},
        ),
    ]  # fmt: skip
    return Topic.objects.bulk_create(made)


def link(customer: Customer, *, days: int = 0, **of: Any) -> str:
    """A token of a mail about news that was sent so many days ago."""
    sent = {"topic": "news", "channel": "email", "enrollment_id": ENROLLMENT, "step_id": "mail", **of}
    at = datetime.now(UTC) - timedelta(days=days)
    return Link(workspace_id=customer.workspace_id, customer_id=customer.id, at=at, **sent).token


def states() -> dict[str, str]:
    rows = Consent.objects.values_list("topic", "channel", "state", "until")
    return {f"{topic}:{channel}": f"{state}{' for a while' * bool(until)}" for topic, channel, state, until in rows}


def checked(page: Any) -> set[str]:
    return set(re.findall(r'name="on" value="([a-z:]+)" checked', page.content.decode()))


def words(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.content.decode()))


@each(
    "how",
    [
        {"data": ONE_CLICK},  # multipart
        {"data": "List-Unsubscribe=One-Click", "content_type": "application/x-www-form-urlencoded"},
        {"data": "{", "content_type": "application/json"},
        {"data": "--", "content_type": "multipart/form-data; boundary=no"},
        {},
    ],
)
def test_one_click_leaves_at_once_and_is_answered_200_again_and_again(ada: Customer, how: dict[str, Any]) -> None:
    address = f"/contact/unsubscribe/{link(ada)}"
    for _ in range(3):
        answer = Client(enforce_csrf_checks=True).post(address, **how)
        assert (answer.status_code, answer.cookies, answer.has_header("Location")) == (200, {}, False)
    assert states() == {"news:email": "unsubscribed"}
    (act,) = ConsentAct.objects.all()  # the second and the third say nothing new
    assert (act.source, act.source_id) == ("link", f"{ENROLLMENT}/mail")
    assert act.evidence == {"enrollmentId": ENROLLMENT, "stepId": "mail"}


@pytest.mark.django_db(transaction=True)
def test_of_two_clicks_at_once_one_is_recorded(ada: Customer) -> None:
    address = f"/contact/unsubscribe/{link(ada)}"
    clicks = all_at_once([lambda: Client().post(address, ONE_CLICK).status_code] * 4)
    assert (clicks, ConsentAct.objects.count()) == ([200] * 4, 1)


@each("page", ["unsubscribe", "preferences"])
@each("method", ["get", "head"])
def test_who_only_looks_changes_nothing(ada: Customer, client: Client, page: str, method: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        answer = getattr(client, method)(f"/contact/{page}/{link(ada)}")
    assert answer.status_code == 200
    assert not [one["sql"] for one in asked if not one["sql"].startswith("SELECT") and "SELECT" not in one["sql"]]
    assert (ConsentAct.objects.count(), answer.cookies) == (0, {})
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"] == "noindex, nofollow"
    assert answer["Cache-Control"] == "no-store"
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")


def test_a_link_holds_nothing_that_can_be_read_and_keys_that_are_kept_read_it(
    ada: Customer, settings: Settings
) -> None:
    settings.ENCRYPTION_KEYS = ["the key of last year, which is kept"]
    token = link(ada)
    assert re.fullmatch(r"[A-Za-z0-9_-]{100,500}", token)
    settings.ENCRYPTION_KEYS = ["this year's", "the key of last year, which is kept"]
    assert getattr(link_of(token), "customer_id", None) == ada.id
    settings.ENCRYPTION_KEYS = ["this year's"]
    assert link_of(token) is None


def test_a_link_that_is_not_whole_is_one_like_another_and_costs_no_query(ada: Customer, client: Client) -> None:
    token = link(ada)
    broken = [token[:-1], token[1:], f"{token}A", token.swapcase(), "1", "ä", "=", "a" * 3000]
    said = set()
    with CaptureQueriesContext(connection) as asked:
        for page in ("unsubscribe", "preferences"):
            for one in broken:
                for answer in (client.get(f"/contact/{page}/{one}"), client.post(f"/contact/{page}/{one}", ONE_CLICK)):
                    said.add((answer.status_code, answer.content))
    assert len(said) == 1
    assert {status for status, _ in said} == {404}
    assert not [one for one in asked if "SAVEPOINT" not in one["sql"]]
    assert ConsentAct.objects.count() == 0


def test_a_link_is_of_its_workspace(ada: Customer, rival: Workspace, client: Client) -> None:
    of_rival = Link(workspace_id=rival.id, customer_id=ada.id, topic="news", channel="email", at=datetime.now(UTC))
    answer = client.post(f"/contact/unsubscribe/{of_rival.token}", ONE_CLICK)
    assert "Nothing is kept of you here." in words(answer)
    assert ConsentAct.objects.count() == 0


def test_after_an_erasure_the_page_says_that_nothing_is_kept(ada: Customer, client: Client) -> None:
    token, old = link(ada), link(ada, days=DAYS_SHOWN + 1)
    before = client.post(f"/contact/unsubscribe/{old}", ONE_CLICK)
    erase_customer(workspace_id=ada.workspace_id, customer_id=ada.id)
    for page in ("unsubscribe", "preferences"):
        for answer in (
            client.get(f"/contact/{page}/{token}"),
            client.post(f"/contact/{page}/{token}", {"act": "save"}),
        ):
            assert (answer.status_code, words(answer).count("Nothing is kept of you here.")) == (200, 2)
    after = client.post(f"/contact/unsubscribe/{old}", ONE_CLICK)
    assert (after.status_code, after.content) == (200, before.content)


def test_who_was_merged_is_who_leaves(server: Any, ada: Customer, acme: Workspace, client: Client) -> None:
    twin = Customer.objects.create(workspace=acme, external_id="twin")
    token = link(twin)
    path = f"/api/v1/customers/{acme.id}/merge"
    merged = server.post(path, {"customer": {"external_id": "twin"}, "into": {"external_id": ada.external_id}})
    assert merged.status_code == 200, merged.json()
    client.post(f"/contact/unsubscribe/{token}", ONE_CLICK)
    assert [(one.customer_id, one.state) for one in Consent.objects.all()] == [(ada.id, "unsubscribed")]


def test_an_old_link_leaves_and_shows_nothing(ada: Customer, client: Client) -> None:
    token = link(ada, days=DAYS_SHOWN + 1)
    for page in ("unsubscribe", "preferences"):
        shown = words(client.get(f"/contact/{page}/{token}"))
        assert "This link is old" in shown
        assert not re.search("a…@|Acme|News|Offers", shown)
    client.post(f"/contact/preferences/{token}", {"act": "save", "on": ["offers:email"], "shown": ["news:sms"]})
    assert states() == {"news:email": "unsubscribed"}  # the one thing that it does


@each("channel, said", [("email", "You get no more of these messages."), ("", "You get no more of News.")])
def test_what_is_said_of_leaving_is_true_of_other_channels(
    ada: Customer, client: Client, channel: str, said: str
) -> None:
    assert said in words(client.post(f"/contact/unsubscribe/{link(ada, channel=channel)}", ONE_CLICK))


@each(
    "of, left",
    [
        ({}, {"news:email"}),
        ({"channel": ""}, {"news:email", "news:sms"}),
        ({"topic": ""}, {"news:email", "offers:email"}),
        ({"topic": "gone"}, {"gone:email"}),
        ({"topic": "gone", "channel": ""}, {f"gone:{one}" for one in ("email", "sms", "push", "chat", "in_app")}),
        ({"topic": "", "channel": ""}, {"news:email", "news:sms", "offers:email", "offers:push"}),
    ],
)
@each("page", ["unsubscribe", "preferences"])
def test_one_click_leaves_what_the_message_was_about(
    ada: Customer, client: Client, page: str, of: dict[str, Any], left: set[str]
) -> None:
    assert client.post(f"/contact/{page}/{link(ada, **of)}", ONE_CLICK).status_code == 200
    assert states() == dict.fromkeys(left, "unsubscribed")


def test_all_choices_are_seen_made_and_undone(ada: Customer, client: Client) -> None:
    address = f"/contact/preferences/{link(ada)}"
    shown = client.get(address)
    assert checked(shown) == {"news:email", "news:sms"}  # of offers nothing is known, and it needs a consent
    assert "For a…@example.com" in words(shown)
    assert "ada@example.com" not in shown.content.decode()
    every = ["news:email", "news:sms", "offers:email", "offers:push"]
    wanted = {"act": "save", "shown": every, "on": ["news:email", "offers:push", "offers:fax", "none"]}
    assert checked(client.post(address, wanted)) == {"news:email", "offers:push"}
    assert states() == {"news:sms": "unsubscribed", "offers:push": "subscribed"}
    client.post(address, wanted)
    acts = ConsentAct.objects.values_list("source", "source_id")
    assert [*acts] == [("page", f"{ENROLLMENT}/mail")] * 2  # of what differed alone, and once
    for act, becomes in (("all", "unsubscribed"), ("pause", "unsubscribed for a while")):
        left = client.post(address, {"act": act})
        assert checked(left) == set()
        undo = {"act": "undo", "on": re.findall(r'type="hidden" name="on" value="([a-z:]+)"', left.content.decode())}
        assert (undo["on"], states()["news:email"]) == (["news:email", "offers:push"], becomes)
        assert checked(client.post(address, undo)) == {"news:email", "offers:push"}


def test_a_pause_ends_by_itself_after_30_days(ada: Customer, client: Client) -> None:
    address = f"/contact/preferences/{link(ada)}"
    until = datetime.now(UTC) + timedelta(days=30)
    assert f"paused until {until:%Y-%m-%d}" in words(client.post(address, {"act": "pause"}))
    assert checked(client.get(address)) == set()
    Consent.objects.update(until=datetime.now(UTC))
    assert checked(client.get(address)) == {"news:email", "news:sms"}


def test_at_most_weekly_is_a_cap_of_ones_own(ada: Customer, client: Client) -> None:
    address = f"/contact/preferences/{link(ada)}"
    for chosen, rings in (({"weekly": "on"}, 1), ({"weekly": "on"}, 1), ({}, 0)):
        page = client.post(address, {"act": "save", **chosen})
        assert ('name="weekly" checked' in page.content.decode()) == bool(rings)
        assert ContactRing.objects.filter(customer=ada, cap="own", times=[]).count() == rings
    client.post(address, {"act": "save", "weekly": "on"})
    client.post(address, {"act": "all"})
    assert ContactRing.objects.count() == 1  # leaving says nothing about it


@each("form", [{}, {"act": "other"}, {"act": "message"}, {"on": "offers:email"}])
def test_a_form_that_is_none_of_the_page_changes_nothing(ada: Customer, client: Client, form: dict[str, str]) -> None:
    answer = client.post(f"/contact/preferences/{link(ada)}", form)
    assert (answer.status_code, ConsentAct.objects.count()) == (400, 0)


@each("method", ["put", "patch", "delete", "options"])
def test_other_methods_are_refused(ada: Customer, client: Client, method: str) -> None:
    answer = getattr(client, method)(f"/contact/unsubscribe/{link(ada)}")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD, POST")


def test_who_comes_too_often_from_one_address_is_refused(ada: Customer, client: Client, settings: Settings) -> None:
    settings.CONTACT_RATE_LIMIT = "2/h"
    address = f"/contact/unsubscribe/{link(ada)}"
    codes = [client.post(address, ONE_CLICK, REMOTE_ADDR="198.51.100.7").status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    assert client.post(address, ONE_CLICK, REMOTE_ADDR="198.51.100.8").status_code == 200


@each(
    "locale, accepted, language",
    [
        ("de-AT", "fr", "de"),
        ("pt_BR", "", "pt"),
        ("xx", "nl;q=0.5,pl", "pl"),
        (None, "zz,it-CH;q=0.3", "it"),
        (7, "", "en"),
        (None, "sv", "en"),
    ],
)
def test_the_page_speaks_ones_language(
    ada: Customer, client: Client, locale: Any, accepted: str, language: str
) -> None:
    Customer.objects.filter(pk=ada.pk).update(attributes={} if locale is None else {"locale": locale})
    page = client.get(f"/contact/preferences/{link(ada)}", headers={"Accept-Language": accepted})
    assert f'<html lang="{language}">' in page.content.decode()
    assert texts()[language]["pause"] in words(page)
    assert ("Angebote" in words(page)) == (language == "de")


def test_the_texts_of_all_languages_have_the_same_names_and_values() -> None:
    assert set(texts()) == {"en", "de", "fr", "es", "pt", "it", "nl", "pl"}
    named = {
        language: {name: set(re.findall(r"{\w+}", text)) for name, text in own.items()}
        for language, own in texts().items()
    }
    assert all(own == named["en"] for own in named.values())
