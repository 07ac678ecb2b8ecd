"""The access log: what it says of a request, and what it never says."""

import logging

import pytest

from handlers.asgi.guard import Guard
from relayboard.base.settings import load_settings
from tests.handlers.exchange import Echo, exchange

JSON = ("Content-Type", "application/json")


@pytest.fixture
def guard() -> Guard:
    return Guard(Echo(), load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"}))


def test_a_line_names_method_path_and_status_but_no_query_header_or_body(guard, caplog):
    headers = [JSON, ("Authorization", "Token hidden-token"), ("X-Request-Id", "seven")]

    with caplog.at_level(logging.INFO):
        exchange(guard, "POST", "/api/v2/labels.json?urn=hidden-urn", [b'{"text": "hidden-text"}'], headers)

    assert "POST /api/v2/labels.json 200" in caplog.text
    assert "hidden" not in caplog.text
    assert "hidden" not in str([vars(record) for record in caplog.records])


@pytest.mark.together
@pytest.mark.parametrize(
    "path", ["/health/live", "/", "/console/0123/main.js", "/guides/", "/api/v2/docs/swagger-ui-bundle.js"]
)
def test_probes_and_files_are_not_logged_at_the_usual_level(guard, caplog, path):
    with caplog.at_level(logging.INFO, "relayboard.access"):
        exchange(guard, "GET", path)

    assert caplog.records == []
