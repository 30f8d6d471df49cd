from tests.clients import ServerClient


def test_an_unknown_address_answers_in_json(server: ServerClient) -> None:
    answer = server.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.json()["error"] == "Not found"
