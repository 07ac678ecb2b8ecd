"""The answer to a sync that brought messages or calls waits for what flows reply, and nobody else does."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy import func, select, update

from persistence.database import Database
from persistence.relayers import sync as module
from persistence.relayers.relayers import claim_phone, release_channels
from persistence.relayers.sync import Arrivals, leave_unhandled
from persistence.tables.channels import channel, sync_record
from persistence.tables.contacts import contact
from persistence.tables.flows import flow
from persistence.tables.messages import HANDLED, INCOMING, OUTGOING, QUEUED, message
from persistence.triggers.records import KEYWORD, MISSED_CALL, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport, NoReply, WireReply
from testbed.flow_rows import definition, node, say, store_flow, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.factories import make_contact, make_messages

AMINA, BOSCO = "+250788000111", "+250788000222"
WELCOME, CALL_BACK = "Welcome!", "We call you back."
FOR_LONG = "50"
"""Seconds of a hold that no test waits for: what ends sooner was not held, or let go."""
Run = Callable[..., AbstractContextManager[RunningService]]


class Line(HttpTransport):
    """The connection of a phone, which keeps its last request and the commands that it got."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.patience = PATIENCE_SECONDS
        self.commands: list[dict[str, Any]] = []
        self.last: tuple[str, Mapping[str, str], bytes] = ("", {}, b"")

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        self.last = (path, dict(query), body)
        try:
            response = requests.post(self.server_url + path, params=dict(query), data=body, timeout=self.patience)
        except requests.RequestException as error:
            raise NoReply(str(error)) from error
        reply = WireReply(response.status_code, response.json())
        self.commands = reply.document["cmds"]
        return reply

    @property
    def texts(self) -> list[str]:
        return [each["msg"] for each in self.commands if each["cmd"] == "mt_bcast"]

    @property
    def acks(self) -> list[int]:
        return [each["p_id"] for each in self.commands if each["cmd"] == "ack"]


def line_of(phone: Phone) -> Line:
    assert isinstance(phone.transport, Line)
    return phone.transport


def connect(service: RunningService, number: str, workspace: Workspace | None = None) -> Phone:
    """A phone that is claimed and knows it."""
    phone = Phone(Line(service.url))
    phone.register()
    with service.database.writing() as tx:
        claim_phone(tx, workspace or service.workspace, phone.state.claim_code or "", number, None)
    phone.sync()
    return phone


def answer_people(service: RunningService) -> None:
    """Flows that answer the word `hello` and missed calls."""
    start_flow(service, KEYWORD, [say(WELCOME)], "hello")
    start_flow(service, MISSED_CALL, [say(CALL_BACK)])


def start_flow(service: RunningService, kind: str, actions: Sequence[Mapping[str, Any]], *words: str) -> None:
    """A flow that does this when somebody calls or writes one of these words."""
    uuid = store_flow(service.database, service.workspace, definition(kind, [node(kind, actions)]))
    with service.database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
        create_trigger(tx, service.workspace.id, NewTrigger(kind, flow_id, keywords=words))


def count(service: RunningService, direction: str) -> int:
    mine = select(func.count()).select_from(message).where(message.c.direction == direction)
    with service.database.reading() as tx:
        return int(tx.execute(mine).scalar_one())


