"""What people delete while an import, its taking back or a renumbering uses it: the work ends, says why if it could not
go on, and other work is done.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import func, select

from persistence.tables.contacts import contact_urn
from persistence.workspaces.writes import create_workspace
from testbed.gateways import add_gateway
from testbed.kept_databases import KeptDatabases
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from testbed.tokens import make_token

ROWS = 1000
"""Two parts of an import."""
ENDS = ("completed", "failed", "taken_back", "cancelled")
IMPORTS, ACTIONS = "/api/v2/contact_imports.json", "/api/v2/contact_import_actions.json"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("deleted_meanwhile")
    with ExitStack() as ending:
        if request.param == "sqlite":
            path = folder / "relayboard.db"
            path.write_bytes(sqlite_template.read_bytes())
            url = f"sqlite:///{path}"
        else:
            kept: KeptDatabases = request.getfixturevalue("kept_databases")
            url = ending.enter_context(kept.lend())
        yield ending.enter_context(forked_service(url, folder))


@pytest.fixture
def service(running: RunningService) -> RunningService:
    """A workspace of its own in the running service."""
    with running.database.writing() as tx:
        running.workspace = create_workspace(tx, "Hillside Health", country="RW", timezone="Africa/Kigali")
    running.token = make_token(running.database, running.workspace, "administrator")
    return running


@pytest.fixture(autouse=True)
def nothing_breaks(service: RunningService) -> Iterator[None]:
    yield
    logs = {path.name: path.read_text() for path in service.folder.glob("*.log")}
    assert {name: text for name, text in logs.items() if "Traceback" in text} == {}


def upload(service: RunningService, rows: int = ROWS) -> str:
    """The UUID of an import that is read and can be started."""
    people = [f"+25078{row:07},Person {row},Village {row}" for row in range(rows)]
    file = {"file": ("people.csv", "\n".join(["Phone,Name,Village", *people]).encode(), "text/csv")}
    headers = {"Authorization": f"Token {service.token}"}
    answer = requests.post(service.url + IMPORTS, files=file, headers=headers, timeout=PATIENCE_SECONDS)
    assert answer.status_code == 201, answer.text
    uuid = str(answer.json()["uuid"])
    wait_until(lambda: record(service, uuid)["status"] == "ready", "the file to be read")
    return uuid


def record(service: RunningService, uuid: str) -> dict[str, Any]:
    found: dict[str, Any] = service.get(IMPORTS, uuid=uuid)["results"][0]
    return found


def begin(service: RunningService, uuid: str, group: str | None = None) -> None:
    columns = [{"header": "Village", "target": "field:village"}]
    body = {"import": uuid, "action": "start", "columns": columns, **({"group": group} if group else {})}
    service.post(ACTIONS, body)


def delete(service: RunningService, path: str, **query: str) -> int:
    headers = {"Authorization": f"Token {service.token}"}
    return requests.delete(
        f"{service.url}/api/v2/{path}.json", params=query, headers=headers, timeout=PATIENCE_SECONDS
    ).status_code


def wait_for_end(service: RunningService, uuid: str, *ends: str) -> dict[str, Any]:
    wait_until(lambda: record(service, uuid)["status"] in (ends or ENDS), "the import to end")
    return record(service, uuid)


def things(service: RunningService) -> dict[str, dict[str, str]]:
    """A field, a group and a channel, and how each is deleted."""
    service.post("/api/v2/fields.json", {"name": "Village", "type": "text"})
    group = service.post("/api/v2/groups.json", {"name": "Imported"})["uuid"]
    add_gateway(service.database, service.workspace, "http://127.0.0.1:1/")
    channel = service.get("/api/v2/channels.json")["results"][0]["uuid"]
    return {"fields": {"key": "village"}, "groups": {"uuid": group}, "channel_settings": {"uuid": channel}}


@pytest.mark.parametrize("path", ["fields", "groups"])
def test_an_import_ends_when_what_it_uses_is_deleted_and_can_be_taken_back(service: RunningService, path: str) -> None:
    used = things(service)
    uuid = upload(service)
    begin(service, uuid, used["groups"]["uuid"])
    wait_until(lambda: record(service, uuid)["done"] > 0, "the first part")
    assert delete(service, path, **used[path]) == 204

    ended = wait_for_end(service, uuid)
    assert ended["status"] == "completed" or ended["error"], ended
    assert ended["created"] + ended["updated"] + ended["rejected"] == ended["done"], ended

    service.post(ACTIONS, {"import": uuid, "action": "take_back"})
    for other in [name for name in used if name != path]:
        assert delete(service, other, **used[other]) == 204
    back = wait_for_end(service, uuid, "taken_back")
    assert (back["removed"], back["kept"]) == (ended["created"], 0)
    again = upload(service, 10)
    service.post(ACTIONS, {"import": again, "action": "start", "columns": [{"header": "Village", "target": "ignore"}]})
    assert wait_for_end(service, again)["created"] == 10


def test_a_renumbering_goes_on_when_its_contacts_fields_and_groups_are_deleted(service: RunningService) -> None:
    used = things(service)
    uuid = upload(service)
    begin(service, uuid, used["groups"]["uuid"])
    wait_for_end(service, uuid)
    rule = {"old": "+25078", "new": "+25079", "country": "RW", "apply": True}
    reports: list[dict[str, Any]] = []

    def renumber() -> None:
        after: dict[str, str] = {}
        while True:
            reports.append(service.post("/api/v2/contact_renumberings.json", {**rule, **after}))
            if reports[-1]["next"] is None:
                return
            after = {"after": reports[-1]["next"]}

    thread = threading.Thread(target=renumber)
    thread.start()
    for path, query in used.items():
        assert delete(service, path, **query) == 204
    thread.join()

    rows = contact_urn.c
    with service.database.reading() as tx:
        mine = (rows.workspace_id == service.workspace.id) & rows.path.startswith("+25079")
        begins = select(func.count()).select_from(contact_urn).where(mine)
        changed = tx.execute(begins.where(rows.contact_id.is_not(None))).scalar_one()
    assert changed == sum(each["renumbered"] for each in reports) == ROWS
