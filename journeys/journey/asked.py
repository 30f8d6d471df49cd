"""What authors are asked for of a journey beside its steps, as data (as steps/description.py has it of the steps)."""

from engage.json.described import About, Abouts, told, variants
from journeys.engine.steering.guards import MOST_ENTRIES, MOST_RESULTS
from journeys.steps.description import exit_rules
from journeys.steps.goals import MAX_GOALS, abouts_of_goal

ENTRY_CONDITIONS: About = {
    "name": "entryConditions",
    **told(
        "Who may enter", "condition", "Customers who do not meet it are refused.", roots=["customer", "api", "event"]
    ),
}
EVENT_WHERE: About = {"name": "where", **told("Which of these events", "condition", roots=["event"])}
EXIT_ON: About = exit_rules()
_OF_WEBHOOKS: Abouts = [
    {"name": "failedShare", **told("Share in percent", "percent", start=0.5)},
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
GOALS: About = {
    "name": "goals",
    **told(
        "What it is for",
        "list",
        "Counted once for each enrollment, from its beginning until that time is over.",
        item="goal",
        least=0,
        most=MAX_GOALS,
        fields=abouts_of_goal(),
    ),
}
_HELD_OUT: Abouts = [
    {
        "name": "share",
        **told("Share in percent", "percent", "Who was once held out or let in stays so.", start=0.1, required=True),
    }
]
HOLD_OUT: About = {
    "name": "holdOut",
    **told(
        "Who is held out, to compare",
        "object",
        fields=[variants("Of those who might enter", ("share", "Hold out a share", _HELD_OUT), otherwise="Nobody")],
    ),
}
BESIDE_STEPS: Abouts = [ENTRY_CONDITIONS, EXIT_ON]
