from typing import Any

import pytest

from customers.attribute_rules import MAX_ATTRIBUTES_BYTES, check_attribute_names, check_attributes_size
from engage.errors import InvalidRequest
from tests.support.cases import each


@each("name", ["a", "x" * 255, "email", "with space", "cost$", "__init__", "名前", "a.b"])
def test_a_name_may_be_almost_anything(name: str) -> None:
    check_attribute_names([name])


@each(
    "name, message",
    [
        ("", "The attribute name '' is empty."),
        ("x" * 256, f"The attribute name {'x' * 80!r} is 256 characters long; its maximum is 255."),
        ("$set", "The attribute name '$set' starts with $, which is kept for the service's own names."),
        ("__proto__", "The attribute name '__proto__' is reserved."),
        ("constructor", "The attribute name 'constructor' is reserved."),
        ("prototype", "The attribute name 'prototype' is reserved."),
    ],
)
def test_a_refused_name_is_named_with_the_reason(name: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_attribute_names(["fine", name])
    assert refused.value.message == message


def _of_size(size: int) -> dict[str, Any]:
    return {"ü": "x" * (size - len('{"ü":""}'.encode()))}


def test_a_profile_may_be_as_big_as_the_maximum_and_no_bigger() -> None:
    check_attributes_size(_of_size(MAX_ATTRIBUTES_BYTES))
    with pytest.raises(InvalidRequest) as refused:
        check_attributes_size(_of_size(MAX_ATTRIBUTES_BYTES + 1))
    assert refused.value.message == (
        "The profile's attributes would come to 262145 bytes of JSON; the maximum is 262144."
    )
