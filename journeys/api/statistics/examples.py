"""Answers about whole journeys, as the OpenAPI document shows them."""

from journeys.api.statistics.answers import JourneyGraphData, JourneyStatsData
from journeys.api.triggers.examples import JOURNEY

GRAPH = JourneyGraphData(
    journeyId=JOURNEY,
    revision=3,
    nodes=[
        {"id": "@entry", "type": "entry", "label": "Entered"},
        {"id": "day", "type": "delay", "label": "Wait 1 day"},
        {"id": "tell", "type": "webhook", "label": "POST mail.example/send"},
        {"id": "@completed", "type": "completed", "label": "Completed"},
        {"id": "@exited", "type": "exited", "label": "Exited"},
    ],
    edges=[
        {"source": "@entry", "target": "day", "label": ""},
        {"source": "day", "target": "tell", "label": ""},
        {"source": "tell", "target": "@completed", "label": ""},
    ],
    warnings=[],
    exits=["The event 'refunded'"],
    mermaid=None,
)
MERMAID: JourneyGraphData = {
    **GRAPH,
    "mermaid": 'flowchart TD\n  n0(["Entered"])\n  n1["day: Wait 1 day"]\n  n2["tell: POST mail.example/send"]\n'
    '  n3(["Completed"])\n  n4(["Exited"])\n  n0 --> n1\n  n1 --> n2\n  n2 --> n3\n',
}
STATS = JourneyStatsData(
    journeyId=JOURNEY,
    revision=None,
    begin="2026-11-20T00:00:00.000Z",
    end="2026-11-22T00:00:00.000Z",
    interval="day",
    timezone="UTC",
    queued=12,
    entries={"enrolled": 800, "already_enrolled": 40},
    outcomes={"active": 310, "completed": 470, "exited": 20},
    steps={
        "day": {"entered": 800, "waiting": 300, "done": 480, "failed": 0, "interrupted": 20},
        "tell": {"entered": 480, "waiting": 10, "done": 465, "failed": 5, "interrupted": 0},
    },
    edges=[
        {"source": "@entry", "target": "day", "count": 800},
        {"source": "day", "target": "@exited", "count": 20},
        {"source": "day", "target": "tell", "count": 480},
        {"source": "tell", "target": "@completed", "count": 470},
    ],
    series=[
        {
            "begin": "2026-11-20T00:00:00.000Z",
            "end": "2026-11-21T00:00:00.000Z",
            "entries": {"enrolled": 500, "already_enrolled": 10},
            "completed": 0,
            "exited": 5,
        },
        {
            "begin": "2026-11-21T00:00:00.000Z",
            "end": "2026-11-22T00:00:00.000Z",
            "entries": {"enrolled": 300, "already_enrolled": 30},
            "completed": 470,
            "exited": 15,
        },
    ],
)
