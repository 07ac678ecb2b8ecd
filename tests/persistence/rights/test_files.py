"""Which archived records are about a person, and what they keep of others."""

import gzip
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest

from persistence.database import Database
from persistence.media.folder import FolderStore
from persistence.rights.files import erase_from_archives, find_own_media, is_about, without_address
from persistence.rights.needles import Person
from persistence.sql.columns import new_uuid
from persistence.tables.service import archive
from persistence.workspaces import Workspace
from tests.factories import id_of, make_contact

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
