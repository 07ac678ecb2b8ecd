"""An export holds the records in archives, too: it is the same before and after they were archived, and amid that."""

import gzip
import io
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import update

from persistence.archives.writing import archive_next_day, remove_rolled_up, roll_up_next_month, trim_archived
from persistence.database import Database
from persistence.errors import Refused
from persistence.exports.writing import ArchivesChanged, write_records
from persistence.media.store import FolderStore
from persistence.messages.records import FOLDERS
from persistence.tables.flows import flow, flow_run
from persistence.tables.service import archive
from persistence.workspaces.records import Workspace
from tests.factories import id_of, make_contact, make_messages
from tests.run_rows import add_flow, add_run, uuid_of

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
OLD = datetime(2025, 11, 3, 10, tzinfo=UTC)
FAR_DATES = ("1899-06-15T00:00:30.000000-00:44", "0001-01-03T00:00:00.000000+13:45", "9999-12-31T23:59:59.999999-12:00")
STATES = [
    *itertools.product(["in"], ["handled"], ["visible", "archived"], [False, True]),
    *itertools.product(["out"], ["queued", "errored", "wired", "sent", "read", "failed"], ["visible"], [False, True]),
]


class Desk:
    """A workspace with old messages in each state, old runs, and one recent message."""

    def __init__(self, database: Database, workspace: Workspace, store: FolderStore) -> None:
        self.database, self.workspace, self.store = database, workspace, store
        flow_id = add_flow(database, workspace)
        amina = make_contact(database, workspace, "+250788000001")
        for number, (direction, status, visibility, in_flow) in enumerate(STATES):
            moment = OLD + timedelta(days=number)
            times = {"created_on": moment, "modified_on": moment, "stored_on": moment}
            state = {"direction": direction, "status": status, "visibility": visibility, "urn": "tel:+250788000001"}
            make_messages(database, workspace, amina, **times, **state, flow_id=flow_id if in_flow else None)
        make_messages(database, workspace, amina)
        times = {"created_on": OLD, "exited_on": OLD, "modified_on": OLD}
        result = {"name": "Due", "category": "All Responses", "input": "", "node": None, "created_on": OLD.isoformat()}
        results = {f"due_{place}": {**result, "value": text} for place, text in enumerate(FAR_DATES)}
        add_run(database, workspace, flow_id, id_of(database, amina), results=results, **times)
        other_id = add_flow(database, workspace, "Other")
        add_run(database, workspace, other_id, id_of(database, amina), **times)
        self.flows = [uuid_of(database, flow, each) for each in (flow_id, other_id)]

    def export(
        self, kind: str = "messages", form: str = "csv", note: Callable[[int, int], None] | None = None, **filters: str
    ) -> Counter[str]:
        file = io.BytesIO()
        workspace = self.workspace
        write_records(
            self.database, self.store, workspace, kind, form, filters, file, note or (lambda _done, _all: None)
        )
        return Counter(file.getvalue().decode("utf-8-sig").splitlines())

    def archive(self) -> None:
        """All old days; what is archived leaves the tables."""
        while archive_next_day(self.database, self.store):
            while trim_archived(self.database):
                pass


@pytest.fixture
def desk(database: Database, workspace: Workspace, settings: Any) -> Desk:
    return Desk(database, workspace, FolderStore(settings.media_url))


def test_an_export_is_the_same_before_and_after_archiving(desk: Desk) -> None:
    day = (OLD + timedelta(days=3)).isoformat()
    filters: list[dict[str, str]] = [{}, {"after": day}, {"before": day}]
    filters += [{"folder": each} for each in (*FOLDERS, "incoming")]
    asked: list[tuple[str, str, dict[str, str]]] = [("messages", "csv", each) for each in filters]
    asked += [("messages", "jsonl", {}), ("runs", "csv", {})]
    asked += [("runs", "csv", {"flow": each}) for each in desk.flows]
    asked += [("runs", "csv", {"after": day}), ("runs", "jsonl", {"before": day}), ("contacts", "csv", {})]
    before = [desk.export(kind, form, **each) for kind, form, each in asked]
    assert len(before[0]) == len(STATES) + 2 and all(len(each) > 1 for each in before[3:10])
    assert [len(each) for each in before[11:14]] == [3, 2, 2] and before[12] != before[13]
    for row in (before[11], before[15]):
        assert all(any(text in line for line in row) for text in FAR_DATES)

    assert archive_next_day(desk.database, desk.store)  # which is in both places now
    assert [desk.export(kind, form, **each) for kind, form, each in asked] == before
    desk.archive()
    assert [desk.export(kind, form, **each) for kind, form, each in asked] == before


def test_progress_counts_records_in_archives_and_in_tables(desk: Desk) -> None:
    told = []
    desk.archive()
    desk.export(note=lambda done, count: told.append((done, count)))

    everything = len(STATES) + 1
    assert {count for _, count in told} == {everything} and max(told)[0] == everything


@pytest.mark.parametrize("when", ["before the first record", "between archives and tables"])
def test_what_is_archived_meanwhile_is_neither_lost_nor_doubled(desk: Desk, when: str) -> None:
    expected = desk.export()
    if when != "before the first record":
        archive_next_day(desk.database, desk.store)

    def work(_done: int, _count: int) -> None:
        desk.archive()

    assert desk.export(note=work) == expected


def test_an_export_begins_again_when_a_month_is_merged_and_fails_if_a_file_is_lost(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = desk.export()
    desk.archive()

    def merge(_done: int, _count: int) -> None:
        while roll_up_next_month(desk.database, desk.store):
            remove_rolled_up(desk.database, desk.store)

    with pytest.raises(ArchivesChanged):
        desk.export(note=merge)
    assert desk.export() == expected

    for name in desk.store.list_names():
        desk.store.remove(name)
    with pytest.raises(Refused, match="archive of 2025-11-01 is not in the media store"):
        desk.export()


def test_archives_of_other_servers_are_read_and_an_anonymous_workspace_shows_no_urn(desk: Desk) -> None:
    contact = {"uuid": "f8abfcc6-2e55-44bd-8ebd-c7732935b746", "name": "Bob"}
    line = {"id": 1, "contact": contact, "urn": "tel:+250788000009", "direction": "in", "status": "handled"}
    with desk.store.writing("archives/theirs.jsonl.gz") as file:
        file.write(gzip.compress(orjson.dumps({**line, "created_on": "2019-01-01T00:00:00Z", "text": "Hi"}) + b"\n"))
    with desk.database.writing() as tx:
        period = {"archive_type": "message", "period": "daily", "start_date": OLD.date().replace(year=2019)}
        size = {"record_count": 1, "size": 1, "location": "archives/theirs.jsonl.gz", "is_trimmed": True}
        tx.insert(archive, workspace_id=desk.workspace.id, created_on=tx.now, **period, **size)
        tx.execute(update(flow_run).values(modified_on=OLD))

    shown = [each for each in desk.export() if "Bob" in each]
    desk.archive()
    desk.workspace = replace(desk.workspace, is_anonymous=True)

    assert len(shown) == 1 and "2019-01-01T00:00:00Z" in shown[0] and "+250788000009" in shown[0]
    assert len(desk.export()) == len(STATES) + 3
    for kind, form in itertools.product(("messages", "runs"), ("csv", "jsonl")):
        assert "+250788" not in "".join(desk.export(kind, form))
