"""Each documented setting is set by its name in a test that shows its effect; here are those that take a process or a
job of its own, and the check that none is forgotten."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from sqlalchemy import func, insert, select

from persistence.audit import BY_COMMAND
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.service import audit_event
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import Settings
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from testbed.set_by_name import settings_with
from testbed.tokens import make_token
from worker.jobs import begin_trimming
from worker.runtime import Runtime, open_http

TESTS = Path(__file__).parents[1]
ELSEWHERE = (
    "relayboard/base/test_settings.py",
    "relayboard/test_starting.py",
    "relayboard/doctor/",
    "deploy/",
    "acceptance/test_every_setting.py",
)
"""Tests of how values are read, examined and written into files, which show no effect."""
OF_THIS_FILE = ("MAX_UPLOADS", "MAX_WORKSPACE_UPLOADS", "STREAM_SECONDS", "LOG_FORMAT", "LOG_LEVEL", "AUDIT_DAYS")
MEDIA, STREAM = "/api/v2/media.json", "/api/v2/stream"
STREAM_LASTS = "0.3"


def test_every_setting_is_set_by_its_name_in_a_test_that_shows_its_effect() -> None:
    texts = [
        path.read_text()
        for path in TESTS.rglob("*.py")
        if not any(place in path.relative_to(TESTS).as_posix() for place in ELSEWHERE)
    ]
    names = [each.name.upper() for each in fields(Settings)]

    assert [
        name
        for name in names
        if name not in OF_THIS_FILE and not any(name in text and _sets(text, name) for text in texts)
    ] == []


def _sets(text: str, name: str) -> bool:
    """Whether a test gives the environment variable a value, by its whole name or as an argument in capitals."""
    return re.search(rf"""RELAYBOARD_{name}(_FILE)?["']?\s*[\],:=]|\b{name}=|"{name}":""", text) is not None


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    given = {"MAX_UPLOADS": "2", "MAX_WORKSPACE_UPLOADS": "1", "STREAM_SECONDS": STREAM_LASTS}
    given |= {"LOG_FORMAT": "json", "LOG_LEVEL": "debug"}
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder, processes=("api",), **given) as running:
        yield running


def begin_upload(service: RunningService, token: str) -> socket.socket:
    """A connection with the beginning of an upload."""
    address = urlsplit(service.url)
    opened = socket.create_connection((str(address.hostname), address.port or 0), timeout=PATIENCE_SECONDS)
    head = f"POST {MEDIA} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Token {token}\r\n"
    opened.sendall(
        f"{head}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 999\r\n\r\n--x\r\n".encode()
    )
    return opened


def takes_place(held: ExitStack, service: RunningService, token: str, asking: str, refused: int) -> bool:
    """Whether an upload that has begun is why another is refused. If the other one came first, it is not."""
    begun = begin_upload(service, token)
    if upload(service, asking) == refused:
        held.enter_context(begun)
        return True
    begun.close()
    return False


def upload(service: RunningService, token: str) -> int:
    headers = {"Authorization": f"Token {token}"}
    file = {"file": ("photo.jpg", b"\xff\xd8\xff\xe0 a photo", "image/jpeg")}
    return requests.post(service.url + MEDIA, files=file, headers=headers, timeout=PATIENCE_SECONDS).status_code


def test_uploads_are_limited_for_a_workspace_and_for_a_process(service: RunningService) -> None:
    with service.database.writing() as tx:
        others = [create_workspace(tx, name) for name in ("Second", "Third")]
    first = service.token
    second, third = (make_token(service.database, each, "administrator") for each in others)
    with ExitStack() as held:
        wait_until(
            lambda: takes_place(held, service, first, first, 429), "the place of the first workspace to be taken"
        )
        assert upload(service, second) == 201
        wait_until(lambda: takes_place(held, service, second, third, 503), "all places to be taken")
    wait_until(lambda: upload(service, third) == 201, "a place to be free again")


def test_a_stream_ends_after_its_seconds(service: RunningService) -> None:
    headers = {"Authorization": f"Token {service.token}"}

    lines = list(
        requests.get(service.url + STREAM, headers=headers, stream=True, timeout=PATIENCE_SECONDS).iter_lines()
    )

    assert b"event: ready" in lines


def test_logs_are_lines_of_json_of_the_wanted_level(service: RunningService) -> None:
    service.get("/health/live")
    service.get("/api/v2/workspace.json")
    log = service.folder / "api.log"
    wait_until(lambda: "/api/v2/workspace.json" in log.read_text(), "the line of the request")

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert all(line["message"] for line in lines)
    assert {line["level"] for line in lines if "/health/live" in line["message"]} == {"debug"}


@pytest.mark.parametrize(("days", "left"), [("30", 1), ("0", 2)])
def test_the_audit_log_is_kept_as_long_as_an_operator_says(
    database: Database, settings: Settings, workspace: Workspace, days: str, left: int
) -> None:
    with database.writing() as tx:
        shared = {
            "workspace_id": workspace.id,
            "via": BY_COMMAND,
            "action": "created",
            "resource": "labels",
            "record_name": "",
        }
        rows = [{**shared, "uuid": new_uuid(), "created_on": tx.now - timedelta(days=age)} for age in (29, 31)]
        tx.execute(insert(audit_event), rows)

    begin_trimming(Runtime(settings_with(settings, AUDIT_DAYS=days), database, open_http(settings)))()

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(audit_event)).scalar_one() == left
