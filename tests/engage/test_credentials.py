"""API keys: their form, and what is kept of them."""

import hashlib

import pytest

from engage.credentials import api_keys as credentials
from engage.credentials.api_keys import KEY_PREFIX, digest, is_well_formed, new_key
from engage.models import ApiKey, Workspace
from tests.support.calls import customers_path, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory


def test_a_key_is_recognised_by_its_prefix_and_its_checksum() -> None:
    secret = new_key().secret
    assert secret.startswith(KEY_PREFIX)
    assert is_well_formed(secret)


def test_a_key_with_one_character_changed_is_not_well_formed() -> None:
    secret = new_key().secret
    for place in range(len(KEY_PREFIX), len(secret)):
        changed = secret[:place] + ("a" if secret[place] != "a" else "b") + secret[place + 1 :]
        assert not is_well_formed(changed)


@pytest.mark.django_db
@each("character", ["é", "\udcff"])
def test_a_right_checksum_of_odd_characters_is_a_key_that_nobody_has(
    server: ServerClient, acme: Workspace, character: str
) -> None:
    odd = character * 32
    secret = KEY_PREFIX + odd + credentials._checksum(odd)
    assert is_well_formed(secret)
    answer = server.get(customers_path(acme), headers={"Authorization": f"Bearer {secret}"})
    refused(answer, status=401, error="Unauthorized")


@each("text", ["", "engage_", "engage", "engage_" + "a" * 38, "é" * 45, "engage_" + "\udcff" * 38])
def test_what_is_no_key_is_not_well_formed(text: str) -> None:
    assert not is_well_formed(text)


def test_no_two_keys_are_alike() -> None:
    assert len({new_key().secret for _ in range(1000)}) == 1000


@pytest.mark.django_db
def test_only_the_sha_256_is_kept() -> None:
    key = ApiKeyFactory.create()
    secret: str = vars(key)["secret"]
    stored = ApiKey.objects.filter(id=key.id).values().get()
    assert bytes(stored["digest"]) == hashlib.sha256(secret.encode()).digest() == digest(secret)
    assert not any(secret in str(value) for value in stored.values())
    assert stored["prefix"] == secret[: len(KEY_PREFIX) + 6]
