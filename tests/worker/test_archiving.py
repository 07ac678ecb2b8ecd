"""Old messages move into archives, each into exactly one."""

import gzip
import hashlib
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from sqlalchemy import func, insert, select

from persistence.archives import writing as archive_writing
from persistence.archives.writing import archive_next_day
from persistence.labels import create_label
from persistence.leases import MOST_ATTEMPTS
from persistence.media.store import MediaStore, StoreUnavailable, open_store
from persistence.tables.messages import label, message, message_label
from persistence.tables.service import archive
from tests.api import Api
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.phones import claimed_phone, repeat_last
from worker.jobs import begin_archiving

PATH = "/api/v2/archives.json"
OLD = datetime(2025, 11, 29, 10, tzinfo=UTC)
"""The clock of tests begins on 2 March 2026, so that November 2025 is over for 90 days and December is not."""


@pytest.fixture
def add(database, workspace):
    """Adds a message of a moment; returns its id."""
    channel_id = add_channel(database, workspace)
    contact_id = add_contact(database, workspace)

    def add_message(created_on, **values):
        return add_outgoing(database, workspace, channel_id, contact_id, created_on, "sent", **values)

    return add_message


@pytest.fixture
def archive_all(runtime):
    def work():
        step = begin_archiving(runtime)
        while step():
            pass

    return work


@pytest.fixture
def store(settings):
    return open_store(settings)


def files_of(store: MediaStore) -> list[str]:
    return sorted(store.list_names())


def content_of(store: MediaStore, name: str) -> bytes:
    file = store.open(name)
    assert file is not None
    with file.stream:
        return file.stream.read()


def in_milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def ids_in(store: MediaStore, name: str) -> list[int]:
    return [json.loads(line)["id"] for line in gzip.decompress(content_of(store, name)).splitlines()]


def living(database) -> list[int]:
    with database.reading() as tx:
        return list(tx.execute(select(message.c.id).order_by(message.c.id)).scalars())


def download(api: Api, url: str):
    parts = urlsplit(url)
    return api.client.get(f"{parts.path}?{parts.query}")


def test_days_of_a_finished_month_become_one_file(api, add, archive_all, database, store):
    ids = [add(OLD + timedelta(hours=hours)) for hours in (0, 1, 20)]
    shown = api.results("/api/v2/messages.json")[::-1]

    archive_all()

    (record,) = api.results(PATH)
    (path,) = files_of(store)
    packed = content_of(store, path)
    assert {key: record[key] for key in record if key != "download_url"} == {
        "archive_type": "message",
        "type": "message",
        "start_date": "2025-11-01",
        "period": "monthly",
        "record_count": 3,
        "size": len(packed),
        "hash": hashlib.md5(packed).hexdigest(),
    }
    assert download(api, record["download_url"]).content == packed
    assert [json.loads(line) for line in gzip.decompress(packed).splitlines()] == shown
    assert ids_in(store, path) == ids
    assert living(database) == []


def test_only_whole_days_older_than_90_days_are_archived(api, add, archive_all, database):
    add(datetime(2025, 12, 1, 23, 59, 59, tzinfo=UTC))
    young = add(datetime(2025, 12, 2, tzinfo=UTC))

    archive_all()

    (record,) = api.results(PATH)
    assert (record["start_date"], record["period"], record["record_count"]) == ("2025-12-01", "daily", 1)
    assert living(database) == [young]


def test_what_a_phone_reports_late_ages_from_the_day_we_stored_it(api, archive_all, database, clock):
    phone = claimed_phone(api)
    phone.receive_sms("+250788000111", "from a phone long switched off", at_ms=in_milliseconds(OLD))
    phone.sync()
    (received,) = api.results("/api/v2/messages.json")

    archive_all()
    repeat_last(phone)

    assert api.results("/api/v2/messages.json") == [received]
    assert received["created_on"] == "2025-11-29T10:00:00.000000Z"
    clock.advance(days=91)
    archive_all()
    assert [(record["start_date"], record["record_count"]) for record in api.results(PATH)] == [("2025-11-01", 1)]
    assert living(database) == []


def test_late_reports_of_a_day_are_left_in_place_when_the_rest_of_it_is_archived(
    api, add, archive_all, database, clock, store, monkeypatch
):
    phone = claimed_phone(api)
    phone.receive_sms("+250788000111", "late", at_ms=in_milliseconds(OLD))
    phone.sync()
    (late,) = living(database)
    punctual = add(OLD)
    monkeypatch.setattr(archive_writing, "trim_archived", lambda _database: False)
    assert archive_next_day(database, store)
    monkeypatch.undo()
    clock.advance(days=91)

    archive_all()

    assert sorted(ids for path in files_of(store) for ids in ids_in(store, path)) == sorted([late, punctual])
    assert living(database) == []


