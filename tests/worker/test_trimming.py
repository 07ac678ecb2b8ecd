import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import OperationalError

import worker.jobs
from persistence.campaigns.fires import add_fires
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.records import trim_deliveries
from persistence.tables.campaigns import campaign_fire
from persistence.tables.deliveries import DELIVERED, delivery
from testbed.running import wait_until
from tests.campaign_rows import fired, make_campaign, make_event, scheduled
from tests.factories import id_of, make_contact, make_field
from worker.jobs import begin_trimming


def test_old_deliveries_are_deleted_batch_by_batch(runtime, database, workspace, clock, monkeypatch):
    made = [NewDelivery("mo_sms", "http://hooks.example.org/", "text/plain", b"x")] * 4
    with database.writing() as tx:
        kept, *_ = record_deliveries(tx, workspace.id, made)
        old = delivery.c.uuid != kept
        tx.execute(update(delivery).where(old).values(status=DELIVERED, finished_on=tx.now))
    clock.advance(days=8)
    monkeypatch.setattr(worker.jobs, "TRIMMED_AT_ONCE", 2)
    step = begin_trimming(runtime)

    assert (step(), step()) == (True, False)

    with database.reading() as tx:
        assert list(tx.execute(select(delivery.c.uuid)).scalars()) == [kept]


def test_a_file_that_cannot_be_removed_keeps_nothing_else_from_being_deleted(
    runtime, database, workspace, clock, monkeypatch
):
    with database.writing() as tx:
        record_deliveries(tx, workspace.id, [NewDelivery("mo_sms", "http://hooks.example.org/", "text/plain", b"x")])
        tx.execute(update(delivery).values(status=DELIVERED, finished_on=tx.now))
    clock.advance(days=8)

    def fail(*_):
        raise PermissionError("imports/people.csv")

    monkeypatch.setattr(worker.jobs, "remove_old_files", fail)
    with pytest.raises(ExceptionGroup, match="could not be deleted"):
        begin_trimming(runtime)()

    with database.reading() as tx:
        assert tx.execute(select(delivery.c.uuid)).first() is None


def test_what_fired_three_months_ago_is_forgotten_and_what_is_scheduled_stays(runtime, database, workspace, clock):
    make_field(database, workspace, "Due Date", "datetime")
    event_id = make_event(database, workspace, make_campaign(database, workspace, "Antenatal"))
    contact_id = id_of(database, make_contact(database, workspace))
    moments = [clock.moment + timedelta(days=days) for days in (0, 30, 60)]
    with database.writing() as tx:
        add_fires(tx, workspace.id, [(event_id, contact_id, moment) for moment in moments])
        for moment in moments[:2]:
            mine = campaign_fire.c.due_on == moment
            tx.execute(update(campaign_fire).where(mine).values(fired_on=moment))
    clock.advance(days=100)

    begin_trimming(runtime)()

    assert (fired(database), scheduled(database)) == ([moments[1]], [moments[2]])


def old_deliveries(database, workspace, count):
    made = [NewDelivery("mo_sms", "http://hooks.example.org/", "text/plain", b"x")] * count
    with database.writing() as tx:
        record_deliveries(tx, workspace.id, made)
        tx.execute(update(delivery).values(status=DELIVERED, finished_on=tx.now))


def test_a_batch_for_which_the_database_is_too_slow_becomes_smaller(runtime, database, workspace, clock, monkeypatch):
    old_deliveries(database, workspace, 12)
    clock.advance(days=8)
    limits = []

    def trim(tx, limit):
        limits.append(limit)
        if limit > 10:
            cause = sqlite3.OperationalError("interrupted")
            cause.sqlite_errorcode = sqlite3.SQLITE_INTERRUPT
            raise OperationalError("DELETE", None, cause)
        return trim_deliveries(tx, limit)

    monkeypatch.setattr(worker.jobs, "TRIMMERS", (trim,))
    step = begin_trimming(runtime)

    assert (step(), step()) == (True, False)

    assert limits == [1000, 100, 10, 1000, 100, 10]
    with database.reading() as tx:
        assert tx.execute(select(delivery.c.uuid)).first() is None


@pytest.mark.own_session
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_process_that_was_frozen_before_the_commit_of_a_batch_deletes_it_again(
    runtime, database, workspace, clock, monkeypatch
):
    """The server has ended the transaction meanwhile; the client hears of it at the commit, and cannot know more."""
    old_deliveries(database, workspace, 3)
    clock.advance(days=8)
    times = []

    def trim(tx, limit):
        gone = trim_deliveries(tx, limit)
        times.append(gone)
        if len(times) == 1:
            tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = '10ms'"))
            pid = tx.execute(text("SELECT pg_backend_pid()")).scalar_one()
            wait_until(lambda: not is_there(database, pid), "the server to end the transaction")
        return gone

    monkeypatch.setattr(worker.jobs, "TRIMMERS", (trim,))
    begin_trimming(runtime)()

    assert times == [3, 3]
    with database.reading() as tx:
        assert tx.execute(select(delivery.c.uuid)).first() is None


def is_there(database, pid):
    with database.reading() as tx:
        return tx.execute(text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid"), {"pid": pid}).first() is not None
