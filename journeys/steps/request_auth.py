"""`auth` of a request: `{"basic": {"user": …, "password": …}}` or `{"bearer": …}`, as the header Authorization."""

from base64 import b64encode
from dataclasses import dataclass

from engage.credentials.sealed import UnknownEncryptionKey, is_sealed
from engage.json.described import read_object, within
from engage.json.documents import Part, Reading
from journeys.rendering import Rendering
from journeys.steps.results import StepFailed
from journeys.steps.templated import TemplatedText, render_text
from journeys.steps.webhook_headers import problem_of, read_secret
from journeys.steps.written import Written

HEADER = "Authorization"


def _read(where: Written, part: Part) -> str | TemplatedText:
    part.text()
    return read_secret(where, part)


def _read_user(where: Written, part: Part) -> str | TemplatedText:
    user = _read(where, part)
    if isinstance(user, str) and ":" in user and not is_sealed(user):
        part.refuse("must not hold a colon.")
    return user


@dataclass(frozen=True, kw_only=True)
class Auth:
    """A user with a password, or (`user` is None) a token."""

    user: str | TemplatedText | None = within("user", _read_user)
    secret: str | TemplatedText = within("password", _read)

    def render(self, rendering: Rendering) -> dict[str, str]:
        """The header. Raises StepFailed if it cannot be sent, UnknownEncryptionKey if it could not be decrypted."""
        if is_sealed(self.secret) or is_sealed(self.user):
            raise UnknownEncryptionKey
        secret = render_text(self.secret, rendering)
        if self.user is None:
            return {HEADER: _sendable(f"Bearer {secret.strip()}")}
        user = render_text(self.user, rendering)
        if ":" in user:
            raise StepFailed("The user of auth.basic holds a colon, which no user may.")
        return {HEADER: _sendable(f"Basic {b64encode(f'{user}:{secret}'.encode()).decode()}")}


def _sendable(value: str) -> str:
    if problem := problem_of(value):
        raise StepFailed(f"What auth gives {problem}.")
    return value


def read_auth(where: Written, part: Part) -> Auth:
    """The credentials in this part."""
    if len(part.members().keys() & {"basic", "bearer"}) != 1:
        part.refuse("must hold basic or bearer.")
    with Reading() as read:
        kind = part.fields(optional=["basic", "bearer"], reading=read)
        if "basic" in kind:
            return read_object(Auth, kind["basic"], where)
        secret = read(lambda: _read(where, kind["bearer"]))
    return Auth(user=None, secret=secret)
