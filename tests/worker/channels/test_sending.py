"""Sending messages to HTTP gateways: outcomes and retries, parts that are sent once, gateways that do not wait for each
other.

What is kept of calls to gateways: no secrets, and not too much.
"""

import asyncio
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_network
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from channels.calls import Request
from channels.types import DEFAULT_GATEWAY, TYPES
from persistence.channels.gateway_leases import GatewaySend, SendOutcome, begin_sends, lease_sends, record_sends
from persistence.channels.health import GatewayCall
from persistence.channels.traces import BURST, PER_SECOND, CallSampler
from persistence.database import Database, utc_now
from persistence.leases import MUCH, Share
from persistence.stamps import ERRORS
from persistence.tables.changes import day_count
from persistence.tables.channels import channel, gateway_call
from persistence.tables.messages import gateway_send, message
from persistence.workspaces.records import Workspace
from testbed.gateways import THREE_PARTS, add_gateway, queue_messages, states_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.conftest import Clock
from tests.gateways import Parts, holding
from tests.worker.receivers import Received, Receiver, Reply, receiving
from worker.channels.sending import (
    begin_sending,
    describe_call,
    hand_over,
    message_of,
    outcome_of,
)
from worker.http.safe_http import HttpResponse, SafeHttp
from worker.runtime import Runtime

WIRED = ("wired", None)
UNCERTAIN = ("wired", "uncertain")
LEASE = timedelta(seconds=30)
ERRORED = ("errored", None)
GIVEN_UP = ("failed", "gateway_failed")


@pytest.fixture
def another_worker(runtime: Runtime) -> Iterator[Runtime]:
    """The runtime of a second worker on the same database."""
    made = replace(runtime, closing=type(runtime.closing)(), stopping=type(runtime.stopping)())
    with made.closing:
        yield made


def wait_for(database: Database, message_ids: list[int], *states: tuple[str, str | None]) -> None:
    wait_until(lambda: set(states_of(database, message_ids)) <= set(states), f"messages to be {states}")


class TestOutcomes:
    def test_an_accepted_message_is_wired(self, runtime: Runtime, workspace: Workspace, receiver: Receiver) -> None:
        ids = queue_messages(runtime.database, workspace, add_gateway(runtime.database, workspace, receiver.url))

        begin_sending(runtime)

        wait_for(runtime.database, ids, WIRED)
        assert len(receiver.received) == 1

    def test_the_third_error_fails_it_with_a_reason(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.respond = lambda _request: Reply(500)
        ids = queue_messages(runtime.database, workspace, add_gateway(runtime.database, workspace, receiver.url))
        step = begin_sending(runtime)
        for errors, minutes in ((1, 5), (2, 10)):
            wait_until(partial(lambda count: _errors(runtime.database) == count, errors), f"error {errors}")
            assert states_of(runtime.database, ids) == [ERRORED]
            clock.advance(minutes=minutes - 0.5)
            step()
            assert not receiver.wait_for(errors + 1, 0.2)
            clock.advance(minutes=1)
            step()

        wait_for(runtime.database, ids, GIVEN_UP)
        assert len(receiver.received) == 3
        with runtime.database.reading() as tx:
            rows, days = gateway_call.c, day_count.c
            found = select(rows.message_id, rows.outcome, rows.status).where(rows.workspace_id == workspace.id)
            assert [tuple(call) for call in tx.execute(found)] == [(ids[0], "refused", 500)] * 3
            assert tx.execute(select(func.sum(days.number)).where(days.kind == ERRORS)).scalar_one() == 3

    def test_an_answer_without_the_check_text_is_an_error(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver
    ) -> None:
        gateway = add_gateway(runtime.database, workspace, receiver.url, mt_response_check="ACCEPTED")
        ids = queue_messages(runtime.database, workspace, gateway)

        begin_sending(runtime)

        wait_for(runtime.database, ids, ERRORED)

    @pytest.mark.parametrize("sealed", [None, "1.damaged"])
    def test_a_gateway_whose_settings_are_lost_or_damaged_keeps_nobody_else_from_sending(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver, sealed: str | None
    ) -> None:
        database = runtime.database
        broken = add_gateway(database, workspace, receiver.url)
        lost = queue_messages(database, workspace, broken)
        with database.writing() as tx:
            tx.execute(text("UPDATE channel SET config = :sealed WHERE id = :id"), {"sealed": sealed, "id": broken})
        sent = queue_messages(database, workspace, add_gateway(database, workspace, receiver.url))

        begin_sending(runtime)

        wait_for(database, sent, WIRED)
        wait_for(database, lost, ERRORED)

    def test_a_sender_leaves_the_rest_of_a_flood_to_the_process_of_jobs_at_once(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver, woken: list[str]
    ) -> None:
        ids = queue_messages(runtime.database, workspace, add_gateway(runtime.database, workspace, receiver.url), MUCH)
        woken.clear()

        begin_sending(replace(runtime, share=Share.MUCH))
        wait_until(lambda: "sending" in woken, "the sender to leave the rest")
        assert ("queued", None) in states_of(runtime.database, ids)
        begin_sending(replace(runtime, share=Share.LITTLE))

        wait_for(runtime.database, ids, WIRED)

    def test_messages_of_a_released_gateway_are_not_sent(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver
    ) -> None:
        database = runtime.database
        gateway = add_gateway(database, workspace, receiver.url)
        queue_messages(database, workspace, gateway)
        with database.writing() as tx:
            tx.execute(update(channel).values(is_active=False))
        other = queue_messages(database, workspace, add_gateway(database, workspace, receiver.url))

        begin_sending(runtime)

        wait_for(database, other, WIRED)
        assert len(receiver.received) == 1


def _errors(database: Database) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(func.max(message.c.error_count))).scalar_one())


