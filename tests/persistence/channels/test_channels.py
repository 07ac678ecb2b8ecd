import pytest
from sqlalchemy import select
from standardwebhooks.webhooks import Webhook

from persistence.channels.channels import check_webhook_url, rotate_webhook_secret, set_channel_webhook
from persistence.errors import InvalidInput, RecordMissing
from persistence.tables.channels import channel
from tests.channel_rows import add_channel

URL = "https://hooks.example.org/in?key=1"


@pytest.fixture
def phone(database, workspace):
    """The row of a channel, read anew at each call."""
    channel_id = add_channel(database, workspace)

    def read():
        with database.reading() as tx:
            return tx.execute(select(channel).where(channel.c.id == channel_id)).one()

    return read


def test_a_channel_gets_a_url_and_a_secret(database, workspace, phone):
    with database.writing() as tx:
        secret = set_channel_webhook(tx, workspace.id, phone().uuid, f" {URL} ", ["mo_sms", "alarm", "mo_sms"])

    row = phone()
    assert (row.webhook_url, row.webhook_events, row.webhook_secret) == (URL, ["mo_sms", "alarm"], secret)
    assert secret.startswith("whsec_") and Webhook(secret)


def test_another_url_keeps_the_secret(database, workspace, phone):
    with database.writing() as tx:
        first = set_channel_webhook(tx, workspace.id, phone().uuid, URL)
        second = set_channel_webhook(tx, workspace.id, phone().uuid, URL + "2")

    assert first == second and phone().webhook_events is None


def test_a_rotation_remembers_the_old_secret(database, workspace, phone):
    with database.writing() as tx:
        old = set_channel_webhook(tx, workspace.id, phone().uuid, URL)
        new = rotate_webhook_secret(tx, workspace.id, phone().uuid)

    row = phone()
    assert (row.webhook_secret, row.webhook_previous_secret) == (new, old) and old != new
    assert row.webhook_rotated_on is not None


def test_an_unknown_event_is_refused(database, workspace, phone):
    with database.writing() as tx, pytest.raises(InvalidInput, match="mt_fail"):
        set_channel_webhook(tx, workspace.id, phone().uuid, URL, ["mo_sms", "mt_fail"])


def test_another_workspace_cannot_change_a_channel(database, other_workspace, phone):
    with database.writing() as tx, pytest.raises(RecordMissing):
        rotate_webhook_secret(tx, other_workspace.id, phone().uuid)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org", "http://", "http://a b", "http://me:word@example.org"),
        *("http://x:99999", "http://example.org/" + "x" * 2048, "http://example.org/\0"),
    ],
)
def test_a_url_that_can_never_be_called_is_refused(url):
    with pytest.raises(InvalidInput):
        check_webhook_url(url)
