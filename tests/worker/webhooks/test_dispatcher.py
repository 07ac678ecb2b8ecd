import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
from sqlalchemy import insert, select, text, update
from standardwebhooks.webhooks import Webhook

from persistence.channels.channels import new_webhook_secret, rotate_webhook_secret
from persistence.deliveries.outbox import Ledger, record_channel_event
from persistence.deliveries.records import send_again
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.deliveries import delivery, delivery_attempt
from persistence.tables.messages import message
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.channel_rows import add_channel, add_contact
from tests.worker.receivers import Reply, receiving
from worker.dispatcher import Finished
from worker.webhooks.dispatcher import DAMAGED, SLOTS_PER_RECEIVER, DeliveryQueue, begin_webhooks

FIELDS = {"event": "mo_sms", "text": "Hello"}


@pytest.fixture
def channel_id(database, workspace, receiver):
    return add_channel(database, workspace, webhook_url=receiver.url)


@pytest.fixture
def add(database, workspace, channel_id):
    def add_event(event="mo_sms", to=None, contact_id=None, fields=FIELDS):
        with database.writing() as tx:
            return record_channel_event(tx, workspace.id, to or channel_id, event, fields, contact_id)

    return add_event


def attempts_of(database):
    with database.reading() as tx:
        return tx.execute(select(delivery_attempt).order_by(delivery_attempt.c.id)).all()


class TestRequest:
    def test_an_event_arrives_as_a_form_and_is_delivered(self, add, receiver, finish):
        event_id = add()

        assert finish() == Ledger(pending=0, delivered=1, failed=0)
        (request,) = receiver.received
        assert request.body == b"event=mo_sms&text=Hello"
        assert request.headers["content-type"] == "application/x-www-form-urlencoded"
        assert request.headers["webhook-id"] == event_id

    def test_it_is_signed_with_the_secret_of_the_channel(self, database, add, receiver, finish, channel_id, clock):
        secret = new_webhook_secret()
        with database.writing() as tx:
            tx.execute(update(channel).values(webhook_secret=secret))
        clock.moment = datetime.now(UTC)
        add()
        finish()

        (request,) = receiver.received
        assert Webhook(secret).verify(request.body, request.headers, json_parse=False) is None

    def test_an_address_that_may_not_be_called_fails_with_a_reason(self, database, workspace, add, finish):
        add(to=add_channel(database, workspace, webhook_url="http://10.0.0.1/in"))

        assert finish().failed == 1
        assert attempts_of(database)[0].error == "10.0.0.1 is in a network that this service may not call."


class TestRetries:
    def test_a_refused_event_is_sent_four_times_with_the_same_id_and_body(self, database, add, receiver, finish):
        receiver.respond = lambda request: Reply(500, b"broken")
        event_id = add()

        assert finish() == Ledger(pending=0, delivered=0, failed=1)
        assert len(receiver.received) == 4
        assert {(request.headers["webhook-id"], request.body) for request in receiver.received} == {
            (event_id, b"event=mo_sms&text=Hello")
        }
        assert [(row.number, row.status, row.answer) for row in attempts_of(database)] == [
            (number, 500, "broken") for number in (1, 2, 3, 4)
        ]

    @pytest.mark.parametrize(
        "headers",
        [
            {"Content-Type": "text/\0plain"},
            {"Location": "http://[::1/in?key=1"},
            {"Retry-After": f"Mon, 02 Mar {'9' * 20} 08:12:00 GMT"},
        ],
    )
    def test_it_fails_in_the_end_whatever_nonsense_its_headers_say(self, database, add, receiver, finish, headers):
        receiver.respond = lambda request: Reply(503, headers=headers)
        add()

        assert finish() == Ledger(pending=0, delivered=0, failed=1)
        assert [row.status for row in attempts_of(database)] == [503] * 4

    def test_it_ends_with_the_first_acceptance(self, add, receiver, finish):
        answers = [Reply(400), Reply(302, headers={"Location": "/other"}), Reply(201)]
        receiver.respond = lambda request: answers.pop(0)
        add()

        assert finish().delivered == 1
        assert answers == []

    def test_a_retry_waits_for_its_time(self, runtime, database, add, receiver, ledger, clock):
        receiver.respond = lambda request: Reply(503, headers={"Retry-After": "60"})
        add()
        begin_webhooks(runtime)
        assert receiver.wait_for(1)
        runtime.closing.close()

        with database.reading() as tx:
            row = tx.execute(select(delivery)).one()
        assert ledger().pending == 1
        assert 60 <= (row.scheduled_on - clock()).total_seconds() <= 72

    def test_a_failed_delivery_can_be_sent_again(self, database, workspace, add, receiver, finish, runtime):
        receiver.respond = lambda request: Reply(404)
        event_id = add()
        finish()
        receiver.respond = lambda request: Reply(200)
        with database.writing() as tx:
            send_again(tx, workspace.id, event_id)

        assert finish() == Ledger(pending=0, delivered=1, failed=0)
        assert receiver.received[-1].headers["webhook-id"] == event_id