def answer_slowly(_request: Received) -> Reply:
    threading.Event().wait(0.2)
    return Reply(200)


class TestOnce:
    def test_a_failed_second_part_does_not_send_the_first_again(
        self, runtime: Runtime, workspace: Workspace, clock: Clock
    ) -> None:
        answers = [Reply(200), Reply(500), Reply(200), Reply(200)]
        parts = Parts(lambda _request: answers.pop(0))
        with receiving(parts) as receiver:
            gateway = add_gateway(runtime.database, workspace, receiver.url)
            ids = queue_messages(runtime.database, workspace, gateway, text=THREE_PARTS)
            step = begin_sending(runtime)
            wait_for(runtime.database, ids, ERRORED)
            clock.advance(minutes=6)
            step()
            wait_for(runtime.database, ids, WIRED)

        assert [text[:3] for text in parts.texts] == ["one", "two", "two", "end"]
        assert sorted(parts.counts.values()) == [1, 1, 2]

    def test_two_workers_and_a_slow_gateway_send_every_part_once(
        self, runtime: Runtime, another_worker: Runtime, workspace: Workspace
    ) -> None:
        parts = Parts(answer_slowly)
        with receiving(parts) as receiver:
            gateway = add_gateway(runtime.database, workspace, receiver.url)
            ids = queue_messages(runtime.database, workspace, gateway, 12, THREE_PARTS)
            begin_sending(runtime)
            begin_sending(another_worker)
            wait_for(runtime.database, ids, WIRED)

        assert (len(parts.counts), parts.doubled) == (36, [])

    def test_a_lease_that_runs_out_during_a_call_sends_nothing_twice(
        self, runtime: Runtime, another_worker: Runtime, workspace: Workspace, clock: Clock
    ) -> None:
        with holding() as (receiver, released):
            parts = Parts(receiver.respond)
            receiver.respond = parts
            gateway = add_gateway(runtime.database, workspace, receiver.url)
            ids = queue_messages(runtime.database, workspace, gateway, 2, THREE_PARTS)
            begin_sending(runtime)
            assert receiver.wait_for(2)
            clock.advance(minutes=10)
            step = begin_sending(another_worker)
            assert receiver.wait_for(4)
            released.set()

            def are_uncertain() -> bool:
                step()  # as the worker does every second: a database that was busy is asked again
                return set(states_of(runtime.database, ids)) == {UNCERTAIN}

            wait_until(are_uncertain, "the messages to be uncertain")

        assert (len(parts.counts), parts.doubled) == (6, [])

    def test_a_part_begun_by_a_worker_that_died_is_not_sent_again(
        self, runtime: Runtime, workspace: Workspace, clock: Clock
    ) -> None:
        parts = Parts()
        with receiving(parts) as receiver:
            gateway = add_gateway(runtime.database, workspace, receiver.url)
            (short,) = queue_messages(runtime.database, workspace, gateway)
            (long,) = queue_messages(runtime.database, workspace, gateway, text=THREE_PARTS)
            with runtime.database.writing() as tx:
                leased = lease_sends(tx, {gateway: 2}, LEASE).sends
                begin_sends(tx, leased, LEASE)
            clock.advance(minutes=1)
            begin_sending(runtime)
            wait_for(runtime.database, [short, long], UNCERTAIN)

        assert [text[:3] for text in parts.texts] == ["two", "end"]

    def test_a_gateway_that_recognizes_repeats_gets_such_a_part_again_under_its_name(
        self, runtime: Runtime, workspace: Workspace, clock: Clock
    ) -> None:
        parts = Parts()
        with receiving(parts) as receiver:
            gateway = add_gateway(runtime.database, workspace, receiver.url, recognizes_repeats=True)
            ids = queue_messages(runtime.database, workspace, gateway, text=THREE_PARTS)
            with runtime.database.writing() as tx:
                (leased,) = lease_sends(tx, {gateway: 1}, LEASE).sends
                begin_sends(tx, [leased], LEASE)
            clock.advance(minutes=1)
            begin_sending(runtime)
            wait_for(runtime.database, ids, WIRED)

        assert f"{leased.message_uuid}-1" in parts.counts
        assert [text[:3] for text in parts.texts] == ["one", "two", "end"]

    def test_a_message_reported_as_sent_after_its_first_part_goes_out_whole(
        self, runtime: Runtime, workspace: Workspace
    ) -> None:
        def report(_request: object) -> Reply:
            with runtime.database.writing() as tx:
                tx.execute(update(message).values(status="sent"))
            return Reply(200)

        parts = Parts(report)
        with receiving(parts) as receiver:
            gateway = add_gateway(runtime.database, workspace, receiver.url)
            ids = queue_messages(runtime.database, workspace, gateway, text=THREE_PARTS)
            begin_sending(runtime)
            wait_until(lambda: not _queued(runtime.database), "the queue to be empty")

        assert (len(parts.counts), states_of(runtime.database, ids)) == (3, [("sent", None)])


