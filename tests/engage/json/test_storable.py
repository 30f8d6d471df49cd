import json
from decimal import Decimal

import pytest
from django.db import connection

from engage.json.storable import InvalidJson, parse_object
from tests.support.cases import each

LONG_KEY = b"k" * 1000


@each(
    "body, message",
    [
        (rb'{"a": "x\u0000"}', "a holds a NUL character, which cannot be stored."),
        (rb'{"a": {"b": [1, "\ud800"]}}', "a.b[1] holds half of a surrogate pair, which cannot be stored."),
        (rb'{"a": {"\u0000": 1}}', "A key of a holds a NUL character, which cannot be stored."),
        (rb'{"\udfff": 1}', "A key of the body holds half of a surrogate pair, which cannot be stored."),
        (b'{"a": {"b": 1e400}}', "a.b is a number out of range: it must fit a 64-bit float."),
        (b'{"a": [18446744073709551616]}', "a[0] is a number out of range: integers go from -2^63 to 2^64 - 1."),
        (b'{"a": -9223372036854775809}', "a is a number out of range: integers go from -2^63 to 2^64 - 1."),
        (b'{"a": NaN}', "a is NaN, which is not JSON."),
        (b'{"a": {"b": -Infinity}}', "a.b is -Infinity, which is not JSON."),
        (b"1e400", "The body must be a JSON object, but a number came."),
        (b'{"%s": [1e400]}' % LONG_KEY, "k" * 200 + " is a number out of range: it must fit a 64-bit float."),
    ],
)
def test_a_value_that_cannot_be_stored_is_refused_by_its_place(body: bytes, message: str) -> None:
    with pytest.raises(InvalidJson) as refused:
        parse_object(body)
    assert refused.value.message == message


def test_the_greatest_numbers_and_whole_surrogate_pairs_are_kept() -> None:
    body = rb'{"a": [18446744073709551615, -9223372036854775808, 1.7976931348623157e308, "\ud83d\ude00"]}'
    assert parse_object(body) == {"a": [2**64 - 1, -(2**63), 17976931348623157 * 10**292, "😀"]}


@each("number", [1e20, -1e20, 1e22, 2.0**64, -(2.0**65), 1.7976931348623157e308, -1.7976931348623157e308])
def test_a_large_float_is_read_again_from_all_the_digits_that_postgresql_gives(number: float) -> None:
    written_out = f"{Decimal(repr(number)):f}"
    assert parse_object(b'{"a": %s}' % written_out.encode()) == {"a": int(Decimal(repr(number)))}


@each(
    "digits",
    [
        "1e15",
        "1e16",
        "-1E+16",
        "2.5e17",
        "1e20",
        "123456789012345680000",
        "1e23",
        "1.5e-7",
        "5e-300",
        "-0.0",
        "0.1",
        "7",
    ],
)
def test_a_number_is_read_as_it_is_read_back(digits: str, db: None) -> None:
    first = parse_object(b'{"a": %s}' % digits.encode())
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::jsonb::text", [json.dumps(first)])
        stored = cursor.fetchone()[0]
    assert json.dumps(parse_object(stored.encode())) == json.dumps(first)


@each("digits", ["18446744073709551616", "100000000000000000001", "9" * 309, "1" + "0" * 309, "9" * 5000])
def test_an_integer_that_no_float_stands_for_is_refused(digits: str) -> None:
    with pytest.raises(InvalidJson, match="out of range"):
        parse_object(b'{"a": -%s}' % digits.encode())


@each("number", ["1e308", "-1.5e-300"])
def test_numbers_that_would_be_long_when_they_are_read_back_are_few(number: str) -> None:
    def body(many: int) -> bytes:
        return b'{"a": [%s]}' % ",".join([number] * many).encode()

    parse_object(body(50))
    with pytest.raises(InvalidJson, match="written out, they are too long"):
        parse_object(body(60))


def test_usual_numbers_may_be_many() -> None:
    numbers = [0.1, -2.5e-17, 1e20, 0.0, -0.0, 123456.789, 5e-20, 2**64 - 1]
    assert parse_object(json.dumps({"a": numbers * 10_000}).encode()) == {"a": numbers * 10_000}
