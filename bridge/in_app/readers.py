"""Who may read the messages of a person: they may hold what is personal, an app's id is public, and ids are guessed.

With a valid token: whom it names. Without one: whoever is anonymous, by their `userId`; so whoever has any other
identifier needs one, whether or not somebody is known by it. An app that takes no calls of anonymous people tells them
nothing either: their `userId` looks like one that is not known. An app that says `inApp: open` believes what the page
says, as the bridge does.
"""

from dataclasses import dataclass
from datetime import datetime

from bridge.identity.keyring import keyring_of
from bridge.identity.problems import IdentityTokenMissing
from bridge.identity.proof import require_covered
from bridge.identity.tokens import verify_token
from customers.identity.identifiers import Identifiers
from engage.errors import MissingParameter
from engage.models import App

NO_IDENTIFIER = "At least one of userId, external_id, email, phone must be present, or an identity token."


@dataclass(frozen=True, kw_only=True)
class Reader:
    """Whose messages are read: whoever is known by these identifiers; with `must_be_anonymous`, if they are that.

    `is_proven`: by a token.
    """

    workspace_id: str
    known_by: Identifiers
    is_proven: bool = False
    must_be_anonymous: bool = False


def reader_of(*, app: App, known_by: Identifiers, token: str | None, now: datetime) -> Reader | None:
    """Nobody is looked up; None: they are told that nothing is due. Raises MissingParameter and refusals of tokens."""
    keyring = keyring_of(app)
    if token is not None and keyring:
        identity = verify_token(token, app=app, keyring=keyring, now=now)
        require_covered(known_by, identity)
        own = {"workspace_id": app.workspace_id, "country": app.default_country}
        named = known_by if known_by.present() else identity.known_by.as_known(**own)
        return Reader(workspace_id=app.workspace_id, known_by=named, is_proven=True)
    if not known_by.present():
        raise MissingParameter(NO_IDENTIFIER)
    enforces = app.identity == App.Identity.ENFORCE
    if app.in_app == App.InApp.OPEN and not enforces:
        return Reader(workspace_id=app.workspace_id, known_by=known_by)
    if set(known_by.present()) != {"user_id"}:
        raise IdentityTokenMissing
    if enforces and app.anonymous == App.Anonymous.DENY:
        return None
    return Reader(workspace_id=app.workspace_id, known_by=known_by, must_be_anonymous=True)