def _queued(database: Database) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(gateway_send)).scalar_one())


class TestIsolation:
    def test_a_gateway_does_not_wait_for_one_that_never_answers(
        self, runtime: Runtime, workspace: Workspace, receiver: Receiver
    ) -> None:
        database = runtime.database
        with holding() as (silent, _):
            waiting = queue_messages(database, workspace, add_gateway(database, workspace, silent.url), 60)
            begin_sending(runtime)
            assert silent.wait_for(8)
            sent = queue_messages(database, workspace, add_gateway(database, workspace, receiver.url), 60)
            begin_sending(runtime)
            wait_for(database, sent, WIRED)

            assert not any(state == WIRED for state in states_of(database, waiting))


async def may_begin(send: GatewaySend) -> GatewaySend:
    return replace(send, due_on=utc_now() + LEASE)


class TestFrozenWorkers:
    """A worker stands still at one moment of a call; the clock goes on."""

    def take(self, runtime: Runtime, gateway: int) -> GatewaySend:
        with runtime.database.writing() as tx:
            (leased,) = lease_sends(tx, {gateway: 1}, LEASE).sends
        return leased

    def begin(self, runtime: Runtime, send: GatewaySend) -> GatewaySend | None:
        with runtime.database.writing() as tx:
            begun = begin_sends(tx, [send], LEASE)
        return replace(send, due_on=begun[send.id]) if begun else None

    def record(self, runtime: Runtime, outcome: SendOutcome) -> None:
        with runtime.database.writing() as tx:
            record_sends(tx, [outcome])

    @pytest.mark.parametrize("is_taken_over", [True, False])
    @pytest.mark.parametrize("is_begun", [True, False])
    def test_who_wakes_after_the_lease_writes_nothing_whether_it_had_begun_or_not(
        self,
        runtime: Runtime,
        another_worker: Runtime,
        workspace: Workspace,
        receiver: Receiver,
        clock: Clock,
        is_begun: bool,
        is_taken_over: bool,
    ) -> None:
        gateway = add_gateway(runtime.database, workspace, receiver.url)
        ids = queue_messages(runtime.database, workspace, gateway)

        def stand_still() -> None:
            clock.advance(seconds=LEASE.total_seconds() + 1)
            if is_taken_over:
                begin_sending(another_worker)
                wait_for(runtime.database, ids, WIRED, UNCERTAIN)

        async def ask(send: GatewaySend) -> GatewaySend | None:
            if not is_begun:
                await asyncio.to_thread(stand_still)
            begun = self.begin(runtime, send)
            if is_begun:
                await asyncio.to_thread(stand_still)
            return begun

        outcome, _ = hand_over(runtime.http, self.take(runtime, gateway), CallSampler(), ask, clock)
        assert not outcome.is_begun
        assert len(receiver.received) == (1 if is_taken_over and not is_begun else 0)
        self.record(runtime, outcome)

        # Who had begun it and died would leave the same state, so that nobody may send it by himself.
        assert states_of(runtime.database, ids) == [
            (UNCERTAIN if is_begun else WIRED) if is_taken_over else ("queued", None)
        ]
        if not is_taken_over:
            begin_sending(another_worker)
            wait_for(runtime.database, ids, WIRED)
            assert len(receiver.received) == 1

    def test_who_wakes_after_the_lease_with_an_answer_says_that_the_gateway_has_it(
        self, runtime: Runtime, another_worker: Runtime, workspace: Workspace, receiver: Receiver, clock: Clock
    ) -> None:
        gateway = add_gateway(runtime.database, workspace, receiver.url)
        ids = queue_messages(runtime.database, workspace, gateway)

        async def ask(send: GatewaySend) -> GatewaySend | None:
            return self.begin(runtime, send)

        outcome, _ = hand_over(runtime.http, self.take(runtime, gateway), CallSampler(), ask, clock)
        clock.advance(minutes=1)
        begin_sending(another_worker)
        wait_for(runtime.database, ids, UNCERTAIN)
        self.record(runtime, outcome)

        assert states_of(runtime.database, ids) == [WIRED]
        assert len(receiver.received) == 1