class TestReplies:
    def texts(self, database):
        with database.reading() as tx:
            rows = tx.execute(select(message.c.text, message.c.urn, message.c.channel_id)).all()
        return [tuple(row) for row in rows]

    def answer_with(self, receiver, body):
        receiver.respond = lambda request: Reply(200, body)

    def test_a_reply_becomes_a_message_through_the_events_channel(self, database, add, receiver, finish, channel_id):
        self.answer_with(receiver, b'{"urn": ["tel:+254722000111"], "text": "Yes, from 8 to 12."}')
        add()
        finish()

        assert self.texts(database) == [("Yes, from 8 to 12.", "tel:+254722000111", channel_id)]

    def test_without_recipients_it_goes_to_the_contact_of_the_event(self, database, workspace, add, receiver, finish):
        self.answer_with(receiver, b'{"text": "Thank you"}')
        add(contact_id=add_contact(database, workspace))
        finish()

        assert [text for text, _, _ in self.texts(database)] == ["Thank you"]

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            (b"OK", None),
            (b'{"status": "ok"}', None),
            (b"<html> a page </html>", None),
            (b'{"text": ""}', "its text is empty"),
            (b'{"text": "%s"}' % (b"x" * 481), "more than 480"),
            (b'{"text": "x", "urn": ["?"]}', "ignored: "),
            (b'{"text": "x", "contact": "0f6b9b1a-2f5d-4b0c-9f57-0c8a9b0ddf7e"}', "no such contact"),
            (b"Yes, we are open.", "not JSON"),
            (b"[" * 5000, "not JSON"),
        ],
    )
    def test_an_ignored_reply_leaves_its_reason_on_the_delivery(self, database, add, receiver, finish, body, reason):
        self.answer_with(receiver, body)
        add()

        assert finish().delivered == 1
        assert self.texts(database) == []
        with database.reading() as tx:
            told = tx.execute(select(delivery.c.last_error)).scalar_one()
            assert tx.execute(select(delivery_attempt.c.error)).scalar_one() == told
        assert told is None if reason is None else reason in told

    def test_a_reply_is_sent_once_though_its_call_is_recorded_twice(self, database, runtime, add, receiver):
        self.answer_with(receiver, b'{"urn": ["tel:+254722000111"], "text": "Yes"}')
        add()
        queue = DeliveryQueue(runtime)
        with database.writing() as tx:
            ((name, item),) = queue.lease(tx, dict.fromkeys(queue.list_due(tx), 1)).items
        finished = Finished(item, name, *runtime.http.wait_for(queue.call(item)))
        for _ in range(2):
            queue.record_alone(finished)

        assert [text for text, _, _ in self.texts(database)] == ["Yes"]

    @pytest.mark.parametrize("event", ["mt_sent", "mt_dlvd"])
    def test_what_became_of_a_message_is_not_answered(self, database, workspace, add, receiver, finish, event):
        self.answer_with(receiver, b'{"text": "again"}')
        add(event, contact_id=add_contact(database, workspace))

        assert finish().delivered == 1
        assert self.texts(database) == []

    @pytest.mark.parametrize("status", [300, 400])
    def test_a_refusal_is_not_read_as_a_message(self, database, workspace, add, receiver, finish, status):
        receiver.respond = lambda request: Reply(status, b'{"text": "x"}')
        add(contact_id=add_contact(database, workspace))

        assert finish().failed == 1
        assert self.texts(database) == []


class TestDamagedSecrets:
    def test_one_damaged_secret_stalls_only_its_own_receiver(self, database, workspace, runtime, add, receiver):
        damaged = add_channel(database, workspace, webhook_url=f"{receiver.url}/damaged")
        with database.writing() as tx:
            tx.execute(text("UPDATE channel SET webhook_secret = '1.damaged' WHERE id = :id"), {"id": damaged})
        add(to=damaged)
        fine = [add() for _ in range(3)]
        begin_webhooks(runtime)

        assert receiver.wait_for(3, PATIENCE_SECONDS)
        wait_until(lambda: len(attempts_of(database)) == 7, "four attempts of the damaged one")
        assert {request.headers["webhook-id"] for request in receiver.received} == set(fine)
        assert [row.error for row in attempts_of(database) if row.status is None] == [DAMAGED] * 4

    def test_a_new_secret_mends_it(self, database, workspace, channel_id):
        with database.writing() as tx:
            tx.execute(text("UPDATE channel SET webhook_secret = '1.damaged'"))
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
            secret = rotate_webhook_secret(tx, workspace.id, uuid)
        with database.reading() as tx:
            row = tx.execute(select(channel.c.webhook_secret, channel.c.webhook_previous_secret)).one()
            assert tuple(row) == (secret, None)


