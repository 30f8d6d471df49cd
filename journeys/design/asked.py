"""What authors are asked for of a journey beside its steps, as data (as steps/description.py has it of the steps)."""

from engage.json.described import About, Abouts, told, variants
from journeys.steering.guards import MOST_ENTRIES, MOST_RESULTS
from journeys.steps.description import exit_rules

ENTRY_CONDITIONS: About = {
    "name": "entryConditions",
    **told(
        "Who may enter", "condition", "Customers who do not meet it are refused.", roots=["customer", "api", "event"]
    ),
}
EVENT_WHERE: About = {"name": "where", **told("Which of these events", "condition", roots=["event"])}
EXIT_ON: About = exit_rules()
_OF_WEBHOOKS: Abouts = [
    {"name": "failedShare", **told("Share", "number", "0.5 is half of them.", start=0.5)},
    {"name": "of", **told("Of the latest", "whole", "Attempts.", start=50, least=1, most=MOST_RESULTS)},
]
_OF_ENTRIES: Abouts = [
    {"name": "entries", **told("Customers", "whole", start=50_000, least=1, most=MOST_ENTRIES)},
    {"name": "per", **told("Within", "duration", start="PT1H")},
]
GUARDS: About = {
    "name": "guards",
    **told(
        "When it holds itself",
        "object",
        fields=[
            variants("When webhooks fail", ("failedShare", "Hold it, if too many do", _OF_WEBHOOKS), otherwise="Go on"),
            variants("When customers enter", ("entries", "Hold it, if too many do", _OF_ENTRIES), otherwise="Go on"),
        ],
    ),
}
BESIDE_STEPS: Abouts = [ENTRY_CONDITIONS, EXIT_ON]
