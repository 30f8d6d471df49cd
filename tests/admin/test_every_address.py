"""Every address that the admin routes is a page, or is named as none: browsers look at all of the pages.

None of them names a file of the program: people at the admin have no use for one.
"""

import re

import pytest
from django.test import Client
from django.utils.html import strip_tags

from engage.models import Workspace
from tests.browsers.admin_pages import pages
from tests.browsers.furnished import furnish
from tests.support.clients import ServerClient

_SCRIPT = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
_FILE = re.compile(r"[\w/]+\.(?:py|md)\b")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_address_opens_or_is_forbidden_and_names_no_file(
    staff: Client, onlooker: Client, acme: Workspace, server: ServerClient
) -> None:
    """Who may only look also reads what the models say of their fields."""
    found = pages(furnish(acme, server))
    answers = {
        (name, who): client.get(url)
        for name, url in found.items()
        for who, client in (("root", staff), ("onlooker", onlooker))
    }
    assert {at: answer.status_code for at, answer in answers.items() if answer.status_code not in {200, 403}} == {}
    assert answers["index", "root"].status_code == 200
    texts = {at: strip_tags(_SCRIPT.sub("", answer.content.decode())) for at, answer in answers.items()}
    assert {at: named for at, text in texts.items() if (named := _FILE.findall(text))} == {}
