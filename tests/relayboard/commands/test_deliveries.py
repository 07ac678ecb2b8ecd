from datetime import timedelta
from functools import partial
from urllib.parse import parse_qs

import pytest
from sqlalchemy import select, update

from persistence.channels.channels import set_channel_webhook
from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, list_due_receivers, record_attempt
from persistence.deliveries.outbox import record_channel_event
from persistence.tables.channels import channel
from persistence.tables.deliveries import FAILED, delivery
from tests.channel_rows import add_channel
from tests.worker.receivers import receiving

URL = "http://hooks.example.org/in"
NOWHERE = "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"


@pytest.fixture
def run(command):
    return partial(command, "delivery")


@pytest.fixture
def failed(database, workspace):
    """The uuid of a delivery that failed."""
    channel_id = add_channel(database, workspace, webhook_url=URL)
    with database.writing() as tx:
        uuid = record_channel_event(tx, workspace.id, channel_id, "mo_sms", {"text": "Hello"})
        (leased,) = lease_deliveries(tx, dict.fromkeys(list_due_receivers(tx), 1), timedelta(seconds=9))
        record_attempt(tx, leased, AttemptOutcome(FAILED, None, 500, None, b"broken", 0.1))
    return uuid


def test_deliveries_are_listed_with_their_attempts(run, workspace, failed):
    status, printed = run("list", "--workspace", workspace.uuid, "--status", "failed")

    assert status == 0
    assert printed["counts"] == {"pending": 0, "delivered": 0, "failed": 1}
    assert [(each["uuid"], each["attempts"][0]["answer"]) for each in printed["deliveries"]] == [(failed, "broken")]


@pytest.mark.parametrize("how", ["one", "since"])
def test_what_failed_is_sent_again(run, workspace, failed, how):
    what = ["--delivery", failed] if how == "one" else ["--failed-since", "2026-03-01"]

    assert run("resend", "--workspace", workspace.uuid, *what) == (0, {"resent": 1})
    assert run("list", "--workspace", workspace.uuid)[1]["counts"]["pending"] == 1


@pytest.mark.parametrize("how", ["one", "since"])
def test_it_is_sent_to_where_the_receiver_is_now(run, database, workspace, failed, how):
    with receiving() as moved:
        with database.writing() as tx:
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
            set_channel_webhook(tx, workspace.id, uuid, moved.url)
        what = ["--delivery", failed] if how == "one" else ["--failed-since", "2026-03-01"]

        assert run("resend", "--workspace", workspace.uuid, *what) == (0, {"resent": 1})
        (record,) = run("list", "--workspace", workspace.uuid)[1]["deliveries"]
        assert (record["url"], record["status"]) == (moved.url, "pending")
        with database.reading() as tx:
            assert tx.execute(select(delivery.c.receiver)).scalar_one() == moved.url.removesuffix("/hook")


@pytest.mark.parametrize("change", [{"webhook_url": None}, {"is_active": False}, "another workspace"])
def test_without_a_receiver_now_nothing_is_sent_again(run, database, workspace, other_workspace, failed, change):
    values = {"workspace_id": other_workspace.id} if change == "another workspace" else change
    with database.writing() as tx:
        tx.execute(update(channel).values(**values))

    assert run("resend", "--workspace", workspace.uuid, "--delivery", failed) == (1, None)
    assert run("resend", "--workspace", workspace.uuid, "--failed-since", "2026-03-01") == (0, {"resent": 0})


def test_a_test_event_goes_to_the_delivery_url(run, database, workspace, failed):
    uuid = run("list", "--workspace", workspace.uuid)[1]["deliveries"][0]["channel"]["uuid"]

    status, printed = run("test", "--workspace", workspace.uuid, "--channel", uuid)

    record = run("list", "--workspace", workspace.uuid, "--status", "pending")[1]["deliveries"][0]
    assert status == 0 and record["uuid"] == printed["uuid"]
    assert parse_qs(record["body"])["event"] == ["test"]


def test_a_channel_without_url_cannot_be_tested(run, database, workspace):
    uuid = NOWHERE.replace("0", "1")
    add_channel(database, workspace, uuid=uuid)

    assert run("test", "--workspace", workspace.uuid, "--channel", uuid) == (1, None)
