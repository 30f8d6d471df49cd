"""A revision as a graph: its nodes, its edges and their words."""

from datetime import timedelta
from typing import Any

from engage.json.durations import duration_in_words
from journeys.steps.definition import MAX_STEPS
from journeys.steps.graph import LONGEST_LABEL, Graph, graph_of, mermaid_of
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED
from tests.support.cases import each
from tests.support.factories import PRO

STEPS: list[dict[str, Any]] = [
    {"id": "grade", "type": "update_profile", "attributes": {"a": 1, "b": 2, "c": 3, "d": 4}},
    {"id": "which", "type": "branch", "cases": [{"if": PRO, "next": "test"}], "else": "wait"},
    {"id": "test", "type": "split", "paths": [{"weight": 2, "next": "tell"}, {"weight": 1, "next": None}]},
    {"id": "wait", "type": "delay", "for": "P1DT2H"},
    {"id": "morning", "type": "delay", "until": "09:00", "timezone": "Europe/Berlin"},
    {"id": "departs", "type": "delay", "at": "{{ api.payload.departs_at }}"},
    {
        "id": "bought",
        "type": "wait_for_event",
        "event": "order",
        "timeout": "P3D",
        "onEvent": None,
        "onTimeout": "tell",
    },
    {
        "id": "tell",
        "type": "webhook",
        "url": "https://mail.example/u/{{ customer.id | default: '?' }}/send?key=secret",
        "onFailure": "exit",
    },
    {"id": "note", "type": "track_event", "eventName": "told"},
    {"id": "out", "type": "exit", "reason": "Told."},
]


def _edges(graph: Graph) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.label for edge in graph.edges}


def test_a_graph_has_a_node_for_each_step_between_the_entry_and_the_ends() -> None:
    graph = graph_of(STEPS, [])

    assert [node.id for node in graph.nodes] == [ENTRY, *(step["id"] for step in STEPS), COMPLETED, EXITED]
    assert {node.id: node.label for node in graph.nodes} == {
        ENTRY: "Entered",
        "grade": "Write a, b, c and 1 more",
        "which": "Branch",
        "test": "Split 2 : 1",
        "wait": "Wait 1 day 2 hours",
        "morning": "Wait until 09:00 (Europe/Berlin)",
        "departs": "Wait until {{ api.payload.departs_at }}",
        "bought": "Wait for 'order', at most 3 days",
        "tell": "POST mail.example/u/{{ customer.id | default: '?' }}/send",
        "note": "Record the event 'told'",
        "out": "Exit: Told.",
        COMPLETED: "Completed",
        EXITED: "Exited",
    }


def test_edges_lead_wherever_a_step_may_go_on_and_say_when() -> None:
    assert _edges(graph_of(STEPS, [])) == {
        (ENTRY, "grade"): "",
        ("grade", "which"): "",
        ("which", "test"): 'customer.plan is "pro"',
        ("which", "wait"): "otherwise",
        ("test", "tell"): "66.7 %",
        ("test", COMPLETED): "33.3 %",
        ("wait", "morning"): "",
        ("morning", "departs"): "",
        ("departs", "bought"): "the time is there",
        ("departs", "@exited"): "at gave no time",
        ("bought", COMPLETED): "the event came",
        ("bought", "tell"): "it did not come in time",
        ("tell", "note"): "delivered",
        ("tell", EXITED): "failed",
        ("note", "out"): "",
        ("out", EXITED): "",
    }


def test_several_ways_between_two_steps_are_one_edge() -> None:
    cases = [{"if": PRO, "next": "wait"}, {"if": {"not": PRO}, "next": "wait"}]
    graph = graph_of(
        [{"id": "which", "type": "branch", "cases": cases}, {"id": "wait", "type": "delay", "for": "P1D"}], []
    )

    assert _edges(graph)["which", "wait"] == ('customer.plan is "pro"; customer.plan is anything but "pro"; otherwise')


def test_a_journey_without_steps_leads_from_its_entry_to_its_end() -> None:
    assert _edges(graph_of([], [])) == {(ENTRY, COMPLETED): ""}


def test_a_loop_leads_back() -> None:
    steps = [
        {"id": "wait", "type": "delay", "for": "P1D"},
        {"id": "tell", "type": "webhook", "url": "https://mail.example/", "next": "wait"},
    ]
    assert _edges(graph_of(steps, []))["tell", "wait"] == ""


def test_what_ends_the_journey_early_is_told_in_words() -> None:
    where = {"field": "event.properties.total", "op": "gt", "value": 5}
    rules = [{"event": "bought", "where": where, "fromBridge": False}, {"if": {"any": [PRO, {"not": PRO}]}}]

    assert graph_of(STEPS, rules).exits == (
        "The event 'bought' (not from the bridge) where event.properties.total is more than 5",
        'customer.plan is "pro" or customer.plan is anything but "pro"',
    )


def test_labels_are_cut_and_the_largest_journey_is_drawn() -> None:
    steps = [{"id": f"s{number}", "type": "track_event", "eventName": "e" * 100} for number in range(MAX_STEPS)]
    steps[0] = {"id": "s0", "type": "delay", "at": "{{ api.payload.at }}" + " " * 5 + "{{ now }}" * 100}
    graph = graph_of(steps, [])

    assert len(graph.nodes) == MAX_STEPS + 3
    assert max(len(node.label) for node in graph.nodes) == LONGEST_LABEL


@each(
    "duration, words",
    [
        (timedelta(days=1), "1 day"),
        (timedelta(weeks=2), "2 weeks"),
        (timedelta(days=10), "1 week 3 days"),
        (timedelta(hours=2, minutes=30), "2 hours 30 minutes"),
        (timedelta(seconds=0.5), "0.5 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(0), "0 seconds"),
    ],
)
def test_durations_are_told_in_words(duration: timedelta, words: str) -> None:
    assert duration_in_words(duration) == words


def test_mermaid_draws_the_same_and_reads_no_text_as_its_own() -> None:
    steps = [{"id": "out", "type": "exit", "reason": 'says "no" ]) & <b>`#|'}]

    assert mermaid_of(graph_of(steps, [])) == (
        "flowchart TD\n"
        '  n0(["Entered"])\n'
        '  n1["out: Exit: says #34;no#34; #93;#41; #38; #60;b#62;#96;#35;#124;"]\n'
        '  n2(["Completed"])\n'
        '  n3(["Exited"])\n'
        "  n0 --> n1\n"
        "  n1 --> n3\n"
    )
