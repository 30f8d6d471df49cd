"""Where webhooks do not go, in every notation; and that the address which was judged is the one connected to."""

import socket
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from engage.models import Workspace
from journeys.engine.webhooks.addresses import is_public
from journeys.engine.webhooks.client import Client, Limits, Request
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.resending import send_again
from journeys.models import WebhookAttempt, WebhookDelivery
from journeys.steps.webhook_targets import TargetRules, parse_target
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.cases import each
from tests.support.receiver import Receiver, running

NOT_PUBLIC = "The host has an address that is not public; webhooks are not sent there."
NO_HOST = "The URL's host is no name and no address."
SHORT = Limits(connect=0.3, total=0.6)

Answers = dict[str, list[str]]


def request(url: str) -> Request:
    return Request(method="POST", url=url, headers={}, signed={"webhook-id": "msg_1"}, body=b"{}")


def sent(url: str, *allowed: str) -> Outcome:
    networks = [ip_network(network) for network in allowed]
    return Client(allowed_networks=networks, limits=SHORT).send(request(url), at=timezone.now())


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers], list[str]]:
    """Names that resolve as told, one answer after the other, the last one for ever; the names that were asked for.

    What is written as an address is still read by the C library, as it is outside of tests.
    """
    real, asked = socket.getaddrinfo, list[str]()

    def know(answers: Answers) -> list[str]:
        def getaddrinfo(host: str, port: int, **options: Any) -> Any:
            if host not in answers or options["flags"] & socket.AI_NUMERICHOST:
                return real(host, port, **options)
            asked.append(host)
            now = answers[host].pop(0) if len(answers[host]) > 1 else answers[host][0]
            return [found for address in now.split() for found in real(address, port, type=options["type"])]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return asked

    return know


def full_width(text: str) -> str:
    """The same in the letters that East Asian typesetting has for it."""
    return "".join(chr(ord(letter) + 0xFEE0) for letter in text)


HOSTILE = [
    # Loopback, in each way to write it
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0x1",
    "017700000001", "0177.0.0.1", "0177.0x0.0.01", "00000177.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST",
    "localhost.",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]",
    # Nobody and everybody
    "0.0.0.0", "0", "0.0.0.1", "[::]", "255.255.255.255", "224.0.0.1", "239.255.255.250", "240.0.0.1", "[ff02::1]",
    "[ff0e::1]",
    # Private and shared networks
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.254",
    "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "192.88.99.1", "167772161", "0xa.0.0.1",
    "012.0.0.1", "[fc00::1]", "[fd12:3456:789a::1]", "[fec0::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]",
    # The far ends of those that are no whole numbers of bytes or words, and of the rest
    "0.255.255.255", "192.168.255.255", "192.0.0.255", "192.0.2.255", "198.19.255.255", "198.51.100.255",
    "203.0.113.255", "169.254.255.255", "192.88.99.255", "192.31.196.255", "192.52.193.255", "192.175.48.255",
    "[2001:1ff:ffff::]", "[2001:db8:ffff::]", "[2002:ffff::]", "[2620:4f:8000:ffff::]", "[3fff:fff:ffff::]",
    # Link-local, and what clouds tell machines
    "169.254.169.254", "169.254.0.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "[fe80::1]", "[febf::1]",
    "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    # IPv4 inside of IPv6: mapped, compatible, translated, 6to4, Teredo, NAT64
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]",
    "[::7f00:1]", "[::ffff:0:127.0.0.1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]",
]  # fmt: skip


@each("scheme", ["http", "https"])
@each("host", HOSTILE)
def test_no_webhook_goes_to(host: str, scheme: str) -> None:
    outcome = sent(f"{scheme}://{host}/hook")
    assert (outcome.refused, outcome.status, outcome.error) == (True, None, NOT_PUBLIC)


