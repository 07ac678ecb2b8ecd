from datetime import timedelta

import pytest
from sqlalchemy import select, update

import worker.jobs
from persistence.campaigns.fires import add_fires
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.tables.campaigns import campaign_fire
from persistence.tables.deliveries import DELIVERED, delivery
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
