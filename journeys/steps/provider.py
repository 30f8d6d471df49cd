"""A connection, parsed: a request to a provider whose templates know `inputs`, and what these must be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engage.credentials.sealed import UnknownEncryptionKey, is_sealed
from engage.errors import Refusal
from engage.json.described import read_beside
from engage.json.documents import Part, Reading
from engage.process.budget import OverBudget
from journeys.rendering import NAMES, Names, Rendering
from journeys.steps.answer_rules import STATUS
from journeys.steps.inputs import Inputs, read_inputs
from journeys.steps.links import LINK_NAMES
from journeys.steps.request import OPTIONAL, RequestTemplate
from journeys.steps.results import StepFailed, StepSkipped, WebhookRequest
from journeys.steps.secrets import MASK, Path, SecretNeeded, secrets_of, with_secrets
from journeys.steps.templated import names_read
from journeys.steps.webhook_targets import Target
from journeys.steps.written import Known, Written

FIELDS = ("url", "secretUrl", *OPTIONAL, "inputs", "html", "address")
_ADDRESS = "to"  # the input that is the address, where a connection does not say which
_NOWHERE = "https://missing.invalid/"


class InvalidConnection(Refusal):
    """A connection cannot be as described; the message names the place."""

    error = "Invalid connection"


@dataclass(frozen=True, kw_only=True)
class Provider:
    """`html` are the inputs into which values are put escaped, `missing` the secrets that have no value."""

    id: str
    key: str
    request: RequestTemplate
    inputs: Inputs
    html: frozenset[str]
    secret_url: bool
    missing: tuple[str, ...]
    sealed: bool  # whether a secret of it cannot be decrypted
    reads_links: bool
    channel: str = "other"
    address: str = _ADDRESS

    @property
    def kept_names(self) -> Names:
        """What steps that send by it keep of an answer."""
        rules = self.request.answer_rules
        return {} if rules is None or rules.keep is None else dict.fromkeys([*rules.keep, STATUS])

    @property
    def reads_variables(self) -> bool:
        return bool(names_read(self.request, "vars"))

    @property
    def host(self) -> str:
        """With the port; "" while it is not known."""
        return "" if "url" in self.missing else self.request.url.target.host_and_port

    def filled(self, inputs: Mapping[str, Any], rendering: Rendering) -> WebhookRequest:
        """The request with these inputs.

        Raises StepSkipped if one that is required has no value, StepFailed if they are not as the schema says or a
        secret is missing, and UnknownEncryptionKey if one cannot be decrypted.
        """
        if self.missing:
            raise StepFailed(
                f"The connection {self.key!r} is incomplete: there is no value for {', '.join(self.missing)}."
            )
        if self.sealed:
            raise UnknownEncryptionKey
        if lacking := self.inputs.lacking(inputs):
            raise StepSkipped(f"The connection {self.key!r} requires a value for {', '.join(lacking)}.")
        try:
            for place, why in self.inputs.problems(inputs, most=1):
                raise StepFailed(f"inputs{f'.{place}' if place else ''} {why}.")
        except OverBudget as over:
            raise StepFailed(f"To check inputs {over.message}") from None
        links = {name: rendering.scope.get(name, {}) for name in LINK_NAMES} if self.reads_links else {}
        with rendering.knowing(inputs=inputs, **links):
            return self._rendered(rendering, inputs.get(self.address))

    def _rendered(self, rendering: Rendering, address: object) -> WebhookRequest:
        request = replace(
            self.request.render(rendering),
            connection_id=self.id,
            channel=self.channel,
            address=address if isinstance(address, str) else "",
        )
        if not self.secret_url:
            return request
        return replace(request, url=f"{self.request.url.origin}/{MASK}", secret_url=request.url)


def parse_provider(
    written: Mapping[str, Any],
    *,
    connection_id: str,
    key: str,
    stored: bool = False,
    require_callable: Callable[[Target], None] | None = None,
    known: Known | None = None,
) -> Provider:
    """The connection as it is written, with its secrets. Raises InvalidConnection or SecretNeeded: all mistakes."""
    secrets = secrets_of(written)
    missing = tuple(".".join(path) for path, value in secrets.items() if value is None)
    whole = with_secrets(written, _readable)
    part = Part(whole, "", InvalidConnection)
    with Reading() as read:
        fields = part.fields(required=["url"], optional=FIELDS, reading=read)
        inputs = read(lambda: read_inputs(fields.get("inputs")))
        where = Written(
            part=part, names={**NAMES, **LINK_NAMES, "inputs": _names(inputs)}, stored=stored,
            require_callable=require_callable, known=known,
        )  # fmt: skip
        if "url" in fields and fields["url"].value == MASK and not stored:
            why = "needs its value: nothing is stored that could be meant."
            replace(fields["url"], refusal=SecretNeeded).refuse(why)
        secret_url = read(lambda: "secretUrl" in fields and fields["secretUrl"].flag())
        request = read(lambda: read_beside(RequestTemplate, where, fields))
        html = read(lambda: _read_html(fields["html"], inputs) if "html" in fields else ())
        address = read(lambda: _read_address(fields.get("address"), inputs))
    return Provider(
        id=connection_id,
        key=key,
        request=request,
        inputs=inputs,
        html=frozenset(html),
        secret_url=secret_url,
        missing=missing,
        sealed=any(map(is_sealed, secrets.values())),
        reads_links=any(names_read(request, name) for name in LINK_NAMES),
        address=address,
    )


def _readable(path: Path, value: Any) -> Any:
    """What stands in for a secret that is missing, or a URL that cannot be decrypted, so that the rest is read."""
    if path == ("url",) and (value is None or is_sealed(value)):
        return _NOWHERE
    return "-" if value is None else value


def _names(inputs: Inputs | None) -> Names | None:
    """What templates may read of them; any, where they could not be read."""
    return None if inputs is None else inputs.names


def _read_address(part: Part | None, inputs: Inputs | None) -> str:
    if part is None or part.is_null:
        return _ADDRESS
    name = part.text()
    if inputs is not None and not inputs.describes(name):
        part.refuse(f"is {name!r}, which inputs does not describe.")
    return name


def _read_html(part: Part, inputs: Inputs | None) -> list[str]:
    names = [(item, item.text()) for item in part.items()]
    for item, name in names:
        if inputs is not None and not inputs.describes(name):
            item.refuse(f"is {name!r}, which inputs does not describe.")
    return [name for _, name in names]
