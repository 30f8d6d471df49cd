from collections.abc import Iterator

import pytest

from tests.support.web_server import Web, web_server


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Web]:
    with web_server(tmp_path_factory.mktemp("web")) as running:
        yield running
