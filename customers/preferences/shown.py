"""What the pages show: in the words of the workspace and the person's language, and nothing that names them in full."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from customers.contact.consent import State
from customers.contact.reach import masked
from customers.models import Topic
from customers.preferences.choices import Choice, Chosen
from customers.preferences.languages import Words, language_for
from engage.models import Workspace


class Row(NamedTuple):
    """A choice as the form has it; `note` says more of how it stands."""

    value: str
    channel: str
    on: bool
    note: str


class Group(NamedTuple):
    """A topic with its channels."""

    name: str
    description: str
    rows: list[Row]


def shown_of(chosen: Chosen, *, accepted: str, until: datetime | None = None) -> Mapping[str, Any]:
    """What templates read of somebody. `until` is when a pause ends that has just begun."""
    language = language_for(chosen.customer.attributes.get("locale"), accepted)
    topics = {topic.key: topic for topic in chosen.topics}
    topic = topics.get(chosen.link.topic)
    workspace = Workspace.objects.values_list("name", flat=True).get(pk=chosen.link.workspace_id)
    address = _masked_address(chosen)
    words = Words(language, workspace=workspace, address=address, topic=_text(topic, "name", language) if topic else "")
    return {
        "words": Words(language, **words.values, date=words.day(until)) if until else words,
        "workspace": workspace,
        "has_topic": topic is not None,
        "address": address,
        "groups": [_group(chosen, one, words) for one in chosen.topics],
        "weekly": chosen.weekly,
        "token": chosen.link.token,
    }


def _group(chosen: Chosen, topic: Topic, words: Words) -> Group:
    rows = [_row(chosen, Choice(topic.key, channel), words) for channel in topic.channels]
    return Group(_text(topic, "name", words.language), _text(topic, "description", words.language), rows)


def _row(chosen: Chosen, choice: Choice, words: Words) -> Row:
    held, note = chosen.consent(choice), ""
    if held.state is State.UNSUBSCRIBED and held.until is not None:
        note = Words(words.language, date=words.day(held.until))["paused_until"]
    elif held.state is State.REQUESTED:
        note = words["requested"]
    return Row(str(choice), words[choice.channel], chosen.is_on(choice), note)


def _text(topic: Topic, name: str, language: str) -> str:
    """In this language, or one of its dialects; else as it is without a language."""
    known = sorted(one for one in topic.texts if one.partition("-")[0] == language)
    own = next((topic.texts[one][name] for one in known if topic.texts[one].get(name)), None)
    return str(own or getattr(topic, name))


def _masked_address(chosen: Chosen) -> str:
    """That of the channel by which the message came."""
    channel, customer = chosen.link.channel or "email", chosen.customer
    address = {"email": customer.email, "sms": customer.phone}.get(channel)
    return masked(channel, address) if address else ""