def test_archived_messages_leave_the_counts_of_labels(add, archive_all, database, workspace):
    message_id = add(OLD)
    with database.writing() as tx:
        label_id = create_label(tx, workspace.id, "Complaint")
        row = {"workspace_id": workspace.id, "message_id": message_id, "label_id": label_id, "created_on": OLD}
        tx.execute(insert(message_label).values(row))
        tx.execute(label.update().values(message_count=1))

    archive_all()

    with database.reading() as tx:
        assert tx.execute(select(label.c.message_count)).scalar_one() == 0


def test_deleted_messages_are_kept_nowhere(api, add, archive_all, database, store):
    add(OLD, visibility="deleted")

    archive_all()

    (record,) = api.results(PATH)
    assert (record["record_count"], record["size"], record["hash"], record["download_url"]) == (0, 0, None, None)
    assert (living(database), files_of(store)) == ([], [])


def test_messages_that_turn_up_later_get_an_archive_of_their_own(api, add, archive_all, database):
    add(OLD)
    archive_all()
    add(OLD)

    archive_all()

    assert [record["record_count"] for record in api.results(PATH)] == [1, 1]
    assert living(database) == []


def test_of_two_that_archive_the_same_day_one_is_recorded(add, archive_all, database, store, monkeypatch):
    ids = [add(OLD), add(OLD)]
    original = archive_writing._write_day

    def write_beside_a_rival(*arguments):
        monkeypatch.setattr(archive_writing, "_write_day", original)
        written = original(*arguments)
        archive_next_day(database, store)
        return written

    monkeypatch.setattr(archive_writing, "_write_day", write_beside_a_rival)
    archive_next_day(database, store)

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(archive)).scalar_one() == 1
    (path,) = files_of(store)
    assert ids_in(store, path) == ids


@pytest.mark.parametrize("stage", range(6))
def test_work_that_ends_after_any_step_is_taken_up_again(api, add, runtime, archive_all, database, store, stage):
    ids = [add(OLD), add(OLD + timedelta(days=1))]
    step = begin_archiving(runtime)
    for _ in range(stage):
        step()

    archive_all()

    (path,) = files_of(store)
    assert (ids_in(store, path), living(database)) == (ids, [])


def test_a_file_that_nobody_finished_counts_for_nothing(add, archive_all, database, store, monkeypatch, clock):
    ids = [add(OLD)]

    def end(*arguments, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(archive_writing, "_record_day", end)
        with pytest.raises(KeyboardInterrupt):
            archive_next_day(database, store)
    archive_all()
    assert living(database) == ids, "it is left to who has begun it"
    clock.advance(seconds=archive_writing.PAUSE.total_seconds())

    archive_all()

    with database.reading() as tx:
        places = tx.execute(select(archive.c.location).where(archive.c.location.is_not(None))).scalars().all()
    assert [ids_in(store, place) for place in places] == [ids]


def test_archiving_that_ended_three_workers_is_tried_once_a_day(add, archive_all, database, clock, workspace):
    ids = [add(OLD)]
    for _ in range(MOST_ATTEMPTS):
        database.write(lambda tx: archive_writing.begin_archive(tx, workspace.id, "daily", "message"))
        clock.advance(seconds=archive_writing.PAUSE.total_seconds())

    archive_all()
    assert living(database) == ids
    with database.reading() as tx:
        assert archive_writing.list_given_up(tx) == [(workspace.name, "daily message")]

    clock.advance(seconds=archive_writing.LONG_PAUSE.total_seconds())
    archive_all()
    assert living(database) == []
    with database.reading() as tx:
        assert archive_writing.list_given_up(tx) == []


def test_a_store_that_does_not_answer_costs_no_attempt(add, archive_all, database, store, monkeypatch):
    add(OLD)

    def fail(*arguments):
        raise StoreUnavailable("the bucket cannot be reached")

    with monkeypatch.context() as broken:
        broken.setattr(archive_writing, "_write_day", fail)
        for _ in range(MOST_ATTEMPTS + 1):
            with pytest.raises(StoreUnavailable):
                archive_next_day(database, store)

    archive_all()

    assert living(database) == []
