"""Strategies for steps of all types, and definitions of them, right and wrong."""

from typing import Any

from hypothesis import strategies as st

from tests.support.factories import PRO

IDS = ["a", "b", "c", "d"]
URLS = ["https://example.com", "https://example.com/{{ 1 | divided_by: 0 }}"]
targets = st.sampled_from([*IDS, None])
AGO = {"field": "customer.since", "op": "before", "value": {"now": "-P1D"}}
NUMBERS = {"field": "customer.seats", "op": "gt", "to": "api.payload.n"}
conditions = st.sampled_from(
    [PRO, AGO, NUMBERS, {"not": PRO}, {"any": [AGO, {"field": "customer.plan", "op": "in", "to": "api.payload.plans"}]}]
)
typed = st.sampled_from(
    [{"$value": "api.payload.plans[0]"}, {"$value": "customer.address.city", "default": [1, {}]}, {"$value": "now"}]
)
# What a step of each type may hold beside its id.
STEPS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "in_app": st.fixed_dictionaries(
        {"message": st.sampled_from(["sale", "gone"])},
        optional={"withdrawOnExit": st.booleans(), "values": st.fixed_dictionaries({"a": typed})},
    ),
    "delay": st.one_of(
        st.fixed_dictionaries({"for": st.sampled_from(["PT0S", "PT1S", "P1D"])}),
        st.fixed_dictionaries(
            {"at": st.sampled_from(["2026-12-24", "2020-01-01", "{{ x }}", "9999-12-31"])},
            optional={
                "offset": st.sampled_from(["-P2D", "P3650D"]),
                "timezone": st.sampled_from(["Asia/Tokyo", {"from": "customer.plan", "else": "UTC"}]),
                "onMissing": st.just("continue"),
            },
        ),
        st.fixed_dictionaries(
            {"until": st.just("09:00"), "timezone": st.just("UTC")}, optional={"days": st.just(["mo", "su"])}
        ),
    ),
    "wait_for_event": st.fixed_dictionaries(
        {"event": st.sampled_from(["order", "left"]), "timeout": st.just("PT2S")},
        optional={
            "onEvent": targets,
            "onTimeout": targets,
            "where": st.just({"field": "event.properties.n", "op": "ne", "to": "customer.seats"}),
            "fromBridge": st.booleans(),
        },
    ),
    "wait_until": st.fixed_dictionaries(
        {"if": conditions, "timeout": st.just("PT2S")},
        optional={"onTrue": targets, "onTimeout": targets},
    ),
    "branch": st.fixed_dictionaries(
        {
            "cases": st.lists(
                st.fixed_dictionaries({"if": conditions, "next": targets}),
                min_size=1,
                max_size=2,
            )
        },
        optional={"else": targets},
    ),
    "split": st.fixed_dictionaries(
        {"paths": st.lists(st.fixed_dictionaries({"weight": st.just(1), "next": targets}), min_size=2, max_size=3)}
    ),
    "update_profile": st.fixed_dictionaries(
        {"attributes": st.fixed_dictionaries({"plan": st.just("{{ customer.plan }}x")}, optional={"seats": typed})}
    ),
    "track_event": st.fixed_dictionaries(
        {"eventName": st.sampled_from(["order", "left"])},
        optional={"eventProperties": st.fixed_dictionaries({"n": typed})},
    ),
    "webhook": st.fixed_dictionaries(
        {"url": st.sampled_from(URLS)},
        optional={
            "onFailure": st.just("exit"),
            "keep": st.just({"n": "n"}),
            "form": st.sampled_from(
                [{}, {"a": {"$value": "steps.a.n"}}, {"a": [{"$value": "customer.plan"}, "{{ now }}"]}]
            ),
            "headers": st.just({"X-Plan": "{{ customer.plan }}"}),
            "auth": st.sampled_from([{"basic": {"user": "u", "password": "p"}}, {"bearer": "{{ customer.id }}"}]),
            "ok": st.just({"field": "answer.status", "op": "lt", "value": 300}),
            "giveUpAfter": st.just("PT10M"),
        },
    ),
    "send": st.fixed_dictionaries(
        {
            "connection": st.sampled_from(["mailer", "gone"]),
            "inputs": st.fixed_dictionaries(
                {"to": st.one_of(st.sampled_from(["{{ customer.email }}", "{{ x }}", " ", 7]), typed)}
            ),
        },
        optional={"onFailure": st.just("exit")},
    ),
    "exit": st.fixed_dictionaries({"reason": st.just("Enough.")}),
}

Definition = tuple[list[dict[str, Any]], Any]


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Four steps, and what ends them."""
    definition: list[dict[str, Any]] = []
    for step_id in IDS:
        step_type = draw(st.sampled_from(list(STEPS)))
        following = {"next": draw(targets)} if draw(st.booleans()) else {}
        definition.append({"id": step_id, "type": step_type, **draw(STEPS[step_type]), **following})
    rules = draw(
        st.sampled_from([None, [{"event": "left"}], [{"if": {"field": "customer.plan", "op": "eq", "value": "prox"}}]])
    )
    return definition, rules