def test_what_may_not_begin_is_not_written_and_stays_as_it_was(receiver: Receiver) -> None:
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)

    async def may_not(_send: GatewaySend) -> None:
        return None

    outcome, _ = hand_over(http, send_with(send_url=receiver.url), CallSampler(), may_not, utc_now)

    assert (outcome.is_begun, outcome.is_accepted, outcome.call, receiver.received) == (False, False, None, [])


def test_a_part_for_a_gateway_that_is_away_is_neither_accepted_nor_answered(receiver: Receiver) -> None:
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    receiver.stop()

    outcome, is_answered = hand_over(http, send_with(send_url=receiver.url), CallSampler(), may_begin, utc_now)

    assert (outcome.is_accepted, outcome.has_more, is_answered) == (False, False, False)
    assert outcome.call is not None and outcome.call.outcome == "unanswered"


@pytest.mark.parametrize(("status", "told"), [(200, []), (500, ["message 7 was refused with status 500"])])
def test_a_refused_message_is_logged(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, status: int, told: list[str]
) -> None:
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    receiver.respond = lambda _request: Reply(status)

    with caplog.at_level(logging.WARNING, "relayboard.sending"):
        outcome, is_answered = hand_over(http, send_with(send_url=receiver.url), CallSampler(), may_begin, utc_now)

    assert (outcome.is_accepted, outcome.has_more, is_answered) == (not told, False, True)
    assert outcome.call is not None and 0 <= outcome.call.duration_ms < PATIENCE_SECONDS * 1000
    assert [record.getMessage() for record in caplog.records] == told


@pytest.mark.parametrize(
    ("changed", "accepted", "answered", "told"),
    [
        ({"config": None}, False, False, "message 7 cannot be sent: the settings of its gateway cannot be read"),
        ({"part": 2, "is_uncertain": True}, True, True, "the worker that sent part 1 of message 7 died"),
    ],
)
def test_a_part_that_needs_no_call_is_decided_without_one(
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
    changed: dict[str, Any],
    accepted: bool,
    answered: bool,
    told: str,
) -> None:
    http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
    send = replace(send_with(send_url=receiver.url), **changed)

    with caplog.at_level(logging.WARNING, "relayboard.sending"):
        outcome, is_answered = hand_over(http, send, CallSampler(), may_begin, utc_now)

    assert (outcome.is_accepted, outcome.has_more, outcome.call, is_answered) == (accepted, False, None, answered)
    assert receiver.received == []
    assert [record.getMessage() for record in caplog.records] == [told]


SECRET = "s3cr3t/+word"
TOKEN = "AC0123456789abcdef0123"


