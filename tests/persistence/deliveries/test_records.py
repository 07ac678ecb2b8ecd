import contextlib
import json
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import select

from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, record_attempt, record_attempts
from persistence.deliveries.outbox import (
    MADE,
    SENT_AGAIN,
    Ledger,
    NewDelivery,
    count_deliveries,
    follow_channel,
    record_deliveries,
)
from persistence.deliveries.records import DELIVERIES, send_again, send_failed_again, trim_deliveries
from persistence.lists import ListQuery, fetch_list
from persistence.tables.channels import channel
from persistence.tables.deliveries import DELIVERED, FAILED, PENDING, delivery_attempt
from relayboard.base.metrics import deliveries
from tests.channel_rows import add_channel

RECEIVER = "http://a.example"


@pytest.fixture
def events(database, workspace):
    """Three deliveries: delivered, failed and pending."""
    channel_id = add_channel(database, workspace, name="Front desk", webhook_url=f"{RECEIVER}/in")
    made = [NewDelivery(f"mo_{n}", f"{RECEIVER}/in", "text/plain", b"x=1", channel_id=channel_id) for n in range(3)]
    with database.writing() as tx:
        uuids = record_deliveries(tx, workspace.id, made)
        leased = lease_deliveries(tx, {(workspace.id, RECEIVER): 2}, timedelta(seconds=60))
        record_attempt(tx, leased[0], AttemptOutcome(DELIVERED, None, 200, None, b"ok", 0.01))
        record_attempt(tx, leased[1], AttemptOutcome(FAILED, None, None, "No answer.", b"", 0.01))
    return uuids


def ledger(database, workspace):
    with database.reading() as tx:
        return count_deliveries(tx, workspace.id)


def listed(database, workspace, **filters):
    with database.reading() as tx:
        page = fetch_list(ListQuery(tx, workspace, filters), DELIVERIES, None, 10)
    return [json.loads(record) for record in page.records]


class TestRecords:
    def test_a_delivery_shows_where_it_went_and_what_happened(self, database, workspace, events):
        record = listed(database, workspace, status=FAILED)[0]

        assert (record["uuid"], record["event"], record["url"]) == (events[1], "mo_1", f"{RECEIVER}/in")
        assert (record["status"], record["body"], record["channel"]["name"]) == ("failed", "x=1", "Front desk")
        (attempt,) = record["attempts"]
        assert (attempt["number"], attempt["status"], attempt["error"]) == (1, None, "No answer.")
        assert attempt["duration_ms"] == 10 and attempt["uuid"] != record["uuid"]

    def test_they_can_be_filtered_by_channel(self, database, workspace, events):
        uuid = listed(database, workspace)[0]["channel"]["uuid"]

        assert len(listed(database, workspace, channel=uuid)) == 3
        assert listed(database, workspace, channel="0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e") == []

    def test_another_workspace_sees_nothing(self, database, other_workspace, events):
        assert listed(database, other_workspace) == []


class TestLedger:
    def test_every_delivery_is_in_one_state(self, database, workspace, other_workspace, events):
        assert ledger(database, workspace) == Ledger(pending=1, delivered=1, failed=1)
        assert ledger(database, workspace).total == 3
        assert ledger(database, other_workspace).total == 0


class TestCounting:
    """`relayboard_deliveries_total`: made + sent_again = delivered + failed + pending, as the ledger has it."""

    @pytest.fixture(autouse=True)
    def before(self):
        self.counted_before = counted()

    def changes(self):
        return Counter({state: now - self.counted_before[state] for state, now in counted().items()})

    def assert_balance(self, database, workspace):
        since = self.changes()
        assert since[MADE] + since[SENT_AGAIN] == since[DELIVERED] + since[FAILED] + ledger(database, workspace).pending

    def test_each_change_of_state_counts_once(self, database, workspace, events, clock):
        assert self.changes() == Counter({MADE: 3, DELIVERED: 1, FAILED: 1})
        self.assert_balance(database, workspace)

        with database.writing() as tx:
            send_again(tx, workspace.id, events[0])
            send_failed_again(tx, workspace.id, clock() - timedelta(hours=1))
        assert self.changes() == Counter({MADE: 3, SENT_AGAIN: 2, DELIVERED: 1, FAILED: 1})
        self.assert_balance(database, workspace)

        with database.writing() as tx:
            leased = lease_deliveries(tx, {(workspace.id, RECEIVER): 5}, timedelta(seconds=60))
            tried_again = AttemptOutcome(PENDING, tx.now + timedelta(minutes=1), 500, None, b"", 0.01)
            accepted = AttemptOutcome(DELIVERED, None, 200, None, b"ok", 0.01)
            record_attempts(tx, [*((each, accepted) for each in leased[:2]), (leased[2], tried_again)])
        assert self.changes() == Counter({MADE: 3, SENT_AGAIN: 2, DELIVERED: 3, FAILED: 1})
        self.assert_balance(database, workspace)

        with database.writing() as tx:
            channel_uuid = tx.execute(select(channel.c.uuid)).scalar_one()
            follow_channel(tx, workspace.id, channel_uuid, None)
        assert self.changes() == Counter({MADE: 3, SENT_AGAIN: 2, DELIVERED: 3, FAILED: 2})
        self.assert_balance(database, workspace)

    def test_what_is_rolled_back_or_done_by_another_worker_does_not_count(self, database, workspace, events):
        with database.writing() as tx:
            (leased,) = lease_deliveries(tx, {(workspace.id, RECEIVER): 5}, timedelta(seconds=60))
        outcome = AttemptOutcome(DELIVERED, None, 200, None, b"ok", 0.01)
        with contextlib.suppress(Interrupted), database.writing() as tx:
            assert record_attempt(tx, leased, outcome)
            raise Interrupted
        for _ in range(2):
            with database.writing() as tx:
                record_attempts(tx, [(leased, outcome)])

        assert self.changes() == Counter({MADE: 3, DELIVERED: 2, FAILED: 1})


class Interrupted(Exception):
    """What ends a transaction."""


def counted():
    return Counter({state: deliveries.labels(state)._value.get() for state in (MADE, SENT_AGAIN, DELIVERED, FAILED)})


class TestSendingAgain:
    def test_a_finished_delivery_is_due_again_under_its_event_id(self, database, workspace, events, woken):
        woken.clear()

        with database.writing() as tx:
            assert send_again(tx, workspace.id, events[0])
        with database.writing() as tx:
            again = lease_deliveries(tx, {(workspace.id, RECEIVER): 5}, timedelta(seconds=60))

        assert events[0] in [each.uuid for each in again if each.attempt == 1]
        assert woken == ["webhooks"]

    def test_a_pending_one_and_that_of_another_workspace_are_left_alone(
        self, database, workspace, other_workspace, events
    ):
        with database.writing() as tx:
            assert not send_again(tx, workspace.id, events[2])
            assert not send_again(tx, other_workspace.id, events[0])


class TestTrimming:
    def test_finished_deliveries_go_after_a_week_and_pending_ones_stay(self, database, workspace, events, clock):
        clock.advance(days=6)
        with database.writing() as tx:
            assert trim_deliveries(tx) == 0
        clock.advance(days=2)
        with database.writing() as tx:
            assert trim_deliveries(tx, limit=1) == 1
            assert trim_deliveries(tx) == 1
            attempts = tx.execute(delivery_attempt.select()).all()

        assert attempts == []
        assert ledger(database, workspace) == Ledger(pending=1, delivered=0, failed=0)