class Held:
    """A sync that is under way in a thread."""

    def __init__(self, service: RunningService, phone: Phone, *, from_number: str = AMINA) -> None:
        self.phone = phone
        before = count(service, INCOMING)
        phone.receive_sms(from_number, "hello")
        self._thread = threading.Thread(target=phone.sync)
        self._thread.start()
        wait_until(lambda: count(service, INCOMING) > before, "the message to be stored")

    @property
    def is_held(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self.is_held


def seconds_of(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


@pytest.fixture
def run(database_url: str, tmp_path: Path) -> Run:
    def begin(*processes: str, **settings: str) -> AbstractContextManager[RunningService]:
        return forked_service(database_url, tmp_path, processes, **settings)

    return begin


@pytest.fixture
def alone(run: Run) -> Iterator[RunningService]:
    """An API process without a worker, which holds syncs for long."""
    with run("api", SYNC_HOLD_SECONDS=FOR_LONG) as service:
        answer_people(service)
        yield service


def test_the_reply_to_an_sms_and_to_a_call_comes_in_the_same_sync(run: Run) -> None:
    with run("api", "worker", SYNC_HOLD_SECONDS=FOR_LONG) as service:
        answer_people(service)
        phone = connect(service, "+250788123001")

        phone.receive_sms(AMINA, "hello")
        phone.sync()
        assert (line_of(phone).texts, len(line_of(phone).acks)) == ([WELCOME], 1)

        phone.send_waiting()
        phone.log_call("mo_miss", BOSCO)
        phone.sync()
        assert line_of(phone).texts == [CALL_BACK]

        phone.send_waiting()
        phone.receive_sms(BOSCO, "nobody answers this")
        phone.sync()
        assert (line_of(phone).texts, phone.state.queue) == ([], [])

        with service.database.reading() as tx:
            counts = tx.execute(select(sync_record.c.outgoing_count).order_by(sync_record.c.id)).scalars().all()
        assert counts[-3:] == [1, 1, 0]


def test_without_a_worker_the_answer_comes_after_the_limit(run: Run) -> None:
    with run("api", SYNC_HOLD_SECONDS="0.7") as service:
        phone = connect(service, "+250788123001")
        phone.receive_sms(AMINA, "hello")

        assert seconds_of(phone.sync) >= 0.7
        assert (len(line_of(phone).acks), phone.state.queue) == (1, [])


def test_a_held_sync_delays_nobody_and_its_repeat_is_answered_at_once(alone: RunningService) -> None:
    first, second = connect(alone, "+250788123001"), connect(alone, "+250788123002")
    held = Held(alone, first)

    repeat = Line(alone.url)
    assert seconds_of(lambda: repeat.post(*line_of(first).last)) < 5
    assert repeat.acks
    assert seconds_of(second.sync) < 5
    second.log_call("mt_call", BOSCO, 20)
    assert seconds_of(second.sync) < 5
    for number in range(20):
        alone.post("/api/v2/labels.json", {"name": f"label {number}"})
        alone.get("/api/v2/labels.json")

    assert held.is_held
    assert count(alone, INCOMING) == 1
    alone.start("worker")
    held.end()
    assert line_of(first).texts == [WELCOME]


def test_places_are_bounded(run: Run) -> None:
    with run("api", SYNC_HOLD_SECONDS=FOR_LONG, MAX_CONNECTIONS="8") as service:
        with service.database.writing() as tx:
            other, third = create_workspace(tx, "Other"), create_workspace(tx, "Third")
        phones = [connect(service, f"+25078812300{number}") for number in range(2)]
        of_other, of_third = connect(service, "+250788123007", other), connect(service, "+250788123008", third)
        first = Held(service, phones[0])

        phones[1].receive_sms(BOSCO, "hello")
        assert seconds_of(phones[1].sync) < 5, "half of the places are for one workspace"
        beside = Held(service, of_other)
        of_third.receive_sms(BOSCO, "hello")
        assert seconds_of(of_third.sync) < 5, "all places are taken"
        assert (first.is_held, beside.is_held) == (True, True)

        assert service.stop("api") == 0
        first.end()
        beside.end()
        assert [len(line_of(phone).acks) for phone in (phones[0], of_other)] == [1, 1], "a stop lets them go on"


def test_a_phone_that_breaks_off_leaves_its_place_and_its_outbox(run: Run) -> None:
    with run("api", SYNC_HOLD_SECONDS=FOR_LONG, MAX_CONNECTIONS="4") as service:
        answer_people(service)
        phone, other = connect(service, "+250788123001"), connect(service, "+250788123002")
        phone.receive_sms(AMINA, "hello")
        line_of(phone).patience = 1.0
        phone.sync()  # its first request breaks off, and the app sends it once more
        assert (line_of(phone).texts, phone.state.queue) == ([], [])
        wait_until(lambda: " 499" in (service.folder / "api.log").read_text(), "the service to notice it")
        held = Held(service, other, from_number=BOSCO)
        service.start("worker")
        held.end()
        assert line_of(other).texts == [WELCOME], "the place was free again"
        wait_until(lambda: count(service, OUTGOING) == 2, "the reply")
        with service.database.reading() as tx:
            offered = tx.execute(select(message.c.offered_on).where(message.c.urn == f"tel:{AMINA}")).scalars().all()
        assert offered == [None, None]

        phone.sync()
        assert line_of(phone).texts == [WELCOME]
        assert (count(service, INCOMING), count(service, OUTGOING)) == (2, 2)


def test_a_killed_process_loses_and_doubles_nothing(alone: RunningService) -> None:
    phone = connect(alone, "+250788123001")
    held = Held(alone, phone)
    alone.kill("api")
    alone.start("api")
    held.end()  # the app has sent the broken request once more
    assert (line_of(phone).texts, phone.state.queue) == ([], [])
    alone.start("worker")
    wait_until(lambda: count(alone, OUTGOING) == 1, "the reply")

    phone.sync()

    assert line_of(phone).texts == [WELCOME]
    assert (count(alone, INCOMING), count(alone, OUTGOING)) == (1, 1)


def test_a_worker_that_is_killed_neither_loses_nor_doubles_the_reply(run: Run) -> None:
    with run("api", "worker", SYNC_HOLD_SECONDS=FOR_LONG) as service:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(PATIENCE_SECONDS)
            url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
            call = {"type": "call_webhook", "uuid": uuid_of("call"), "method": "GET", "url": url}
            start_flow(service, KEYWORD, [call, say(WELCOME)], "hello")
            phone = connect(service, "+250788123001")
            held = Held(service, phone)
            with silent.accept()[0]:  # the flow waits for an answer
                service.kill("worker")
        assert held.is_held
        with service.database.writing() as tx:
            tx.execute(update(contact).values(handling_until=None))  # as when the lease is over
        service.start("worker")
        held.end()
        assert line_of(phone).texts == [WELCOME]

        phone.send_waiting()
        phone.sync()
        assert (count(service, INCOMING), count(service, OUTGOING)) == (1, 1)


def test_a_phone_that_was_released_meanwhile_gets_nothing_to_send(alone: RunningService) -> None:
    phone = connect(alone, "+250788123001")
    held = Held(alone, phone)
    with alone.database.writing() as tx:
        release_channels(tx, alone.workspace.id, channel.c.id == phone.state.relayer_id)
    alone.start("worker")
    held.end()

    assert (line_of(phone).texts, len(line_of(phone).acks)) == ([], 1)


def test_what_is_left_is_found_for_all_syncs_by_a_statement_for_messages(
    database: Database, workspace: Workspace, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_LOOKED_AT", 2)
    with database.writing() as tx:
        other = create_workspace(tx, "Other")
    queued = make_messages(database, workspace, make_contact(database, workspace, AMINA), 4, status=QUEUED)
    others = make_messages(database, other, make_contact(database, other, BOSCO), 2, status=QUEUED)
    with database.writing() as tx:
        done = message.c.id.in_([queued[0], queued[3], *others])
        tx.execute(update(message).where(done).values(status=HANDLED))
    held = [Arrivals(workspace.id, queued, ()), Arrivals(other.id, others, ())]

    statements.clear()
    with database.reading() as tx:
        left = leave_unhandled(tx, held)
    assert [each.message_ids for each in left] == [[queued[1], queued[2], queued[3]], []]
    assert len(statements) == 1
    with database.reading() as tx:
        assert [each.message_ids for each in leave_unhandled(tx, left)] == [[queued[1], queued[2], queued[3]], []]
