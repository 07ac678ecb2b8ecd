import json
from datetime import timedelta

import pytest

from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, record_attempt
from persistence.deliveries.ledger import Ledger, count_deliveries
from persistence.deliveries.outbox import NewDelivery, record_deliveries
from persistence.deliveries.records import DELIVERIES, send_again, send_failed_again, trim_deliveries
from persistence.lists import ListQuery, fetch_list
from persistence.tables.deliveries import DELIVERED, FAILED, delivery_attempt
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

    def test_all_that_failed_since_a_time_are_sent_again(self, database, workspace, events, clock):
        with database.writing() as tx:
            assert send_failed_again(tx, workspace.id, clock() + timedelta(hours=1)) == 0
            assert send_failed_again(tx, workspace.id, clock() - timedelta(hours=1)) == 1

        assert ledger(database, workspace) == Ledger(pending=2, delivered=1, failed=0)


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
