"""Phones over HTTP: the outbox, and what became of messages (relayer protocol, 8.4, 10 and 11)."""

import pytest
from sqlalchemy import select, update

from persistence.channels.channels import set_channel_webhook
from persistence.sessions.parking import LeasedContact
from persistence.sessions.replies import ContactDelta, change_many
from persistence.sql.columns import columns_for
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.deliveries import delivery
from persistence.tables.messages import message
from relayboard.phone.phone import NEW, SENT
from tests.api import Api
from tests.phones import (
    claimed_phone,
    commands,
    count_rows,
    repeat_last,
    send_texts,
    status_of,
)

NOW_MS = 1772438400000

BOTH_MODES = pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])


class TestOutgoing:
    def test_consecutive_equal_texts_share_a_command(self, api: Api) -> None:
        phone = claimed_phone(api)
        send_texts(api, phone, "A", "A", "B", "A")

        phone.sync()

        sizes = [(command["msg"], len(command["to"])) for command in commands(phone)]  # type: ignore[arg-type]
        assert sizes == [("A", 2), ("B", 1), ("A", 1)]

    def test_a_message_is_wired_once_the_phone_holds_it_and_not_offered_again(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        offered = status_of(api.database, message_id)

        phone.sync()

        assert (offered, status_of(api.database, message_id)) == ("queued", "wired")
        assert commands(phone) == []

    def test_a_message_that_the_phone_does_not_hold_is_offered_still(self, api: Api) -> None:
        phone = claimed_phone(api)
        (first,) = send_texts(api, phone, "Welcome")
        phone.sync()
        (second,) = send_texts(api, phone, "Goodbye")

        phone.sync()

        assert [status_of(api.database, each) for each in (first, second)] == ["wired", "queued"]
        assert [command["msg"] for command in commands(phone)] == ["Goodbye"]

    @BOTH_MODES
    def test_a_message_is_sent_once_and_its_progress_shows(self, api: Api, is_lagging: bool) -> None:
        phone = claimed_phone(api, is_lagging=is_lagging)
        (message_id,) = send_texts(api, phone, "Welcome")
        seen = []
        for _ in range(6):
            phone.sync()
            phone.send_waiting()
            seen.append(status_of(api.database, message_id))

        assert seen[-1] == "delivered"
        assert phone.state.messages[message_id].copies == 1

    def test_a_late_report_of_sending_does_not_undo_a_delivery(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_dlvd", message_id, NOW_MS + 5000)
        phone.sync()
        phone._report("mt_sent", message_id, NOW_MS + 9000)

        phone.sync()

        assert status_of(api.database, message_id) == "delivered"

    def test_sent_comes_before_delivered_if_one_sync_reports_both(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        with api.database.writing() as tx:
            tx.execute(
                update(channel).values(webhook_url="https://example.org/", webhook_events=["mt_sent", "mt_dlvd"])
            )
        phone._report("mt_dlvd", message_id, NOW_MS + 5000)
        phone._report("mt_sent", message_id, NOW_MS + 4000)
        phone.sync()

        with api.database.reading() as tx:
            told = list(tx.execute(select(delivery.c.event).order_by(delivery.c.id)).scalars())
        assert told == ["mt_sent", "mt_dlvd"]
        assert status_of(api.database, message_id) == "delivered"

    def test_a_failure_is_undone_only_by_a_later_report(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_fail", message_id, NOW_MS + 5000)
        phone.sync()
        failed = status_of(api.database, message_id)
        phone._report("mt_sent", message_id, NOW_MS + 4000)
        phone.sync()
        still_failed = status_of(api.database, message_id)

        phone._report("mt_sent", message_id, NOW_MS + 6000)
        phone.sync()

        assert (failed, still_failed, status_of(api.database, message_id)) == ("failed", "failed", "sent")

    def test_a_repeat_of_a_failure_and_of_what_undid_it_changes_nothing(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        (channel,) = api.results("/api/v2/channels.json")
        with api.database.writing() as tx:
            set_channel_webhook(tx, api.workspace.id, channel["uuid"], "https://receiver.example.org/events")
        phone._report("mt_fail", message_id, NOW_MS + 5000)
        phone._report("mt_sent", message_id, NOW_MS + 6000)
        phone.sync()
        (before,) = api.results("/api/v2/messages.json", id=message_id)
        events = count_rows(api.database, delivery)

        repeat_last(phone)

        assert (before["status"], events) == ("sent", 1)
        assert api.results("/api/v2/messages.json", id=message_id) == [before]
        assert count_rows(api.database, delivery) == events

    def test_an_error_that_is_told_again_while_the_phone_has_the_message_is_one_error(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_error", message_id, NOW_MS + 5000)

        statuses = []
        for _ in range(4):
            repeated = list(phone.state.queue)
            phone.sync()
            statuses.append(status_of(api.database, message_id))
            phone.state.queue = repeated

        assert phone.state.ids_in(NEW) == [message_id]
        assert statuses == ["wired"] * 4

    def test_what_was_sent_does_not_fail_by_an_older_report(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_sent", message_id, NOW_MS + 6000)
        phone.sync()
        for older_ms in (1, 5000):
            phone._report("mt_fail", message_id, NOW_MS + 6000 - older_ms)
            phone.sync()
        still_sent = status_of(api.database, message_id)

        phone._report("mt_fail", message_id, NOW_MS + 7000)
        phone.sync()

        assert (still_sent, status_of(api.database, message_id)) == ("sent", "failed")

    @pytest.mark.together
    def test_reports_about_another_phones_message_change_nothing(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        other = claimed_phone(api, number="+250788999999")
        for report in ("mt_sent", "mt_dlvd", "mt_fail", "mt_error"):
            other._report(report, message_id)

            other.sync()

            assert (status_of(api.database, message_id), other.state.queue) == ("queued", []), report

    def test_finished_messages_are_never_offered(self, api: Api) -> None:
        phone = claimed_phone(api)
        ids = send_texts(api, phone, "one", "two", "three")
        phone.sync()
        for message_id, report in zip(ids, ("mt_sent", "mt_dlvd", "mt_fail"), strict=True):
            phone._report(report, message_id)
        phone.state.messages = {key: held for key, held in phone.state.messages.items() if held.state == SENT}

        phone.sync()

        assert [command["cmd"] for command in commands(phone)] == ["ack", "ack", "ack"]


class TestErrors:
    def test_a_message_that_errored_is_offered_again(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone.state.messages.clear()
        phone._report("mt_error", message_id, NOW_MS + 5000)
        phone.sync()
        errored = status_of(api.database, message_id)
        phone.state.messages.clear()

        phone.sync()

        assert errored == "errored"
        assert [command["to"] for command in commands(phone)] == [[{"phone": "+250788000111", "id": message_id}]]

    def test_once_held_again_it_is_wired(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        phone.sync()
        phone.state.messages.clear()
        phone._report("mt_error", message_id, NOW_MS + 5000)
        phone.sync()

        phone.sync()

        assert status_of(api.database, message_id) == "wired"

    def test_the_third_error_fails_it_and_repeats_of_a_report_count_once(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send_texts(api, phone, "Welcome")
        seen = []
        for second in (5, 5, 6, 7):
            phone.state.messages.clear()
            phone._report("mt_error", message_id, NOW_MS + second * 1000)
            phone.sync()
            seen.append(status_of(api.database, message_id))

        assert seen == ["errored", "errored", "errored", "failed"]


@pytest.mark.parametrize("action", ["block", "delete", "archive by a flow"])
def test_messages_that_wait_fail_when_their_contact_is_put_away(api: Api, action: str) -> None:
    phone = claimed_phone(api)
    (message_id,) = send_texts(api, phone, "Welcome")
    uuid = api.results("/api/v2/contacts.json")[0]["uuid"]
    with api.database.writing() as tx:
        rows = [LeasedContact(*row) for row in tx.execute(select(*columns_for(LeasedContact, contact)))]
        if action == "archive by a flow":
            change_many(tx, api.workspace.id, rows, {rows[0].id: ContactDelta(status="archived")})
    if action != "archive by a flow":
        api.post("/api/v2/contact_actions.json", {"contacts": [uuid], "action": action})

    phone.sync()

    assert commands(phone) == []
    with api.database.reading() as tx:
        row = tx.execute(select(message).where(message.c.id == message_id)).one()
        assert (row.status, row.failed_reason) == ("failed", "contact_inactive")


def test_what_a_flow_says_before_it_stops_its_contact_still_goes_out(api: Api) -> None:
    phone = claimed_phone(api)
    goodbye, other = send_texts(api, phone, "Goodbye", "News")
    with api.database.writing() as tx:
        tx.execute(update(contact).values(status="stopped"))
        tx.execute(update(message).where(message.c.id == goodbye).values(flow_id=1))

    phone.sync()

    assert [command["msg"] for command in commands(phone)] == ["Goodbye"]
    assert status_of(api.database, other) == "failed"


def test_an_error_of_a_message_whose_contact_is_blocked_fails_it_at_once(api: Api) -> None:
    phone = claimed_phone(api)
    (message_id,) = send_texts(api, phone, "Welcome")
    phone.sync()
    phone.sync()
    assert status_of(api.database, message_id) == "wired"
    uuid = api.results("/api/v2/contacts.json")[0]["uuid"]
    api.post("/api/v2/contact_actions.json", {"contacts": [uuid], "action": "block"})

    phone.state.messages.clear()
    phone._report("mt_error", message_id, NOW_MS + 5000)
    phone.sync()

    with api.database.reading() as tx:
        row = tx.execute(select(message).where(message.c.id == message_id)).one()
        assert (row.status, row.failed_reason) == ("failed", "contact_inactive")
