from datetime import timedelta

import pytest
from sqlalchemy import select

from persistence.deliveries.leases import (
    AttemptOutcome,
    lease_deliveries,
    list_due_receivers,
    record_attempt,
    record_attempts,
)
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.receivers import find_signers
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery, delivery_attempt
from tests.channel_rows import add_channel

LEASE = timedelta(seconds=60)
FIRST, SECOND = "http://a.example", "http://b.example"


@pytest.fixture
def add(database, workspace):
    def add_deliveries(*receivers):
        made = [NewDelivery("mo_sms", f"{receiver}/in", "text/plain", b"x=1") for receiver in receivers]
        with database.writing() as tx:
            return record_deliveries(tx, workspace.id, made)

    return add_deliveries


def lease(database, **rooms):
    names = {"a": FIRST, "b": SECOND}
    with database.writing() as tx:
        workspaces = {workspace_id for workspace_id, _ in list_due_receivers(tx)}
        wanted = {(each, names[name]): room for each in workspaces for name, room in rooms.items()}
        return lease_deliveries(tx, wanted, LEASE)


def due_receivers(database):
    with database.reading() as tx:
        return [receiver for _, receiver in list_due_receivers(tx)]


def finish(database, leased, state=DELIVERED, retry_at=None, status=200, error=None, answer=b"ok"):
    with database.writing() as tx:
        return record_attempt(tx, leased, AttemptOutcome(state, retry_at, status, error, answer, 0.0125))


def the_row(database):
    with database.reading() as tx:
        return tx.execute(select(delivery)).one()


class TestLease:
    def test_the_oldest_come_first_and_each_receiver_gets_no_more_than_its_room(self, database, add):
        events = add(FIRST, SECOND, FIRST, FIRST)

        leased = lease(database, a=2, b=5)

        assert [each.uuid for each in leased] == events[:3]
        assert (leased[0].attempt, leased[0].body, leased[0].receiver) == (1, "x=1", FIRST)

    def test_what_is_leased_is_taken_by_nobody_else(self, database, add):
        add(FIRST)

        assert len(lease(database, a=1)) == 1
        assert lease(database, a=1) == []

    def test_a_lease_that_ran_out_is_taken_again(self, database, add, clock):
        events = add(FIRST)
        lease(database, a=1)

        clock.advance(seconds=61)

        assert [each.uuid for each in lease(database, a=1)] == events

    def test_without_room_nothing_is_taken(self, database, add):
        add(FIRST)

        assert lease(database, a=0) == [] and lease(database) == []


class TestDueReceivers:
    def test_each_receiver_with_something_due_is_named_once(self, database, add):
        add(SECOND, FIRST, SECOND, FIRST)

        assert due_receivers(database) == [FIRST, SECOND]

    def test_one_whose_deliveries_are_leased_or_later_is_not_due(self, database, add, clock):
        add(FIRST, SECOND)
        (leased,) = lease(database, a=1)
        finish(database, leased, PENDING, retry_at=clock() + timedelta(seconds=30), status=500)
        lease(database, b=1)

        assert due_receivers(database) == []

        clock.advance(seconds=31)
        assert due_receivers(database) == [FIRST]


