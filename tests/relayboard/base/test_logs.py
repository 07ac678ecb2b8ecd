"""Log lines, as text and as JSON."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from relayboard.base.logs import configure_logging, current_request_id

logger = logging.getLogger("relayboard.test")


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def request_id() -> Iterator[str]:
    token = current_request_id.set("req-7")
    yield "req-7"
    current_request_id.reset(token)


def test_a_text_line_tells_when_what_where_for_which_request_and_the_extras(stream, request_id):
    configure_logging("text", stream=stream)

    logger.info("sent %d", 3, extra={"duration_ms": 1.5})

    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(moment + r" INFO relayboard\.test \[req-7\] sent 3 duration_ms=1\.5\n", stream.getvalue())


def test_a_json_line_has_the_same_as_keys(stream, request_id):
    configure_logging("json", stream=stream)

    logger.warning("sent %d", 3, extra={"duration_ms": 1.5})

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "relayboard.test",
        "message": "sent 3",
        "request_id": "req-7",
        "duration_ms": 1.5,
    }


def test_outside_of_requests_there_is_no_request_id(stream):
    configure_logging("json", stream=stream)

    logger.info("started")

    assert "request_id" not in json.loads(stream.getvalue())


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_nobody_can_forge_a_line(stream, log_format):
    configure_logging(log_format, stream=stream)

    logger.info("GET %s", "/a\r\n2026 INFO forged\x1b[2J\u2028", extra={"client": "a\nb"})

    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue() and "\u2028" not in stream.getvalue()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_an_exception_brings_its_traceback(stream, log_format):
    configure_logging(log_format, stream=stream)

    try:
        raise LookupError("gone")
    except LookupError:
        logger.exception("failed")

    assert "LookupError: gone" in stream.getvalue()


def test_configuring_again_replaces_the_former_configuration(stream):
    former = io.StringIO()
    configure_logging("text", stream=former)
    configure_logging("text", level=logging.WARNING, stream=stream)

    logger.info("quiet")
    logger.warning("loud")

    assert former.getvalue() == "" and "loud" in stream.getvalue() and "quiet" not in stream.getvalue()


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="neither text nor json"):
        configure_logging("xml")


def test_a_level_hides_what_is_less_and_shows_of_libraries_nothing_below_info(stream):
    configure_logging("text", level=logging.ERROR, stream=stream)
    logging.getLogger("alembic").warning("of a library")
    logging.getLogger("relayboard.access").info("a request")
    logging.getLogger("relayboard.api").error("a failure")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["ERROR"]

    configure_logging("text", level=logging.DEBUG, stream=stream)
    logging.getLogger("relayboard.access").debug("a probe")
    logging.getLogger("httpcore").debug("a header with a secret")
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["ERROR", "DEBUG"]
    configure_logging("text", stream=stream)