class TestManyReceivers:
    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_receiver_has_answered_whatever_it_said(self, runtime, add, receiver, is_there):
        receiver.respond = lambda _request: Reply(500)
        if not is_there:
            receiver.stop()
        add()
        queue = DeliveryQueue(runtime)
        with runtime.database.writing() as tx:
            leased = queue.lease(tx, dict.fromkeys(queue.list_due(tx), 1))

        assert [runtime.http.wait_for(queue.call(item))[1] for _, item in leased.items] == [is_there]

    def test_a_call_that_failed_inside_the_service_is_an_attempt_of_its_delivery(self, runtime, database, add):
        add()
        queue = DeliveryQueue(runtime)
        with database.writing() as tx:
            ((name, item),) = queue.lease(tx, dict.fromkeys(queue.list_due(tx), 1)).items
        with database.writing() as tx:
            queue.record(tx, [Finished(item, name, None, False)])

        (attempt,) = attempts_of(database)
        assert (attempt.delivery_id, attempt.error) == (item[0].id, "The delivery failed inside the service.")

    def test_a_lease_lasts_twice_as_long_as_a_call_may_take(self, runtime, add):
        add()
        queue = DeliveryQueue(runtime)
        with runtime.database.writing() as tx:
            ((_, (due, _)),) = queue.lease(tx, dict.fromkeys(queue.list_due(tx), 1)).items

        assert due.due_on == tx.now + timedelta(seconds=2 * runtime.http.total_timeout_seconds)

    def test_a_silent_receiver_does_not_delay_the_others(self, database, workspace, runtime, add):
        silence = threading.Event()
        with receiving(lambda _: Reply(200 if silence.wait(PATIENCE_SECONDS) else 500)) as slow, receiving() as quick:
            slow_id = add_channel(database, workspace, webhook_url=slow.url)
            quick_id = add_channel(database, workspace, webhook_url=quick.url)
            for _ in range(40):
                add(to=slow_id)
            for _ in range(40):
                add(to=quick_id)
            begin_webhooks(runtime)

            assert quick.wait_for(40)
            assert len(slow.received) == SLOTS_PER_RECEIVER
            silence.set()

    def test_each_event_arrives_once_when_two_processes_work(self, runtime, database, settings, add, receiver, ledger):
        other = type(runtime)(runtime.settings, database, runtime.http)
        events = [add() for _ in range(200)]
        with other.closing:
            steps = begin_webhooks(runtime), begin_webhooks(other)
            assert receiver.wait_for(200, PATIENCE_SECONDS)
            for step in steps:
                step()

        runtime.closing.close()
        assert Counter(request.headers["webhook-id"] for request in receiver.received) == Counter(events)
        assert ledger() == Ledger(pending=0, delivered=200, failed=0)


class TestStopping:
    def test_calls_under_way_are_finished_and_recorded(self, runtime, add, receiver, ledger):
        begun, go_on = threading.Event(), threading.Event()

        def respond(request):
            begun.set()
            return Reply(200 if go_on.wait(PATIENCE_SECONDS) else 500)

        receiver.respond = respond
        add()
        begin_webhooks(runtime)
        assert begun.wait(PATIENCE_SECONDS)
        threading.Timer(0.1, go_on.set).start()
        runtime.closing.close()

        assert ledger() == Ledger(pending=0, delivered=1, failed=0)

    def test_nothing_new_is_begun(self, runtime, add, receiver, ledger):
        runtime.stopping.set()
        add()
        begin_webhooks(runtime)
        runtime.closing.close()

        assert receiver.received == [] and ledger().pending == 1


def test_a_database_that_fails_for_a_while_loses_nothing(runtime, database, add, receiver, ledger, monkeypatch):
    failures = ["once"]
    writing = database.writing

    def failing(**given):
        if failures and receiver.received:
            raise ConnectionError(failures.pop())
        return writing(**given)

    add()
    monkeypatch.setattr(database, "writing", failing)
    begin_webhooks(runtime)
    assert receiver.wait_for(1)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while ledger().pending and time.monotonic() < deadline:
        threading.Event().wait(0.01)

    assert failures == []
    assert ledger() == Ledger(pending=0, delivered=1, failed=0)
    assert len(receiver.received) == 1


def test_bodies_keep_their_parameters(add, receiver, finish):
    add(fields={"text": "a&b=c", "attachments": ["x", "y"]})
    finish()

    assert parse_qs(receiver.received[0].body.decode()) == {"text": ["a&b=c"], "attachments": ["x", "y"]}


def test_an_attempt_that_cannot_be_recorded_does_not_hold_up_the_others(runtime, database, add, receiver, ledger):
    for _ in range(5):
        add()
    with database.writing() as tx:
        row = tx.execute(select(delivery).order_by(delivery.c.id).limit(1)).one()
        known = {"uuid": new_uuid(), "workspace_id": row.workspace_id, "delivery_id": row.id, "number": 9}
        moments = {"scheduled_on": tx.now, "finished_on": tx.now, "duration_ms": 1}
        tx.execute(insert(delivery_attempt).values(**known, **moments))
        tx.execute(text("CREATE UNIQUE INDEX no_second_attempt ON delivery_attempt (workspace_id, delivery_id)"))

    begin_webhooks(runtime)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while ledger().delivered < 4 and time.monotonic() < deadline:
        threading.Event().wait(0.01)

    assert ledger() == Ledger(pending=1, delivered=4, failed=0)
