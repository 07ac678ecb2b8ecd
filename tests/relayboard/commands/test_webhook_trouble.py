from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.tables.channels import channel
from persistence.tables.deliveries import webhook_trouble
from testbed.tokens import SECRET_KEY
from tests.channel_rows import add_channel

URL = "https://hooks.example.org/in"
REASON = "Nothing was accepted since long ago."


@pytest.fixture
def run(command, monkeypatch):
    monkeypatch.setenv("RELAYBOARD_SECRET_KEY", SECRET_KEY)
    return command


@pytest.fixture
def off(database, workspace):
    """Switches an endpoint off, named by `channel_id` or `subscriber_id`."""

    def switch_off(**endpoint):
        with database.writing() as tx:
            times = {"began_on": tx.now - timedelta(days=5), "last_failed_on": tx.now, "switched_off_on": tx.now}
            values = {"workspace_id": workspace.id, "given_up": 20, "reason": REASON}
            tx.execute(insert(webhook_trouble).values(**endpoint, **times, **values))

    return switch_off


@pytest.fixture
def phone(database, workspace, off):
    """The uuid of a channel whose webhook is switched off."""
    channel_id = add_channel(database, workspace, webhook_url=URL)
    off(channel_id=channel_id)
    with database.reading() as tx:
        return tx.execute(select(channel.c.uuid)).scalar_one()


@pytest.fixture
def subscriber(database, workspace, off):
    """The id of a subscriber that is switched off."""
    with database.writing() as tx:
        ensure_resthook(tx, workspace.id, "registration")
        subscriber_id = create_subscriber(tx, workspace.id, "registration", URL)
    off(subscriber_id=subscriber_id)
    return subscriber_id


def test_channels_are_listed_with_why_their_webhook_is_off(run, workspace, phone):
    status, (shown,) = run("channel", "list", "--workspace", workspace.uuid)

    assert (status, shown["uuid"], shown["webhook_url"]) == (0, phone, URL)
    assert shown["webhook_switched_off_on"].startswith("2026-03-02T08:00")
    assert shown["webhook_switched_off_reason"] == REASON


@pytest.mark.parametrize("how", [("--on",), ("--url", URL)])
def test_a_webhook_is_switched_on(run, workspace, phone, how):
    assert run("channel", "webhook", "--channel", phone, *how)[0] == 0

    assert run("channel", "list", "--workspace", workspace.uuid)[1][0]["webhook_switched_off_on"] is None


def test_switching_on_tells_whether_anything_was_off(run, phone):
    answers = [run("channel", "webhook", "--channel", phone, "--on")[1] for _ in range(2)]

    assert [answer["was_off"] for answer in answers] == [True, False]


def test_deliveries_are_listed_with_the_receivers_that_are_off(run, workspace, database, phone, subscriber):
    _, shown = run("delivery", "list", "--workspace", workspace.uuid)

    assert [(set(each) - {"since"}, each["reason"]) for each in shown["switched_off"]] == [
        ({"channel", "reason"}, REASON),
        ({"subscriber", "reason"}, REASON),
    ]


def test_subscribers_are_listed_and_switched_on(run, workspace, subscriber):
    _, (before,) = run("resthook", "subscribers", "--workspace", workspace.uuid)
    answer = run("resthook", "switch-on", "--workspace", workspace.uuid, "--subscriber", subscriber)
    _, (after,) = run("resthook", "subscribers", "--workspace", workspace.uuid)

    assert (before["id"], before["resthook"], before["target_url"]) == (subscriber, "registration", URL)
    assert (before["switched_off_reason"], after["switched_off_reason"]) == (REASON, None)
    assert answer == (0, {"subscriber": subscriber, "was_off": True})