@each(
    "url, error",
    [
        ("http://93.184.216.34@127.0.0.1/", "The URL must not have user information."),
        ("http://user:word@93.184.216.34/", "The URL must not have user information."),
        ("http://127.0.0.1\\@93.184.216.34/", "The URL must not have user information."),
        ("http://93.184.216.34\\.example/", "The URL must not have user information."),
        ("http://[::1%25lo]/", "The URL's host is no IPv6 address."),
        ("http://[127.0.0.1]/", "The URL cannot be read."),
        ("http://[::1/", "The URL cannot be read."),
        ("http://[v1.x]/", "The URL's host is no IPv6 address."),
        ("http://127%2e0.0.1/", NO_HOST),
        ("http://127.0.0.1%00.example/", NO_HOST),
        ("http:///etc/passwd", NO_HOST),
        ("http://", NO_HOST),
        ("http://.../", NO_HOST),
        ("http://bücher.example/", NO_HOST),
        # Letters, digits and dots that some turn into ASCII
        *(
            (f"http://{host}/", NO_HOST)
            for host in (
                "①②⑦.⓪.⓪.①",
                full_width("127.0.0.1"),
                full_width("localhost"),
                "127。0。0。1",
                "127.0.0\uff0e1",
                "\u212aelvin.example",  # a small k, once it is lowered
            )
        ),
        ("http://exa mple.com/", "The URL's path and query must be percent-encoded."),
        ("http://example.com\t/", "The URL's path and query must be percent-encoded."),
        ("http://exam\nple.com/", "The URL's path and query must be percent-encoded."),
        ("http://example.com/a b", "The URL's path and query must be percent-encoded."),
        ("http://example.com/\r\nHost: evil", "The URL's path and query must be percent-encoded."),
        ("http://example.com/Zoë", "The URL's path and query must be percent-encoded."),
        ("http://example.com/\\evil", "The URL's path and query must be percent-encoded."),
        ("http://example.com:0/", "The URL's port must be from 1 to 65535."),
        ("http://example.com:65536/", "The URL cannot be read."),
        ("http://example.com:port/", "The URL cannot be read."),
        ("http://example.com:-1/", "The URL cannot be read."),
        ("http://" + "a" * 64 + ".example/", NO_HOST),
        ("http://" + "a." * 126 + "bc/", NO_HOST),  # 254 characters
        ("file:///etc/passwd", "The URL must begin with http:// or https://."),
        ("gopher://127.0.0.1:6379/_FLUSHALL", "The URL must begin with http:// or https://."),
        ("ftp://example.com/", "The URL must begin with http:// or https://."),
        ("//example.com/", "The URL must begin with http:// or https://."),
        ("unix:///run/x", "The URL must begin with http:// or https://."),
        ("", "The URL must begin with http:// or https://."),
    ],
)
def test_a_url_that_can_be_read_in_two_ways_is_refused(url: str, error: str) -> None:
    outcome = sent(url, "127.0.0.0/8", "::1/128")
    assert (outcome.refused, outcome.status, outcome.error) == (True, None, error)


@each(
    "url, host, host_header",
    [
        ("http://example.com", "example.com", "example.com"),
        ("HTTPS://Example.COM:443/a", "example.com", "example.com"),
        ("http://example.com.:8080/a", "example.com", "example.com:8080"),
        ("https://example.com:80/a", "example.com", "example.com:80"),
        ("https://my_host.example/", "my_host.example", "my_host.example"),
        ("https://" + "a." * 126 + "b/", "a." * 126 + "b", "a." * 126 + "b"),  # 253 characters, the most there can be
        ("https://" + "a" * 63 + ".example/", "a" * 63 + ".example", "a" * 63 + ".example"),
        ("https://XN--bcher-kva.example/", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("http://[2606:4700:0::1111]:8080/", "2606:4700::1111", "[2606:4700::1111]:8080"),
    ],
)
def test_a_host_is_read_in_one_way(url: str, host: str, host_header: str) -> None:
    target = parse_target(url)
    assert (target.host, target.host_header) == (host, host_header)


@each(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "223.255.255.254",
                "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888",
                # next to those that are not
                "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "126.255.255.255", "128.0.0.0",
                "169.253.255.255", "169.255.0.0", "172.15.255.255", "192.0.1.0", "192.167.255.255", "192.169.0.0",
                "198.17.255.255", "198.20.0.0", "168.63.129.15", "168.63.129.17", "2000::", "2001:200::", "2001:db7::",
                "2001:db9::", "2003::", "3ffe::", "3fff:1000::"]
)  # fmt: skip
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "addresses",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1",
     "93.184.216.34 127.0.0.1", "127.0.0.1 93.184.216.34", "2606:4700::1111 10.0.0.1"],
)  # fmt: skip
def test_a_name_with_any_address_that_is_not_public_is_refused(names: Any, addresses: str) -> None:
    names({"hooks.example": [addresses]})
    outcome = sent("http://hooks.example/")
    assert (outcome.refused, outcome.error) == (True, NOT_PUBLIC)


