"""What is hidden of a request that is shown."""

from journeys.engine.operations.redaction import without_values
from journeys.steps.secrets import url_without_secrets
from tests.support.cases import each

SPEAKING = (
    "Authorization Proxy-Authorization Cookie X-Api-Key apikey X-Key key Ocp-Apim-Subscription-Key X-Hub-Signature-256 "
    "sig pwd pass password passphrase access_key accesskey api_keys client_secret credentials session-id jwt X-HMAC "
    "my_token bearer"
)


@each("name", SPEAKING.split())
def test_what_speaks_of_a_credential_is_hidden_in_a_query(name: str) -> None:
    for secret in ("s3cret", "s3=cret=="):
        shown = url_without_secrets(f"https://a.example/x?a=1&{name}={secret}&b=2")
        assert shown == f"https://a.example/x?a=1&{name}=***&b=2"


@each("name", ["X-Plan", "monkey", "keyboard", "design", "significance", "compass", "order"])
def test_what_does_not_is_shown(name: str) -> None:
    assert url_without_secrets(f"https://a.example/x?{name}=plain") == f"https://a.example/x?{name}=plain"


def test_of_headers_nothing_is_shown_but_the_content_type() -> None:
    assert without_values({"content-type": "text/plain", "X-Plan": "pro"}) == {
        "content-type": "text/plain",
        "X-Plan": "***",
    }


def test_a_path_and_a_query_without_values_stay_as_they_are() -> None:
    for url in ("https://a.example/token=1/x", "https://a.example/x?token", "https://a.example/x?key="):
        assert url_without_secrets(url) == url
