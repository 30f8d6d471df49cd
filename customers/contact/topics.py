"""The topics of a workspace: what it writes about. One that journeys or the contact policy name is not deleted."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

from customers.contact.periods import InvalidPeriod, parse_period
from customers.contact.policy import CHANNELS
from customers.contact.reach import rules_of
from customers.models import ContactRules, Topic
from customers.models.contact import LONGEST_TOPIC
from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.resources.definitions import DefinitionInvalid
from engage.resources.fields import Fields, ReadBy
from engage.resources.resource import CallTexts, DefinitionMissing, InvalidDefinition, Resource

_KEY = re.compile(rf"[a-z0-9-]{{1,{LONGEST_TOPIC}}}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}")
MOST_LANGUAGES = 50
_IN_WORDS: Final = {"name": 200, "description": 1000}  # characters, as of the columns
# Each gives who names a topic, in words, by the workspace's id and the topic's key: imports go down only.
NAMED_BY: list[Callable[[str, str], Iterable[str]]] = []


def _check_texts(part: Part) -> None:
    """`{"de": {"name": "Angebote", "description": "Was es neu gibt."}}`. Refuses with all mistakes."""
    languages = part.members()
    with Reading() as read:
        if len(languages) > MOST_LANGUAGES:
            read.note(part, f"must have at most {MOST_LANGUAGES} languages.")
        for language, texts in languages.items():
            if not _LANGUAGE.fullmatch(language):
                read.note(texts, "must stand under a language such as de or pt-BR.")
            for name, text in texts.fields(optional=_IN_WORDS, reading=read).items():
                read(partial(text.text, at_most=_IN_WORDS[name]))


def _text_or_none(part: Part) -> str:
    return "" if part.value in ("", None) else part.text()


@dataclass(frozen=True, kw_only=True)
class TopicFields(Fields):
    """A topic."""

    key: Annotated[str, "The key, as in the path; may be left out."] = ""
    name: Annotated[str, "What people read; the key, if it is left out."] = ""
    description: Annotated[str, "What it is about, in a sentence.", ReadBy(_text_or_none)] = ""
    texts: Annotated[
        Any, "Name and description by language: `de` or `pt-BR`, each an object with `name`, `description` or both."
    ] = None  # fmt: skip
    channels: Annotated[Sequence[str], f"Of {', '.join(CHANNELS)}. Required."] = ()
    default: Annotated[
        str, "What holds of those of whom nothing is known: `opted_in` where people have a relation, `opted_out` where "
        "consent is needed. Required.",
    ] = ""  # fmt: skip
    confirm: Annotated[bool, "Whether a wish counts only once it was confirmed (double opt-in)."] = False
    valid_for: Annotated[str | None, "How long a consent holds, such as `P2Y`; always by default."] = None


class TopicNotFound(DefinitionMissing):
    """No such topic in the workspace."""

    error = "Topic not found"


class TopicInUse(Refusal):
    """The topic cannot be deleted: journeys or the contact policy name it."""

    status = 409
    error = "Topic in use"


class Topics(Resource[Topic]):
    """What people may be written to about. Consents outlive their topic: they hold again where it is made again."""

    model, fields, section, at_most = Topic, TopicFields, "topics", 50
    missing = TopicNotFound
    named_by_journeys = True
    checked_apart = frozenset({"channels", "default", "valid_for", "texts"})
    calls = CallTexts(
        put="""Create or change a topic

        What people want of it holds by channel, and is kept apart. `default` decides about those of whom nothing is
        known.
        """,
        get="""Read a topic

        Returns the topic, as a PUT takes it.
        """,
        delete="""Delete a topic

        Deletes the topic, unless journeys or the contact policy name it. What people said of it stays in their ledgers.
        """,
        example={
            "key": "offers",
            "name": "Offers",
            "description": "What is new, and what costs less.",
            "texts": {"de": {"name": "Angebote"}},
            "channels": ["email", "sms"],
            "default": "opted_out",
            "confirm": False,
            "validFor": "P2Y",
        },
        example_id="68a1f0c2e4b0a1d2c3e4f5e1",
        requests={"Consent is needed": {"name": "Offers", "channels": ["email"], "default": "opted_out"}},
        changed=["channels"],
        refuses=[DefinitionInvalid("default must be opted_in or opted_out.")],
        refuses_to_delete=[TopicInUse("The topic offers is named by the journey spring; it cannot be deleted.")],
    )

    def defaults(self, key: str) -> dict[str, Any]:
        return super().defaults(key) | {"name": key, "texts": {}, "channels": []}

    def mistakes(self, row: Topic) -> Iterator[Refusal]:
        if not _KEY.fullmatch(row.key):
            yield InvalidDefinition(f"key may have up to {LONGEST_TOPIC} of a-z, 0-9 and -.").at("key")
        if not row.channels:
            yield InvalidDefinition("channels must name at least one channel.").at("channels")
        if unknown := [one for one in row.channels if one not in CHANNELS]:
            message = f"channels has {unknown[0][:50]!r}, which is none of {', '.join(CHANNELS)}."
            yield InvalidDefinition(message).at("channels")
        if len({*row.channels}) < len(row.channels):
            yield InvalidDefinition("channels must name each channel once.").at("channels")
        if row.default not in Topic.Default.values:
            yield InvalidDefinition("default must be opted_in or opted_out.").at("default")
        try:
            _check_texts(Part(row.texts, "texts", InvalidDefinition))
        except Refusal as refusal:
            yield from refusal.all_found()
        try:
            if row.valid_for is not None:
                parse_period(row.valid_for)
        except InvalidPeriod as invalid:
            yield InvalidDefinition(f"validFor {invalid}").at("validFor")

    def after_saving(self, row: Topic, stored: Topic | None) -> None:
        """A workspace that has topics has rules, by which walkers see that there is something to ask."""
        rules_of(row.workspace_id)

    def require_unused(self, row: Topic) -> None:
        named = sorted(one for names in (_policy, *NAMED_BY) for one in names(row.workspace_id, row.key))
        if named:
            raise TopicInUse(f"The topic {row.key} is named by {', '.join(named)}; it cannot be deleted.")


def _policy(workspace_id: str, topic: str) -> Iterator[str]:
    rules = ContactRules.objects.filter(workspace_id=workspace_id).first()
    if rules and any(topic in cap.get("topics", ()) for cap in rules.policy.get("caps", ())):
        yield "the contact policy"


TOPICS = Topics()