def send_with(**config: Any) -> GatewaySend:
    return GatewaySend(
        id=1, workspace_id=1, channel_id=3, channel_type=DEFAULT_GATEWAY, message_id=7, contact_id=5,
        message_uuid="6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21", urn="tel:+250788000111", text="hello", attachments=(),
        quick_replies=(), address="+250788000000", config=config, part=1, error_count=0,
        due_on=datetime(2026, 3, 2, tzinfo=UTC),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("urn", "is_transliterated", "text"),
    [
        ("tel:+250788000111", True, '"c"'),
        ("tel:+250788000111", False, "“ç”"),
        ("telegram:1234", True, "“ç”"),
    ],
)
def test_only_sms_of_a_channel_that_wants_it_are_transliterated(urn: str, is_transliterated: bool, text: str) -> None:
    send = replace(send_with(), urn=urn, text="“ç”", is_transliterated=is_transliterated)

    assert message_of(send).text == text


def kept(answer: bytes = b"", **config: Any) -> GatewayCall:
    """The log of a call to a gateway with these settings."""
    send = send_with(**config)
    (request,) = TYPES[DEFAULT_GATEWAY].requests(message_of(send), config)
    response = HttpResponse(500, {}, answer, True, 0.25)
    return describe_call(send, request, outcome="refused", response=response, seconds=0.25)


@pytest.mark.parametrize(
    "config",
    [
        {"send_url": "https://sms.example.org/", "send_authorization": f"Bearer {SECRET}"},
        {"send_url": "https://sms.example.org/?to={{to}}&api=s3cr3t%2F%2Bword"},
        {"send_url": f"https://sms.example.org/?password={SECRET}", "method": "GET"},
        {"send_url": f"https://sms.example.org/{TOKEN}/send?to={{{{to}}}}", "method": "GET"},
        {"send_url": "https://sms.example.org/", "headers": {"X-Api-Key": SECRET}},
        {"send_url": "https://sms.example.org/", "body": f"to={{{{to}}}}&password={SECRET}"},
        {
            "send_url": "https://sms.example.org/",
            "content_type": "json",
            "body": f'{{"to": {{{{to}}}}, "api_key": "{SECRET}"}}',
        },
    ],
)
def test_no_secret_of_the_settings_is_kept(config: dict[str, Any]) -> None:
    is_echoed = "send_authorization" in config or "headers" in config
    echoed = f'{{"hint": "use {SECRET}"}}'.encode() if is_echoed else b""
    call = kept(echoed, **config)

    told = f"{call.url} {call.headers} {call.body} {call.answer}"
    assert "***" in told
    assert [each for each in (SECRET, "s3cr3t", TOKEN) if each in told] == []


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("json", '{"to": {{to}}, "key": {{password}}}'),
        ("xml", "<sms key='{{password}}'><to>{{to}}</to></sms>"),
        ("urlencoded", "to={{to}}&key={{password}}"),
    ],
)
@pytest.mark.parametrize(
    "echo", ['{"key": "q\\"&<\'\\/\u00e9s3cr3t"}', '{"key": "q\\"&<\'/\\u00e9s3cr3t"}', "q\"&<'/\u00e9s3cr3t"]
)
def test_a_secret_is_hidden_however_it_is_written(content_type: str, body: str, echo: str) -> None:
    url, password = "https://sms.example.org/", "q\"&<'/\u00e9s3cr3t"
    call = kept(echo.encode(), send_url=url, content_type=content_type, body=body, password=password)

    assert "***" in (call.body or "")
    assert [each for each in (call.body, call.answer) if "s3cr3t" in (each or "")] == []


def test_a_secret_of_a_template_is_hidden_in_xml_too() -> None:
    body = "<sms><Password type='plain'>s3cr3t</Password><to>{{to}}</to></sms>"
    call = kept(send_url="https://sms.example.org/", content_type="xml", body=body)

    assert call.body == "<sms><Password type='plain'>***</Password><to>+250788000111</to></sms>"


def test_a_secret_at_the_end_of_what_is_kept_is_hidden_as_a_whole() -> None:
    call = kept(b"x" * 995 + b"s3cr3t-word", send_url="https://sms.example.org/", send_authorization="s3cr3t-word")

    assert call.answer == "x" * 995 + "***"


