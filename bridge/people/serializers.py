"""The bodies of the calls about who somebody is."""

from typing import Any, ClassVar

from bridge.requests import BridgeCall
from bridge.serializers import Sender, identity_token_field, key_field
from customers.identifier_rules import DESCRIPTIONS
from customers.identity.identifiers import identifiers_of
from customers.identity.lookup import Reference
from customers.serializers import ReferenceBody, read_reference
from engage.errors import InvalidRequest, MissingParameter
from engage.http.fields import BodySerializer, TextField, optional_text

NOBODY = "At least one of external_id, email, phone must be present."
NO_ANONYMOUS = "anonymous needs a customerId or a userId."


class IdentifyBody(BodySerializer):
    """Who the person with an anonymous user id is."""

    aliases: ClassVar = {"externalId": "external_id"}
    one_of: ClassVar = ("external_id", "email", "phone")
    none_of: ClassVar = NOBODY

    userId = TextField(blank_is_absent=True, max_length=None, help_text="The SDK's anonymous id.")
    external_id = optional_text(DESCRIPTIONS["external_id"])
    email = optional_text(DESCRIPTIONS["email"])
    phone = optional_text(DESCRIPTIONS["phone"])
    idempotencyKey = key_field()
    identityToken = identity_token_field()


class MergeAnonymousPart(BodySerializer):
    """The customer who has a userId and no other identifier. One identifier is needed; `customerId` comes first."""

    customerId = optional_text("The customer's id in this service.", max_length=1024)
    userId = optional_text("The anonymous id. One that nobody has yet leads to the other customer from now on.")


class MergeIntoPart(ReferenceBody):
    """The customer who remains. One identifier is needed; the first of those sent decides."""


class MergeBody(BodySerializer):
    """Two customers who are one person."""

    anonymous = MergeAnonymousPart(help_text="The customer who is merged: `customerId` or `userId`.")
    into = MergeIntoPart(
        help_text="The customer who remains: `customerId`, `external_id`, `email`, `phone` or `userId`."
    )


def read_identify(body: Any, *, sender: Sender) -> tuple[BridgeCall, str]:
    """The sender's call with the identifiers of whom the person is, and the anonymous user id.

    Raises MissingParameter or InvalidRequest.
    """
    values = IdentifyBody.read(body)
    user_id = identifiers_of({"userId": values.pop("userId")}).user_id
    if user_id is None:
        raise MissingParameter("userId is required.")
    call = BridgeCall(
        message_id="",
        known_by=identifiers_of(values),
        form_data={},
        address=sender.address,
        identity_token=values.get("identityToken") or sender.identity_token,
        origin=sender.origin,
    )
    return call, user_id


def read_merge(body: Any) -> tuple[Reference, Reference]:
    """Who is merged, and into whom. Raises MissingParameter or InvalidRequest."""
    values = MergeBody.read(body)
    return _reference("anonymous", values["anonymous"]), _reference("into", values["into"])


def _reference(field: str, values: dict[str, Any]) -> Reference:
    try:
        return read_reference(values)
    except MissingParameter as refusal:
        raise MissingParameter(NO_ANONYMOUS if field == "anonymous" else f"into: {refusal.message}") from None
    except InvalidRequest as refusal:
        raise InvalidRequest(f"{field}.{refusal.message}") from None
