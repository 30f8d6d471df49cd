"""What is wrong with a call's identity token."""

from enum import StrEnum

from engage.errors import Refusal


class Reason(StrEnum):
    """Under these names problems are counted."""

    MISSING = "missing"
    EXPIRED = "expired"
    INVALID = "invalid"
    MISMATCH = "mismatch"


class IdentityRefused(Refusal):
    """The app wants proof of who the person is, and the call has none. Nothing was written."""

    status = 401
    error = "Identity not proven"
    sends = {"WWW-Authenticate": "X-Identity-Token"}
    reason: Reason


class IdentityTokenMissing(IdentityRefused):
    """The call has no identity token, and its person needs one."""

    code = "identity_token_missing"
    reason = Reason.MISSING
    says = "Send a token from your server in X-Identity-Token or identityToken: this person needs one."


class IdentityTokenExpired(IdentityRefused):
    """The identity token has expired."""

    code = "identity_token_expired"
    reason = Reason.EXPIRED
    says = "The identity token has expired. Ask your server for a new one."


class IdentityTokenInvalid(IdentityRefused):
    """The identity token is malformed, or none of the app's keys has signed it."""

    code = "identity_token_invalid"
    reason = Reason.INVALID

    def __init__(self, why: str) -> None:
        super().__init__(f"The identity token is not valid: {why}")


class IdentityTokenMismatch(IdentityRefused):
    """The identity token is of another person than the call, or does not allow what the call writes."""

    code = "identity_token_mismatch"
    reason = Reason.MISMATCH

    def __init__(self, field: str) -> None:
        super().__init__(f"The identity token does not cover {field}.")