def test_words_of_four_characters_are_secrets_and_shorter_ones_are_told() -> None:
    call = kept(b"Key wxyz abc", send_url="https://sms.example.org/", send_authorization="Key wxyz abc")

    assert call.answer == "***"
    call = kept(b"it is wxyz, not abc", send_url="https://sms.example.org/", send_authorization="Key wxyz abc")
    assert call.answer == "it is ***, not abc"


def test_headers_and_parameters_are_secrets_from_four_characters_on_too() -> None:
    headers = {"X-Api-Key": "abcd", "X-Token": "xyz", "X-Account": "mine"}
    call = kept(b"abcd xyz mine pqrs uvw", send_url="https://sms.example.org/?a=pqrs&b=uvw", headers=headers)

    assert call.answer == "*** xyz *** *** uvw"
    assert call.url == "https://sms.example.org/?a=***&b=uvw"
    assert {name: call.headers[name] for name in headers} == dict.fromkeys(headers, "***")


def test_of_two_secrets_the_longer_one_is_hidden_as_a_whole() -> None:
    call = kept(b"abcd-efgh abcd", send_url="https://sms.example.org/?a=abcd&b=abcd-efgh")

    assert call.answer == "*** ***"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", ""),
        ("?", "?"),
        ("?token&to=1", "?token&to=1"),
        ("?token=a=b&to=1=2", "?token=***&to=1=2"),
        ("?token=&to=", "?token=***&to="),
        ("?a=1?b", "?a=1?b"),
    ],
)
def test_parameters_that_are_named_like_secrets_keep_their_names(query: str, shown: str) -> None:
    request = Request("GET", f"https://sms.example.org/{query}", {}, None)
    call = describe_call(send_with(), request, outcome="accepted", error=None, seconds=1)

    assert (call.url, call.error) == (f"https://sms.example.org/{shown}", None)


def test_errors_are_told_without_secrets() -> None:
    send = send_with(send_url="https://sms.example.org/?key=abcd")
    request = Request("GET", "https://sms.example.org/?key=abcd", {}, None)

    assert describe_call(send, request, outcome="unanswered", error="abcd is away.", seconds=1).error == "*** is away."


def test_what_is_no_secret_is_told() -> None:
    config = {"send_url": "https://sms.example.org/v1/send?to={{to}}", "body": "text={{text}}"}
    call = kept(b'{"error": "no credit"}\x00\xff', **config)

    url = "https://sms.example.org/v1/send?to=%2B250788000111"
    assert (call.method, call.url, call.body) == ("POST", url, "text=hello")
    assert call.answer == '{"error": "no credit"}��'
    assert (call.status, call.duration_ms, call.message_id, call.contact_id) == (500, 250, 7, 5)


def test_long_bodies_are_cut() -> None:
    send = replace(send_with(send_url="https://sms.example.org/"), part=2)
    request = Request("POST", "https://sms.example.org/", {}, b"x" * 5000)
    call = describe_call(send, request, outcome="unanswered", error="It did not respond.", seconds=15)

    assert (len(call.body or ""), call.part, call.status, call.error) == (2000, 2, None, "It did not respond.")


def test_long_answers_and_urls_are_cut() -> None:
    send = send_with(send_url="https://sms.example.org/")
    request = Request("GET", f"https://sms.example.org/?{'x=y&' * 1000}", {}, None)
    response = HttpResponse(200, {}, b"x" * 5000, True, 0.25)
    call = describe_call(send, request, outcome="accepted", response=response, seconds=1)

    assert (len(call.answer or ""), len(call.url), call.body) == (1000, 2048, None)


def test_a_busy_gateway_gets_a_sample_and_its_errors_one_of_their_own() -> None:
    now = [0.0]
    sampler = CallSampler(lambda: now[0])

    assert sum(sampler.takes(1, "accepted") for _ in range(1000)) == BURST
    assert sampler.takes(1, "refused") and sampler.takes(2, "accepted")
    now[0] += 2
    assert sum(sampler.takes(1, "accepted") for _ in range(1000)) == 2 * PER_SECOND


@pytest.mark.parametrize(
    ("is_accepted", "is_answered", "outcome"),
    [(True, True, "accepted"), (False, True, "refused"), (False, False, "unanswered")],
)
def test_an_outcome_says_who_did_what(is_accepted: bool, is_answered: bool, outcome: str) -> None:
    assert outcome_of(is_accepted=is_accepted, is_answered=is_answered) == outcome
