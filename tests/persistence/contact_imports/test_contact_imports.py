"""Imports of contacts: what each row does, kills in between, and what is rejected."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
import xlsxwriter
from sqlalchemy import update

from openapi.bundle import bundle
from persistence.contact_imports import running
from persistence.contact_imports.columns import Choice
from persistence.contact_imports.contact_imports import CONTACT_IMPORTS, cancel_import, create_import, start_import
from persistence.contacts.records import CONTACTS
from persistence.contacts.writes import ContactChange, create_contact
from persistence.data_jobs import LEASE, Performer, take_next
from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.exports.kinds import CSV, XLSX
from persistence.exports.writing import write_records
from persistence.fields import create_field
from persistence.groups.groups import create_group
from persistence.groups.smart_groups import create_query_group
from persistence.lists import ListQuery, read_list, read_record
from persistence.media.store import FolderStore, place_of_import
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace
from persistence.workspaces.records import Workspace

HEADER = ["Phone", "Name", "Age", "Lang"]


class Killed(BaseException):
    """Nobody catches it, as when the process ends."""


def die() -> None:
    raise Killed


@dataclass
class Desk:
    """Imports files as people do: upload, look at the columns, start."""

    database: Database
    workspace: Workspace
    store: FolderStore

    def upload(self, content: bytes, filename: str = "people.csv") -> str:
        source = f"imports/{filename}"
        with self.store.writing(source) as file:
            file.write(content)
        with self.database.writing() as tx:
            number = create_import(tx, self.workspace, filename, source, None)
        self.work()
        with self.database.reading() as tx:
            return str(orjson.loads(read_record(tx, CONTACT_IMPORTS, self.workspace, number))["uuid"])

    def start(self, uuid: str, chosen: dict[str, str] | None = None, group: str | None = None) -> None:
        with self.database.writing() as tx:
            start_import(
                tx, self.workspace, uuid, [Choice(target, name) for name, target in (chosen or {}).items()], group
            )

    def work(self) -> None:
        performer = Performer(self.database, self.store)
        while (held := self.database.write(lambda tx: take_next(tx, self.workspace.id))) is not None:
            performer.perform(held)

    def work_until(self, done: int, happens: Callable[[], None]) -> None:
        """One job, in which something happens once so many rows or contacts are done."""

        def note(count: int, _all: int) -> None:
            if count >= done:
                happens()

        held = self.database.write(lambda tx: take_next(tx, self.workspace.id))
        assert held is not None
        Performer(self.database, self.store, note=note).perform(held)

    def cancel(self, uuid: str) -> None:
        with self.database.writing() as tx:
            cancel_import(tx, self.workspace, uuid)

    def imports(self) -> dict[str, Any]:
        with self.database.reading() as tx:
            shown = [orjson.loads(each) for each in read_list(ListQuery(tx, self.workspace), CONTACT_IMPORTS)]
        return {each["uuid"]: each for each in shown}

    def show(self, uuid: str) -> Any:
        return self.imports()[uuid]

    def run(self, rows: Sequence[Sequence[str]], chosen: dict[str, str] | None = None, group: str | None = None) -> Any:
        return self.bring(csv_of(rows), chosen=chosen, group=group)

    def bring(
        self,
        content: bytes,
        filename: str = "people.csv",
        chosen: dict[str, str] | None = None,
        group: str | None = None,
    ) -> Any:
        """The record of the import of a file, from its upload to its end."""
        uuid = self.upload(content, filename)
        self.start(uuid, chosen, group)
        self.work()
        return self.show(uuid)

    def contacts(self) -> list[dict[str, Any]]:
        with self.database.reading() as tx:
            return [orjson.loads(each) for each in read_list(ListQuery(tx, self.workspace), CONTACTS)]

    def export(self, form: str) -> bytes:
        file = io.BytesIO()
        write_records(self.database, self.store, self.workspace, "contacts", form, {}, file, lambda _done, _count: None)
        return file.getvalue()

    def rejects(self, shown: dict[str, Any]) -> str:
        file = self.store.open(shown["rejects_url"])
        assert file is not None
        with file.stream:
            return file.stream.read().decode("utf-8-sig")


def csv_of(rows: Sequence[Sequence[str]]) -> bytes:
    return "\n".join(",".join(row) for row in rows).encode()


def xlsx_of(rows: Sequence[Sequence[Any]]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    return file.getvalue()


@pytest.fixture
def desk(database: Database, workspace: Workspace, tmp_path: Path) -> Desk:
    with database.writing() as tx:
        create_field(tx, workspace.id, "Age", "number")
    return Desk(database, workspace, FolderStore(f"file://{tmp_path / 'files'}"))


def test_a_file_is_read_shown_and_imported(desk: Desk) -> None:
    uuid = desk.upload(xlsx_of([HEADER, [250788000001, "Amina", 27, "eng"], ["0788000002", "Bosco", "", ""]]), "p.xlsx")
    shown = desk.show(uuid)

    assert (shown["status"], shown["row_count"], desk.contacts()) == ("ready", 2, [])
    assert [each["target"] for each in shown["columns"]] == ["urn:tel", "name", "field:age", "language"]
    assert shown["columns"][0]["examples"] == ["250788000001", "0788000002"]

    desk.start(uuid)
    desk.work()

    done = desk.show(uuid)
    found = {each["name"]: each for each in desk.contacts()}
    assert [done[name] for name in ("status", "done", "created", "updated", "rejected")] == ["completed", 2, 2, 0, 0]
    assert found["Amina"]["urns"] == ["tel:+250788000001"]
    assert (found["Amina"]["fields"], found["Amina"]["language"]) == ({"age": "27"}, "eng")
    assert found["Bosco"]["urns"] == ["tel:+250788000002"]
    assert list(desk.store.list_names()) == []


def test_a_worker_that_is_quicker_than_the_upload_reads_the_file_where_it_is(desk: Desk) -> None:
    file_uuid = new_uuid()
    place = place_of_import(file_uuid)
    with desk.store.receiving(file_uuid) as file:
        file.write(csv_of([HEADER, ["0788000111", "Amina", "41", "kin"]]))
    with desk.database.writing() as tx:
        create_import(tx, desk.workspace, "people.csv", place, None)
    desk.work()
    (uuid,) = desk.imports()
    assert desk.show(uuid)["status"] == "ready"

    desk.store.accept(file_uuid, place)
    desk.start(uuid)
    desk.work()

    assert (desk.show(uuid)["status"], [each["name"] for each in desk.contacts()]) == ("completed", ["Amina"])
    assert list(desk.store.list_names()) == []


def test_rows_change_the_contacts_that_they_name_and_empty_cells_nothing(desk: Desk) -> None:
    desk.run([HEADER, ["+250788000001", "Amina", "27", "eng"], ["+250788000002", "Bosco", "40", "kin"]])
    amina = next(each for each in desk.contacts() if each["name"] == "Amina")

    done = desk.run(
        [
            ["UUID", *HEADER, "URN:WhatsApp"],
            [amina["uuid"], "+250788000003", "Amina U.", "--", "", "250788000003"],
            ["", "+250788000002", "", "", "", ""],
            ["", "+250788000002", "", "41", "--", ""],
        ]
    )

    found = {each["name"]: each for each in desk.contacts()}
    assert (done["created"], done["updated"], done["rejected"], len(found)) == (0, 3, 0, 2)
    assert found["Amina U."]["urns"] == ["tel:+250788000001", "tel:+250788000003", "whatsapp:250788000003"]
    assert (found["Amina U."]["fields"], found["Amina U."]["language"]) == ({"age": None}, "eng")
    assert (found["Bosco"]["fields"], found["Bosco"]["language"]) == ({"age": "41"}, None)


@pytest.mark.parametrize("form", [CSV, XLSX])
def test_a_file_of_contacts_that_is_imported_again_brings_the_same_texts(desk: Desk, form: str) -> None:
    texts = ("--", "'--", "''--", "=1+1", "'=1+1", "''=1+1", "-5", "'-5", "+250", "'+250", "@x", "plain", "'plain")
    with desk.database.writing() as tx:
        create_field(tx, desk.workspace.id, "Remark", "text")
        for text in texts:
            create_contact(tx, desk.workspace, ContactChange(name=text, fields={"remark": text}))
    before = {each["uuid"]: each for each in desk.contacts()}
    file = desk.export(form)
    desk.run([["UUID", "Name", "Remark"], *([uuid, "Changed", "Changed"] for uuid in before)])

    uuid = desk.upload(file, f"people.{form}")
    desk.start(uuid)
    desk.work()

    found = {each["uuid"]: each for each in desk.contacts()}
    assert [desk.show(uuid)[name] for name in ("created", "updated", "rejected")] == [0, len(texts), 0]
    assert {each["name"] for each in found.values()} == set(texts)
    for one, each in found.items():
        assert (each["name"], each["fields"]["remark"]) == (before[one]["name"], before[one]["fields"]["remark"])


def test_rejected_rows_still_tell_dashes_that_clear_from_the_text(desk: Desk) -> None:
    done = desk.run([HEADER, ["+250788000001", "'--", "--", "bad"]])

    assert desk.rejects(done).splitlines()[1].startswith("+250788000001,'--,--,bad,2,")
    told = bundle("v2")["paths"]["/contact_import_actions.json"]["post"]["description"]
    assert "`--` clears, and `'--` is the text `--`" in told


def test_rows_that_break_a_rule_are_rejected_with_the_reason(desk: Desk) -> None:
    desk.run([HEADER, ["+250788000001", "Amina", "27", "eng"], ["+250788000002", "Bosco", "40", "kin"]])
    amina = next(each for each in desk.contacts() if each["name"] == "Amina")

    done = desk.run(
        [
            ["UUID", "Phone", "Other", "Name", "Lang"],
            ["", "", "", "Nobody", ""],
            ["", "=1+1", "", "Formula", ""],
            ["", "+250788000004", "", "x" * 65, ""],
            ["", "+250788000004", "", "Good", "english"],
            ["", "+250788000001", "+250788000002", "Two", ""],
            [amina["uuid"], "+250788000002", "", "Taken", ""],
            ["9a3c5b1e-1c7d-4e9b-a5a0-0d1e2f3a4b5c", "", "", "Unknown", ""],
            ["", "+250788000005", "", "Good", "fra"],
        ],
        {"Other": "urn:tel"},
    )

    lines = desk.rejects(done).splitlines()
    assert (done["created"], done["updated"], done["rejected"]) == (1, 0, 7)
    assert lines[0] == "UUID,Phone,Other,Name,Lang,Row,Reason"
    assert lines[1] == ",,,Nobody,,2,A row needs a UUID or a URN."
    assert lines[2].startswith(",'=1+1,,Formula,,3,\"tel:=1+1: Not a possible phone number: ")
    assert [line.rpartition(",")[2] for line in lines[3:]] == [
        "name: At most 64 characters.",
        "language: Not an ISO 639-3 code.",
        "The URNs of this row belong to different contacts.",
        "This URN belongs to another contact.",
        "No contact has this UUID.",
    ]


def test_fields_are_made_and_groups_are_joined_if_asked_for(desk: Desk) -> None:
    with desk.database.writing() as tx:
        create_group(tx, desk.workspace.id, "Mothers")
        create_query_group(tx, desk.workspace, "Adults", "age >= 18")
    rows = [["Phone", "Village", "Age", "Shoe size"], ["+250788000001", "Gasharu", "27", "39"]]

    desk.run(rows, {"Village": "new:Village", "Shoe size": "new:Shoe Size:number"}, "Mothers")

    (amina,) = desk.contacts()
    assert amina["fields"] == {"age": "27", "village": "Gasharu", "shoe_size": "39"}
    assert sorted(each["name"] for each in amina["groups"]) == ["Adults", "Mothers"]


def test_a_worker_that_dies_is_followed_by_one_that_doubles_nothing(
    desk: Desk, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CHUNK_ROWS", 2)
    rows = [HEADER, *([f"+25078800000{number}", "", "", "bad" if number == 2 else ""] for number in range(1, 8))]
    uuid = desk.upload(csv_of(rows))
    desk.start(uuid)

    with pytest.raises(Killed):
        desk.work_until(4, die)
    desk.work()
    between = desk.show(uuid)
    clock.moment += LEASE
    desk.work()

    done = desk.show(uuid)
    assert (between["status"], between["done"], between["created"], between["rejected"]) == ("running", 4, 3, 1)
    assert (done["status"], done["done"], done["created"], done["rejected"]) == ("completed", 7, 6, 1)
    assert len(desk.contacts()) == 6
    assert len(desk.rejects(done).splitlines()) == 2


def test_a_worker_that_lost_its_lease_stores_nothing_more(desk: Desk, clock: Any) -> None:
    uuid = desk.upload(csv_of([HEADER, ["+250788000001", "Amina", "", ""]]))
    desk.start(uuid)
    slow = desk.database.write(lambda tx: take_next(tx, desk.workspace.id))
    clock.moment += LEASE
    desk.work()
    assert slow is not None

    Performer(desk.database, desk.store).perform(slow)

    assert (desk.show(uuid)["status"], desk.show(uuid)["created"], len(desk.contacts())) == ("completed", 1, 1)


def test_a_cancelled_import_keeps_what_it_wrote_and_stores_nothing_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "CHUNK_ROWS", 2)
    rows = [HEADER, *([f"+25078800000{number}", "", "", "bad" if number == 2 else ""] for number in range(1, 8))]
    uuid = desk.upload(csv_of(rows))
    desk.start(uuid)

    desk.work_until(4, lambda: desk.cancel(uuid))
    between = desk.show(uuid)
    desk.work()

    done = desk.show(uuid)
    assert (between["status"], between["finished_on"]) == ("cancelled", None)
    assert (done["status"], done["done"], done["created"], done["rejected"]) == ("cancelled", 4, 3, 1)
    assert len(desk.contacts()) == 3 and len(desk.rejects(done).splitlines()) == 2
    assert list(desk.store.list_names()) == [done["rejects_url"]]


def test_an_anonymous_workspace_does_not_tell_whose_a_urn_is(desk: Desk) -> None:
    with desk.database.writing() as tx:
        create_contact(tx, desk.workspace, ContactChange(name="Known"))
        tx.execute(update(workspace).values(is_anonymous=True))
    (known,) = desk.contacts()

    done = desk.run(
        [
            ["UUID", "Phone", "Name"],
            ["", "+250788000001", "New"],
            ["", "+250788000001", "Again"],
            [known["uuid"], "+250788000002", "Known"],
            [known["uuid"], "", "Renamed"],
        ]
    )

    assert (done["created"], done["updated"], done["rejected"]) == (1, 1, 2)
    assert sorted(each["name"] for each in desk.contacts()) == ["New", "Renamed"]


def test_a_file_that_names_nobody_is_refused_with_what_it_has_and_what_it_lacks(desk: Desk) -> None:
    uuid = desk.upload(csv_of([["Full name", "Town"], ["Amina", "Kigali"]]))

    with pytest.raises(InvalidInput) as refused:
        desk.start(uuid)

    assert refused.value.errors == {
        "columns": ['One column must be the UUID or a URN, such as "Phone". The file has "Full name", "Town".']
    }


@pytest.mark.together
@pytest.mark.parametrize(
    ("content", "filename", "reason"),
    [
        (b"PK\x03\x04 nothing", "p.xlsx", "This is not a workbook"),
        (b"\n\n", "p.csv", "The first row must name the columns."),
        (b"," * 600 + b"a", "p.csv", "A file may have 500 columns."),
    ],
)
def test_a_file_that_cannot_be_read_fails_with_the_reason(
    desk: Desk, content: bytes, filename: str, reason: str
) -> None:
    shown = desk.show(desk.upload(content, filename))

    assert shown["status"] == "failed"
    assert reason in shown["error"]
