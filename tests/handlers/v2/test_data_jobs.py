"""Imports and exports of contacts over HTTP, with the worker that does them."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from persistence.contact_imports.reading import opened_rows
from persistence.workspaces.records import hold_workspace
from tests.api import Api
from tests.factories import make_contact, make_messages
from worker.jobs import begin_data
from worker.runtime import Runtime, open_http

IMPORTS, ACTIONS, EXPORTS = (
    f"/api/v2/{name}.json" for name in ("contact_imports", "contact_import_actions", "exports")
)
PEOPLE = b"Phone,Name,Village\n+250788000001,Amina,Gasharu\nbad,Bosco,\n"


@pytest.fixture
def work(database: Any, settings: Any) -> Callable[[], None]:
    """Lets a worker do all jobs that are due."""

    def run() -> None:
        step = begin_data(Runtime(settings, database, open_http(settings)))
        while step():
            pass

    return run


def download(api: Api, url: str) -> bytes:
    response = api.client.get(url)
    assert response.status_code == 200, response.text
    assert response.headers["content-disposition"] == "attachment"
    return response.content


def test_a_file_is_uploaded_looked_at_and_imported(api: Api, work: Callable[[], None]) -> None:
    editor = api.as_role("editor")
    made = editor.upload(IMPORTS, "people.csv", PEOPLE, "text/csv")
    work()
    (read,) = editor.results(IMPORTS, uuid=made.json()["uuid"])
    assert (made.status_code, made.json()["status"], read["status"], read["row_count"]) == (201, "reading", "ready", 2)
    assert [each["target"] for each in read["columns"]] == ["urn:tel", "name", "ignore"]

    columns = [{"header": "Village", "target": "new:Village"}]
    body = {"import": read["uuid"], "action": "start", "columns": columns}
    started = editor.post(ACTIONS, body)
    work()

    (done,) = editor.results(IMPORTS)
    (amina,) = api.results("/api/v2/contacts.json")
    assert (started.status_code, started.json()["columns"][2]["target"]) == (200, "field:village")
    assert [done[name] for name in ("status", "created", "rejected", "done")] == ["completed", 1, 1, 2]
    assert (amina["urns"], amina["fields"]) == (["tel:+250788000001"], {"village": "Gasharu"})
    assert b'bad,Bosco,,3,"tel:bad: Not a possible phone number' in download(api, done["rejects_url"])
    assert editor.post(ACTIONS, body).status_code == 400


@pytest.mark.together
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([{"header": "Other", "target": "name"}], "has no column"),
        ([{"header": "Phone", "target": "ignore"}], "must be the UUID or a URN"),
        ([{"header": "Village", "target": "name"}], "cannot both be name"),
        ([{"header": "Village", "target": "field:village"}], "No contact field"),
        ([{"header": "Village", "target": "new:Village:shape"}], "one of the types"),
        ([{"header": "Village", "target": "urn:pigeon"}], "is not what a column can be"),
    ],
)
def test_columns_that_cannot_be_are_refused(
    api: Api, work: Callable[[], None], columns: list[dict[str, str]], message: str
) -> None:
    made = api.upload(IMPORTS, "people.csv", PEOPLE, "text/csv").json()
    work()

    refused = api.post(ACTIONS, {"import": made["uuid"], "action": "start", "columns": columns})

    assert refused.status_code == 400
    assert message in refused.json()["columns"][0]


@pytest.mark.parametrize("form", ["csv", "xlsx", "jsonl"])
def test_contacts_are_exported_and_can_be_imported_again(api: Api, work: Callable[[], None], form: str) -> None:
    api.post("/api/v2/fields.json", {"name": "Village", "type": "text"})
    body = {"name": "=cmd|' /C calc'!A0", "urns": ["tel:+250788000001"], "fields": {"village": "-Gasharu"}}
    amina = api.post("/api/v2/contacts.json", body).json()
    api.post("/api/v2/contacts.json", {"name": "Bosco"})

    made = api.post(EXPORTS, {"type": "contacts", "format": form, "query": "tel = +250788000001"})
    work()

    (done,) = api.results(EXPORTS, uuid=made.json()["uuid"])
    content = download(api, done["download_url"])
    assert [done[name] for name in ("status", "record_count", "size")] == ["completed", 1, len(content)]
    if form == "jsonl":
        assert amina["uuid"].encode() in content and content.count(b"\n") == 1
        return
    if form == "csv":
        assert content.decode("utf-8-sig").splitlines()[1].split(",")[1].startswith("'=cmd")
        assert ",'-Gasharu" in content.decode()
    with opened_rows(io.BytesIO(content)) as rows:
        header, row = list(rows)
    exported = dict(zip(header, row, strict=False))
    assert exported["Name"] == body["name"]
    assert f"tel:{exported['URN:tel']}" == amina["urns"][0]
    api.upload(IMPORTS, f"again.{form}", content, "text/csv")
    work()
    (read,) = api.results(IMPORTS)
    targets = {each["header"]: each["target"] for each in read["columns"]}
    assert targets["URN:tel"] == "urn:tel" and targets["Field:Village"] == "field:village"


def test_each_list_can_be_exported(api: Api, database: Any, work: Callable[[], None]) -> None:
    amina = make_contact(database, api.workspace, "+250788000001")
    make_messages(database, api.workspace, amina, 2, text="Muraho")
    for kind in ("messages", "runs", "tickets"):
        assert api.post(EXPORTS, {"type": kind, "format": "csv"}).status_code == 201
    api.post(EXPORTS, {"type": "messages", "format": "csv", "after": "2999-01-01"})
    work()

    done = {(each["type"], each["filters"].get("after")): each for each in api.results(EXPORTS)}
    messages = download(api, done["messages", None]["download_url"]).decode("utf-8-sig").splitlines()
    assert {key: each["record_count"] for key, each in done.items()} == {
        ("messages", None): 2,
        ("runs", None): 0,
        ("tickets", None): 0,
        ("messages", "2999-01-01T00:00:00+00:00"): 0,
    }
    assert messages[0].startswith("Created On,Message UUID,Contact UUID") and "Muraho" in messages[1]


def test_only_those_who_see_the_data_get_a_link_and_only_the_link_opens_the_file(
    api: Api, other_api: Api, work: Callable[[], None]
) -> None:
    api.post(EXPORTS, {"type": "contacts", "format": "csv"})
    work()
    (done,) = api.results(EXPORTS)
    url = done["download_url"]

    assert [api.as_role(role).get(EXPORTS).status_code for role in ("viewer", "agent")] == [403, 403]
    assert other_api.results(EXPORTS) == []
    bare, _, query = url.partition("?")
    for wrong in (
        bare,
        f"{bare}?{query[:-1]}{1 - int(query[-1] == chr(49))}",
        f"{bare.replace('private', 'archives')}?{query}",
    ):
        assert api.client.get(wrong).status_code == 404
    assert api.client.get(f"{bare.rpartition('/private/')[0]}/uploads/{done['uuid']}?{query}").status_code == 404


def test_a_filter_of_another_kind_is_refused(api: Api) -> None:
    assert "query" in api.post(EXPORTS, {"type": "runs", "format": "csv", "query": "age > 1"}).json()
    assert api.post(EXPORTS, {"type": "contacts", "format": "csv", "group": "Nobody"}).status_code == 400
    assert api.post(EXPORTS, {"type": "contacts", "format": "csv", "query": "("}).status_code == 400
    assert api.post(EXPORTS, {"type": "contacts", "format": "doc"}).status_code == 400


def test_an_import_is_counted_and_taken_back_once(api: Api, other_api: Api, work: Callable[[], None]) -> None:
    made = api.upload(IMPORTS, "people.csv", b"Phone,Age\n+250788000111,1\nbad,2\n", "text/csv").json()
    work()
    body = {"import": made["uuid"], "action": "take_back"}
    assert api.post(ACTIONS, body).status_code == 400
    assert api.post(ACTIONS, {**body, "action": "start", "dry_run": True}).status_code == 400
    assert api.post(ACTIONS, {**body, "action": "start"}).status_code == 200
    work()
    assert api.post(ACTIONS, {**body, "group": "Mothers"}).status_code == 400
    assert other_api.post(ACTIONS, body).status_code == other_api.post(ACTIONS, {**body, "dry_run": True}).status_code

    counted = api.post(ACTIONS, {**body, "dry_run": True}).json()
    (between,) = api.results(IMPORTS)
    asked = [api.post(ACTIONS, body) for _ in range(2)]
    work()
    done, _ = api.post(ACTIONS, body).json(), work()

    assert [counted[name] for name in ("status", "removed", "restored", "kept")] == ["completed", 1, 0, 0]
    assert (between["taken_back_on"], between["removed"]) == (None, 0)
    assert {(each.status_code, each.json()["status"]) for each in asked} == {(200, "pending")}
    assert [done[name] for name in ("status", "removed", "restored", "kept")] == ["taken_back", 1, 0, 0]
    assert done["rejects_url"].startswith("http") and download(api, done["rejects_url"])
    assert api.results("/api/v2/contacts.json") == []
    told = api.results("/api/v2/audit_events.json", resource="contact_imports")
    assert sum("taken_back_on" in each["changes"] for each in told) == 1


def test_counting_what_would_be_taken_back_waits_for_no_writer_and_stops_none(
    api: Api, database: Any, workspace: Any, work: Callable[[], None]
) -> None:
    editor = api.as_role("editor")
    uuid = editor.upload(IMPORTS, "people.csv", PEOPLE, "text/csv").json()["uuid"]
    work()
    editor.post(ACTIONS, {"import": uuid, "action": "start"})
    work()
    with database.writing() as tx:
        hold_workspace(tx, workspace.id)

        counted = editor.post(ACTIONS, {"import": uuid, "action": "take_back", "dry_run": True})

    assert (counted.status_code, counted.json()["removed"]) == (200, 1)
    assert [each["name"] for each in api.results("/api/v2/contacts.json")] == ["Amina"]


def test_an_import_is_cancelled_before_it_runs_and_once(api: Api, other_api: Api, work: Callable[[], None]) -> None:
    made = api.upload(IMPORTS, "people.csv", PEOPLE, "text/csv").json()
    work()
    body = {"import": made["uuid"], "action": "cancel"}
    assert api.post(ACTIONS, {**body, "group": "Mothers"}).status_code == 400
    assert other_api.post(ACTIONS, body).status_code == 400

    cancelled = api.post(ACTIONS, body)

    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert api.post(ACTIONS, {"import": made["uuid"], "action": "start"}).status_code == 400
    work()
    (shown,) = api.results(IMPORTS)
    assert (shown["status"], shown["done"], api.results("/api/v2/contacts.json")) == ("cancelled", 0, [])
    assert shown["finished_on"] is not None and api.post(ACTIONS, body).status_code == 400
