"""Who is counted as one caller."""

from typing import Any

from django.test import RequestFactory

from engage.http.client_address import client_address, exact_address
from tests.support.cases import each


@each(
    "proxies, peer, forwarded, expected",
    [
        (0, "203.0.113.7", "", "203.0.113.7"),
        (0, "203.0.113.7", "198.51.100.1", "203.0.113.7"),  # nobody in front: the header is the caller's own word
        (1, "10.0.0.1", "198.51.100.1", "198.51.100.1"),
        (1, "10.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (2, "10.0.0.1", "6.6.6.6, 198.51.100.1, 10.0.0.2", "198.51.100.1"),
        (2, "10.0.0.1", "198.51.100.1", "10.0.0.1"),  # fewer than promised: not believed
        (2, "10.0.0.1", "198.51.100.1, , 10.0.0.2, ", "198.51.100.1"),
        (1, "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        (1, "10.0.0.1", "[2001:db8:1:2::9]:4711", "2001:db8:1:2::/64"),
        (1, "10.0.0.1", "[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        (1, "10.0.0.1", "unknown", "10.0.0.1"),
        (0, "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        (0, "2001:db8:1:2::9", "", "2001:db8:1:2::/64"),
        (0, "::ffff:203.0.113.7", "", "203.0.113.7"),
        (0, "fe80::1%eth0", "", "fe80::/64"),
        (0, "", "", ""),
    ],
)
def test_the_address_that_counts(settings: Any, proxies: int, peer: str, forwarded: str, expected: str) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = RequestFactory().get("/", headers={"X-Forwarded-For": forwarded}, REMOTE_ADDR=peer)
    assert client_address(request) == expected


def test_an_address_is_told_without_its_zone_which_no_column_holds() -> None:
    assert str(exact_address(RequestFactory().get("/", REMOTE_ADDR="fe80::1%eth0"))) == "fe80::1"
