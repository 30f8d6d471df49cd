"""The variables of a seed file."""

from typing import Any

import pytest
from django.core.management import CommandError

from journeys.models import Journey, Variable
from tests.journeys.seeding.descriptions import Seed, described
from tests.support.cases import each

pytestmark = pytest.mark.django_db


def reading(name: str | None) -> list[Any]:
    steps = [{"id": "n", "type": "update_profile", "attributes": {"shop": f"{{{{ vars.{name} }}}}"}}] if name else []
    return [{"key": "welcome", "steps": steps}]


def test_they_are_there_for_the_journeys_of_the_file_and_null_takes_one_away(seed: Seed) -> None:
    first = described(variables={"shop": "Garden", "colours": ["green"]}, journeys=reading("shop"))
    assert seed(first)["variables"] == {one.name: one.id for one in Variable.objects.all()}
    seed(described(variables={"shop": {"name": "Orchard"}}))
    assert dict(Variable.objects.values_list("name", "value")) == {"shop": {"name": "Orchard"}, "colours": ["green"]}
    with pytest.raises(CommandError, match=r"^variables\.shop: The variable shop is read by the journey welcome"):
        seed(described(variables={"shop": None}))
    with pytest.raises(CommandError, match=r"^journeys\[0\]\.steps\[0\]\.attributes\.shop reads vars\.other"):
        seed(described(journeys=reading("other")))
    seed(described(variables={"shop": None, "gone": None}, journeys=reading(None)))
    assert list(Variable.objects.values_list("name", flat=True)) == ["colours"]


def test_a_file_opens_no_journey_whose_variable_is_gone(seed: Seed) -> None:
    (welcome,) = reading("shop")
    seed(described(variables={"shop": "Garden"}, journeys=[{**welcome, "active": False}]))
    seed(described(variables={"shop": None}))
    with pytest.raises(CommandError, match=r"^journeys\[0\]\.steps\[0\]\.attributes\.shop reads vars\.shop, but"):
        seed(described(journeys=[{**welcome, "active": True}]))
    assert not Journey.objects.get(key="welcome").active


@pytest.mark.slow
@each(
    "variables, message",
    [
        ([], "variables must be an object, but an array came."),
        ({"odd name": 1}, "variables.odd name: Use letters, digits and _; begin with no digit."),
        ({"n" * 101: 1}, f"variables.{'n' * 101}: It must be at most 100 characters"),
        ({"shop": "x" * 65_536}, "variables.shop: At most 64 KiB of JSON, nested 10 deep."),
        ({f"v{n}": n for n in range(201)}, "variables.v200.key: a workspace has at most 200 variables."),
    ],
)
def test_what_is_wrong_names_the_place(seed: Seed, variables: Any, message: str) -> None:
    with pytest.raises(CommandError) as refused:
        seed(described(variables=variables, journeys=[{"key": "a"}]))
    assert str(refused.value).startswith(message)
    assert not Variable.objects.exists()
    assert not Journey.objects.exists()