def test_a_name_that_says_something_else_the_second_time_is_asked_once(names: Any) -> None:
    with running("127.0.0.2") as judged, running("127.0.0.1", judged.port) as hidden:
        asked = names({"rebinds.example": ["127.0.0.2", "127.0.0.1"]})
        outcome = sent(f"http://rebinds.example:{judged.port}/ok", "127.0.0.2/32")
        assert outcome.status == 200
        assert asked == ["rebinds.example"]
        assert [one.headers["host"] for one in judged.arrived] == [f"rebinds.example:{judged.port}"]
        again = sent(f"http://rebinds.example:{judged.port}/ok", "127.0.0.2/32")
        assert again.error == NOT_PUBLIC
        assert hidden.arrived == []


@pytest.mark.parametrize(("dead", "reached"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_host_is_reached_by_the_first_of_three_addresses_that_answers(names: Any, dead: int, reached: bool) -> None:
    with running("127.0.0.2") as receiver:
        before = [f"127.0.0.{number}" for number in range(3, 3 + dead)]  # where nobody listens
        names({"hooks.example": [" ".join([*before, "127.0.0.2", "127.0.0.9"])]})
        outcome = sent(f"http://hooks.example:{receiver.port}/ok", "127.0.0.0/8")
        assert (outcome.status, outcome.error) == ((200, "") if reached else (None, "Connection refused."))
        assert len(receiver.arrived) == int(reached)


def test_a_redirect_to_another_address_is_not_followed(receiver: Receiver) -> None:
    with running() as hidden:
        outcome = sent(receiver.url(f"/redirect?to={hidden.url()}"), "127.0.0.0/8")
        assert outcome.status == 302
        assert hidden.arrived == []


def test_a_mapped_address_is_not_allowed_by_the_network_that_it_holds(receiver: Receiver) -> None:
    outcome = sent(f"http://[::ffff:127.0.0.1]:{receiver.port}/ok", "127.0.0.0/8")
    assert outcome.error == NOT_PUBLIC
    assert receiver.arrived == []


def test_only_the_networks_that_are_listed_are_allowed(receiver: Receiver) -> None:
    assert sent(receiver.url(), "127.0.0.1/32").status == 200
    assert sent(receiver.url(), "127.0.0.2/31", "10.0.0.0/8", "::/0").error == NOT_PUBLIC
    assert len(receiver.arrived) == 1


@pytest.mark.django_db
def test_what_is_refused_fails_at_once_on_every_path_that_sends(
    acme: Workspace, receiver: Receiver, settings: Settings
) -> None:
    settings.WEBHOOK_ALLOWED_NETWORKS = []
    [first, tried] = standing(acme, receiver.url(), number=2)
    WebhookDelivery.objects.filter(id=tried.id).update(attempts=3)  # as after answers from a public address
    send()
    assert set(WebhookDelivery.objects.values_list("state", "result")) == {("failed", NOT_PUBLIC)}
    first.enrollment.step_runs.update(state="failed")
    send_again(workspace_id=acme.id, delivery_id=first.id)
    make_due()
    send()
    first.refresh_from_db()
    assert (first.state, first.result, first.attempts) == ("failed", NOT_PUBLIC, 2)
    assert set(WebhookAttempt.objects.values_list("status", "error")) == {(None, NOT_PUBLIC)}
    assert list(first.made.values_list("number", flat=True).order_by("number")) == [1, 2]
    assert receiver.arrived == []


# In the clear, and to ports of other protocols ------------------------------------------------------------------------

NO_HTTP = "The URL must begin with https://; webhooks are not sent in the clear."


def test_in_production_nothing_is_sent_in_the_clear(receiver: Receiver) -> None:
    client = Client(allowed_networks=[ip_network("127.0.0.0/8")], rules=TargetRules(http=False))
    outcome = client.send(request(receiver.url()), at=timezone.now())
    assert (outcome.refused, outcome.error, receiver.arrived) == (True, NO_HTTP, [])


@each("port", [22, 25, 79, 442, 1023])
def test_ports_of_other_protocols_are_not_called(port: int) -> None:
    outcome = Client(allowed_networks=[ip_network("127.0.0.0/8")]).send(
        request(f"http://127.0.0.1:{port}/"), at=timezone.now()
    )
    assert (outcome.refused, outcome.error) == (True, f"Webhooks are not sent to port {port}.")


@each("url", ["http://a.example/", "https://a.example/", "http://a.example:1024", "https://a:65535"])
def test_the_usual_ports_may_be_called(url: str) -> None:
    TargetRules().check(parse_target(url))