class TestOutcome:
    def test_a_delivery_ends_with_its_acceptance(self, database, add):
        add(FIRST)
        (leased,) = lease(database, a=1)

        assert finish(database, leased)

        row = the_row(database)
        assert (row.status, row.attempts, row.last_status, row.last_error) == (DELIVERED, 1, 200, None)
        assert row.finished_on is not None
        assert due_receivers(database) == []

    def test_a_failed_attempt_is_followed_by_another_under_the_same_event_id(self, database, add, clock):
        (event_id,) = add(FIRST)
        (leased,) = lease(database, a=1)
        retry_at = clock() + timedelta(seconds=10)

        finish(database, leased, PENDING, retry_at, status=None, error="No answer.")
        clock.advance(seconds=10)
        (again,) = lease(database, a=1)

        assert (again.uuid, again.attempt, again.scheduled_on) == (event_id, 2, retry_at)

    def test_every_attempt_is_kept(self, database, add, clock):
        add(FIRST)
        finish(database, lease(database, a=1)[0], PENDING, clock(), status=500, answer=b"\0\xff" + b"x" * 600)
        finish(database, lease(database, a=1)[0], FAILED, status=None, error="No answer.", answer=b"")

        with database.reading() as tx:
            first, last = tx.execute(select(delivery_attempt).order_by(delivery_attempt.c.id)).all()

        assert (first.number, first.status, first.error, first.duration_ms) == (1, 500, None, 12)
        assert first.answer == "\ufffd\ufffd" + "x" * 498
        assert (last.number, last.status, last.error, last.answer) == (2, None, "No answer.", None)
        assert (the_row(database).status, the_row(database).last_error) == (FAILED, "No answer.")

    def test_many_outcomes_are_recorded_at_once(self, database, add, clock):
        add(FIRST, FIRST, FIRST)
        leased = lease(database, a=3)
        accepted = AttemptOutcome(DELIVERED, None, 200, None, b"", 0.01)
        refused = AttemptOutcome(PENDING, clock() + timedelta(seconds=10), 500, None, b"", 0.01)

        with database.writing() as tx:
            record_attempts(tx, list(zip(leased, (accepted, refused, accepted), strict=True)))

        with database.reading() as tx:
            states = list(tx.execute(select(delivery.c.status).order_by(delivery.c.id)).scalars())
        assert states == [DELIVERED, PENDING, DELIVERED]

    def test_a_failure_does_not_count_once_somebody_else_has_the_lease(self, database, add, clock):
        add(FIRST)
        (late,) = lease(database, a=1)
        clock.advance(seconds=61)
        (current,) = lease(database, a=1)

        assert not finish(database, late, FAILED, status=500)
        assert the_row(database).status == PENDING
        assert finish(database, current, DELIVERED)

    def test_an_acceptance_counts_even_after_the_lease(self, database, add, clock):
        add(FIRST)
        (late,) = lease(database, a=1)
        clock.advance(seconds=61)
        (current,) = lease(database, a=1)

        assert finish(database, late, DELIVERED)
        assert not finish(database, current, FAILED, status=500)
        assert the_row(database).status == DELIVERED

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize(("before", "after"), [(DELIVERED, FAILED), (FAILED, DELIVERED), (FAILED, PENDING)])
    def test_two_of_one_delivery_count_together_as_one_after_the_other(
        self, database, add, clock, before, after, order
    ):
        add(FIRST)
        leased = lease(database, a=1)
        clock.advance(seconds=61)
        leased += lease(database, a=1)
        outcomes = [
            AttemptOutcome(each, clock() if each == PENDING else None, 500, None, b"", 0.01) for each in (before, after)
        ]

        with database.writing() as tx:
            record_attempts(tx, list(zip(leased, outcomes, strict=True))[::order])

        assert the_row(database).status == (DELIVERED if DELIVERED in (before, after) else after)


def test_a_channel_signs_with_its_secrets(database, workspace, clock):
    rotated_on = clock()
    values = {"webhook_secret": "new", "webhook_previous_secret": "old", "webhook_rotated_on": rotated_on}
    channel_id = add_channel(database, workspace, **values)

    with database.writing() as tx:
        record_deliveries(tx, workspace.id, [NewDelivery("mo_sms", FIRST, "text/plain", b"", channel_id=channel_id)])
        (leased,) = lease_deliveries(tx, {(workspace.id, FIRST): 1}, LEASE)
        signer = find_signers(tx, [leased])[leased.id]
        assert find_signers(tx, []) == {}

    assert (signer.secret, signer.previous_secret, signer.rotated_on) == ("new", "old", rotated_on)
    assert not signer.is_damaged
