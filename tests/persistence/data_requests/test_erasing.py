"""Nothing of an erased person is found: not over the API, not in the files of the media store, and not in the files of
the database, which are searched byte by byte.

Which archived records are about a person, and what they keep of others.

Which tables a worker rewrites by itself, which it leaves to a command, and in which session it does so.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest
from sqlalchemy import insert, make_url, select

from persistence.data_jobs import Performer, take_next
from persistence.data_requests import erasing
from persistence.data_requests.erasing import (
    SIZE,
    _forget_files,
    _forget_notes_of_moves,
    erase_from_archives,
    find_own_media,
    is_about,
    rewrite_files,
    without_address,
)
from persistence.data_requests.person import Person
from persistence.data_requests.requests import COPY, ERASE
from persistence.database import Database
from persistence.media.store import FolderStore
from persistence.sql.columns import new_uuid, time_text
from persistence.tables.channels import message_piece
from persistence.tables.data_jobs import export, moved_record, workspace_move
from persistence.tables.deliveries import delivery
from persistence.tables.flows import flow_session
from persistence.tables.messages import media
from persistence.tables.service import archive
from persistence.workspaces.records import Workspace
from testbed.gateways import add_gateway
from tests.factories import id_of, make_contact
from tests.persistence.data_requests.clinic import HEARD, MARKS, NAME, NOTED, NUMBER, Clinic


def read_database(database: Database) -> Iterator[tuple[str, bytes]]:
    """The files of the database, after what is in memory was written; the log of PostgreSQL is not one of them."""
    if database.sqlite:
        path = Path(make_url(database.url).database or "")
        yield from ((each.name, each.read_bytes()) for each in path.parent.glob(f"{path.name}*"))
        return
    with database.engine.connect() as connection:
        connection.exec_driver_sql("CHECKPOINT")
        folder = Path(connection.exec_driver_sql("SHOW data_directory").scalar_one())
        own = connection.exec_driver_sql("SELECT oid FROM pg_database WHERE datname = current_database()").scalar_one()
    for each in [*folder.glob(f"base/{own}/*"), *folder.glob("global/*"), *folder.glob("pg_[!w]*/**/*")]:
        if each.is_file():
            yield each.name, each.read_bytes()


def read_store(store: FolderStore) -> Iterator[tuple[str, bytes]]:
    for name in store.list_names():
        file = store.open(name)
        assert file is not None
        with file.stream:
            content = file.stream.read()
        yield name, gzip.decompress(content) if name.endswith(".gz") else content


def marks_in(files: Iterator[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [(name, mark) for name, content in files for mark in MARKS if mark in content]


def test_nothing_of_an_erased_person_is_found_in_any_file(clinic: Clinic) -> None:
    with clinic.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")  # which copies frequent values
    before = {mark for _, mark in marks_in(read_database(clinic.database))}
    stored = {name.partition("/")[0] for name, _ in marks_in(read_store(clinic.store))}
    assert (before, stored) == (set(MARKS), {"archives", "private", clinic.workspace.uuid})

    done = clinic.perform(ERASE)

    assert marks_in(read_database(clinic.database)) == []
    assert marks_in(read_store(clinic.store)) == []
    assert (done["status"], done["error"], done["contact"]) == ("completed", None, clinic.amina)
    assert done["requested_by"] == "ann@example.org" and done["rewritten_on"] is not None
    kinds = ("runs", "tickets", "notes", "archived", "files", "delivery", "imported_contact")
    assert {name: done["counts"][name] for name in kinds} == {
        "runs": 1,
        "tickets": 1,
        "notes": 1,
        "archived": 1,
        "files": 1,
        "delivery": 1,
        "imported_contact": 2,
    }


@pytest.mark.parametrize("how", ["by UUID", "by number", "merged"])
def test_a_person_who_was_deleted_or_merged_before_is_still_found(clinic: Clinic, how: str) -> None:
    api, contact = clinic.api, clinic.amina
    if how == "merged":
        for name in ("Aline", "Amy"):
            kept = make_contact(clinic.database, clinic.workspace, None, name)
            assert api.post("/api/v2/contact_merges.json", {"contact": kept, "other": contact}).status_code == 200
            contact = kept
    else:
        assert api.delete("/api/v2/contacts.json", uuid=contact).status_code == 204
        assert NUMBER.encode() in {mark for _, mark in marks_in(read_database(clinic.database))}

    done = clinic.perform(ERASE, f"tel:{NUMBER}" if how == "by number" else contact)

    assert (done["contact"], done["counts"]["archived"]) == (contact, 1)
    assert marks_in(read_database(clinic.database)) == []
    assert marks_in(read_store(clinic.store)) == []


@pytest.mark.parametrize(("to_others", "draft"), [(True, False), (False, False), (True, True)])
def test_a_file_stays_for_others_to_whom_a_broadcast_will_send_it(clinic: Clinic, to_others: bool, draft: bool) -> None:
    with clinic.database.reading() as tx:
        uuid = tx.execute(select(media.c.uuid)).scalar_one()
    later = time_text(clinic.database.clock() + timedelta(days=1))
    contacts = [clinic.amina, clinic.bosco] if to_others else [clinic.amina]
    body = {"text": "See you", "contacts": contacts, "attachments": [uuid], "scheduled_on": later}
    assert clinic.api.post("/api/v2/broadcasts.json", body | {"draft": draft}).status_code == 201

    clinic.perform(ERASE)

    with clinic.database.reading() as tx:
        assert bool(tx.execute(select(media.c.id)).all()) is to_others
    (waiting,) = clinic.api.results("/api/v2/broadcasts.json", **{"draft" if draft else "scheduled": "true"})
    assert waiting["text"] == {"eng": "See you" if to_others else ""}


def test_others_keep_what_is_theirs(clinic: Clinic) -> None:
    clinic.perform(ERASE)

    texts = sorted(next(iter(each["text"].values())) for each in clinic.api.results("/api/v2/broadcasts.json"))
    (stored,) = clinic.api.results("/api/v2/archives.json")
    with clinic.database.reading() as tx:
        (kept,) = tx.execute(select(archive.c.location)).scalars()
        (session,) = tx.execute(select(flow_session.c.state)).scalars()
        left = tx.execute(select(media.c.id)).all()
    lines = gzip.decompress(next(content for name, content in raw(clinic.store) if name == kept)).splitlines()
    assert texts == ["", "Good morning"]
    assert [each["name"] for each in clinic.api.results("/api/v2/contacts.json")] == ["Bosco"]
    assert (stored["record_count"], [json.loads(each)["text"] for each in lines]) == (1, ["Good evening"])
    assert session["trigger"]["parent"]["results"] == {} and left == []
    assert clinic.api.get("/api/v2/messages.json", contact=clinic.bosco).status_code == 200


def test_what_names_the_person_goes_and_what_only_looks_like_it_stays(clinic: Clinic) -> None:
    """In what flows were started with, in events in a form, and in parts of messages: the number, not a longer one."""
    flow = clinic.api.results("/api/v2/flow_starts.json")[0]["flow"]["uuid"]
    longer = {"receipt": f"{NUMBER}26", "figure": int(f"{NUMBER[1:]}26")}
    clinic.api.post("/api/v2/flow_starts.json", {"flow": flow, "contacts": [clinic.bosco], "params": longer})
    channel_id = add_gateway(clinic.database, clinic.workspace, "http://127.0.0.1:1/")
    with clinic.database.writing() as tx:
        planned = {"created_on": tx.now, "scheduled_on": tx.now, "due_on": tx.now}
        sent = {"event": "mo_sms", "receiver": "http://x", "url": "http://x/", "content_type": "x", **planned}
        for told in ("her number: 0788 314 159", "0788 314 159 26 is longer"):
            tx.insert(delivery, workspace_id=clinic.workspace.id, **sent, body=urlencode({"text": told}))
        common = {"destination": "8080", "reference": 7, "total": 2, "number": 1, "channel_id": channel_id}
        common |= {"workspace_id": clinic.workspace.id, "received_on": tx.now}
        for sender, text in ((NUMBER, "hers"), ("+250788314160", "of somebody else")):
            tx.insert(message_piece, **common, sender=sender, text=text)

    clinic.perform(ERASE)

    starts = sorted(clinic.api.results("/api/v2/flow_starts.json"), key=lambda each: each["created_on"])
    emptied = {"mother": {"numbers": ["", "", ""], "figure": None}}
    assert [each["params"] for each in starts] == [None, emptied, {"place": "Kigali"}, longer]
    with clinic.database.reading() as tx:
        assert tx.execute(select(delivery.c.body)).scalars().all() == ["text=0788+314+159+26+is+longer"]
        assert tx.execute(select(message_piece.c.text)).scalars().all() == ["of somebody else"]


def test_notes_of_a_move_without_a_name_are_not_those_of_a_person_without_one(
    database: Database, workspace: Workspace
) -> None:
    person = Person(workspace.id, 1, new_uuid(), ())
    with database.writing() as tx:
        times = {"created_on": tx.now, "modified_on": tx.now}
        moved = tx.insert(workspace_move, workspace_id=workspace.id, source="https://x", state={}, **times)
        lost = {"kind": "message", "reference": "1", "name": None, "note": "no channel"}
        tx.execute(insert(moved_record), [{**lost, "workspace_id": workspace.id, "move_id": moved}])
        _forget_notes_of_moves(tx, person)

        assert tx.execute(select(moved_record.c.note)).scalars().all() == ["no channel"]


def raw(store: FolderStore) -> Iterator[tuple[str, bytes]]:
    for name in store.list_names():
        file = store.open(name)
        assert file is not None
        with file.stream:
            yield name, file.stream.read()


def test_a_worker_that_dies_in_between_is_followed_by_one_that_ends_it(
    clinic: Clinic, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_arguments: Any, **_options: Any) -> bool:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("persistence.data_requests.requests.rewrite_files", die)
        with pytest.raises(Killed):
            clinic.perform(ERASE)
    clock.moment += timedelta(minutes=5)
    while (held := clinic.database.write(lambda tx: take_next(tx, clinic.workspace.id))) is not None:
        Performer(clinic.database, clinic.store).perform(held)

    (done,) = clinic.api.results("/api/v2/data_requests.json", contact=clinic.amina)
    assert (done["status"], done["counts"]["runs"], done["counts"]["archived"]) == ("completed", 1, 1)
    assert marks_in(read_database(clinic.database)) == []


def test_a_copy_has_everything_and_goes_with_the_person(clinic: Clinic) -> None:
    done = clinic.perform(COPY)
    name = done["download_url"]
    with zipfile.ZipFile(io.BytesIO(dict(raw(clinic.store))[name])) as packed:
        held = {each: packed.read(each).decode() for each in packed.namelist()}

    assert {key: count for key, count in done["counts"].items() if count} == {
        "contacts": 1,
        "messages": len(held["messages.jsonl"].splitlines()),
        "runs": 1,
        "tickets": 1,
        "notes": 1,
        "starts": 1,
        "archived_messages": 1,
        "files": 1,
    }
    assert NAME in held["contact.jsonl"] and NOTED in held["notes.jsonl"] and HEARD in held["runs.jsonl"]
    assert HEARD in held["archived_messages.jsonl"] and "Good evening" not in "".join(held.values())
    assert json.loads(held["starts.jsonl"])["params"] == {"words": HEARD}
    (file,) = (each for each in held if each.startswith("media/"))
    assert held[file] == HEARD

    clinic.perform(ERASE)

    assert name not in dict(raw(clinic.store))


def test_only_administrators_ask_and_see(clinic: Clinic) -> None:
    path, body = "/api/v2/data_requests.json", {"type": "copy", "contact": clinic.amina}
    editor = clinic.api.as_role("editor")

    assert [editor.post(path, body).status_code, editor.get(path).status_code] == [403, 403]
    assert clinic.api.post(path, body).json()["status"] == "pending"


def test_another_workspace_keeps_its_files(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    person = Person(workspace.id, 1, new_uuid(), ())
    with database.writing() as tx:
        made = {"type": "contacts", "format": "csv", "filters": {}, "status": "completed", "created_on": tx.now}
        for each in (workspace, other_workspace):
            tx.insert(export, workspace_id=each.id, **made, location=f"{each.id}.csv", size=1)
        _forget_files(tx, person)

        left = tx.execute(select(export.c.location).order_by(export.c.workspace_id)).scalars().all()
    assert left == [None, f"{other_workspace.id}.csv"]


MINE, MERGED, OTHERS = (f"{digit * 8}-0000-4000-8000-000000000000" for digit in "123")
PERSON = Person(1, 5, MINE, ("+250788000111", "amina"), merged=(MERGED,))


@pytest.mark.parametrize(
    ("record", "is_mine"),
    [
        ({"contact": {"uuid": MINE}}, True),
        ({"contact": {"uuid": MERGED}}, True),
        ({"contact": {"uuid": OTHERS}}, False),
        ({"contact": {"uuid": OTHERS}, "text": MINE}, False),
        ({"contact": None, "text": MINE}, False),
        ({"text": MERGED}, False),
        ({}, False),
    ],
)
def test_a_record_is_about_the_person_whose_contact_it_names(record: dict[str, Any], is_mine: bool) -> None:
    assert is_about(orjson.dumps(record), PERSON) is is_mine


@pytest.mark.parametrize(
    ("record", "kept"),
    [
        ({"urn": "tel:+250788000111", "text": "Hi"}, {"urn": None, "text": "Hi", "contact": {}}),
        (
            {"contact": {"uuid": OTHERS, "urn": "telegram:amina", "urn_display": "Amina"}, "urn": "tel:+1"},
            {"contact": {"uuid": OTHERS, "urn": None, "urn_display": None}, "urn": "tel:+1"},
        ),
    ],
)
def test_an_address_of_the_person_goes_from_the_records_of_others(record: dict[str, Any], kept: dict[str, Any]) -> None:
    assert orjson.loads(without_address(orjson.dumps(record) + b"\n", PERSON)) == kept


@pytest.mark.parametrize(
    "record",
    [
        {"contact": {"uuid": OTHERS, "urn": "tel:+250788000222"}, "text": "Hi"},
        {"contact": {"uuid": OTHERS, "urn": "tel:+250788000222"}, "text": "amina said +250788000111"},
        {"contact": {"uuid": OTHERS, "urn": None}, "text": "amina"},
        {"contact": {"uuid": OTHERS}, "urn": None, "text": "amina"},
        {"contact": {"uuid": OTHERS, "urn": "telegram:amina2"}},
    ],
)
def test_a_record_without_an_address_of_the_person_stays_as_it_is(record: dict[str, Any]) -> None:
    line = orjson.dumps(record) + b"\n"

    assert without_address(line, PERSON) == line


class TestArchives:
    """An archive with a message of the person and one of somebody else."""

    @pytest.fixture
    def person(self, database: Database, workspace: Workspace) -> Person:
        uuid = make_contact(database, workspace, "+250788000111")
        return Person(workspace.id, id_of(database, uuid), uuid, ("+250788000111",))

    @pytest.fixture
    def store(self, tmp_path: Path) -> FolderStore:
        return FolderStore(f"file://{tmp_path / 'media'}")

    def add(self, database: Database, store: FolderStore, person: Person, kind: str, media_uuid: str) -> str:
        """Of one day; returns its name."""
        attachments = [{"content_type": "image/png", "url": f"http://localhost/media/w/{media_uuid}.png"}]
        records = [{"contact": {"uuid": uuid}, "attachments": attachments} for uuid in (person.uuid, OTHERS)]
        location = f"archives/w/20251129-{kind}-{new_uuid()}.jsonl.gz"
        with store.writing(location) as file:
            file.write(gzip.compress(b"".join(orjson.dumps(each) + b"\n" for each in records)))
        with database.writing() as tx:
            day = {"archive_type": kind, "period": "daily", "start_date": date(2025, 11, 29)}
            size = {"record_count": 2, "size": 1, "hash": "0" * 32, "location": location}
            tx.insert(archive, workspace_id=person.workspace_id, **day, **size, created_on=tx.now)
        return location

    def test_the_files_of_a_person_are_those_that_archived_messages_name(
        self, database: Database, store: FolderStore, person: Person
    ) -> None:
        self.add(database, store, person, "message", MERGED)
        self.add(database, store, person, "run", OTHERS)

        assert find_own_media(database, store, person) == [MERGED]

    def test_an_archive_that_is_written_again_is_called_as_before_but_for_its_uuid(
        self, database: Database, store: FolderStore, person: Person
    ) -> None:
        before = self.add(database, store, person, "message", MERGED)

        assert erase_from_archives(database, store, person) == 1
        (after,) = store.list_names()
        assert after != before and len(after) == len(before)
        assert after.startswith("archives/w/20251129-message-")


NOWHERE = "postgresql://user@127.0.0.1:1/none"


def size_of_messages(database: Database) -> int:
    with database.engine.connect() as connection:
        return int(connection.execute(SIZE, {"name": "message"}).scalar_one())


def test_a_table_is_as_large_as_all_its_partitions(divided_database: Database) -> None:
    parts = ("message_part0", "message_part1")
    with divided_database.engine.connect() as connection:
        each = [connection.exec_driver_sql(f"SELECT pg_total_relation_size('{name}')").scalar_one() for name in parts]
    assert size_of_messages(divided_database) == sum(each) > 0


@pytest.mark.parametrize("migrated_database", ["postgresql"], indirect=True)
def test_a_table_that_is_too_large_is_left_to_a_command_which_goes_through_no_pooler(
    migrated_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "MOST_TABLE_BYTES", size_of_messages(migrated_database) - 1)

    assert not rewrite_files(migrated_database)
    with closing(Database(NOWHERE, is_behind_pooler=True, direct_url=migrated_database.url)) as pooled:
        assert rewrite_files(pooled, is_forced=True)
