"""Channels that are bound to an SMS centre: messages and receipts, what is stored before it is answered, and
connections that break or are refused.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme
from sqlalchemy import func, select, update

from channels.smpp import Address, Deliver, Submit
from channels.smpp.coding import decode_gsm, header_of
from persistence.channels.connections import BOUND, ENDED, FAILED, LEASE
from persistence.channels.health import read_connection
from persistence.channels.settings import change_config
from persistence.database import Database
from persistence.tables.channels import channel, channel_connection, gateway_call, message_piece
from persistence.tables.messages import INCOMING, message
from persistence.workspaces.records import Workspace
from testbed.gateways import THREE_PARTS, queue_messages, states_of
from testbed.running import wait_until
from testbed.smpp_kills import add_smpp
from testbed.smsc import Reply, Smsc, running_smsc
from tests.certificates import certified
from tests.conftest import Clock
from worker.channels.smpp import begin_smpp, bound, keeper
from worker.channels.smpp.wire import NotSmpp, read_pdu, write_deliver
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

WIRED, ERRORED, DELIVERED = ("wired", None), ("errored", None), ("delivered", None)


@pytest.fixture
def smsc() -> Iterator[Smsc]:
    with running_smsc() as running:
        yield running


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leases and queues are looked at so often that no test waits for it."""
    monkeypatch.setattr(keeper, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(keeper, "QUEUE_SECONDS", 0.05)


@pytest.fixture
def another_worker(runtime: Runtime) -> Iterator[Runtime]:
    """The runtime of a second worker on the same database."""
    made = replace(runtime, closing=type(runtime.closing)(), stopping=type(runtime.stopping)())
    with made.closing:
        yield made


def state_of(database: Database, workspace: Workspace, channel_id: int) -> tuple[str, str | None]:
    with database.reading() as tx:
        found = read_connection(tx, workspace.id, channel_id)
    return ("", None) if found is None else (found["state"], found["reason"])


def incoming(database: Database) -> list[str]:
    with database.reading() as tx:
        rows = tx.execute(select(message.c.text).where(message.c.direction == INCOMING).order_by(message.c.id))
        return [text for (text,) in rows]


def wait_for(database: Database, ids: list[int], *states: tuple[str, str | None]) -> None:
    wait_until(lambda: set(states_of(database, ids)) <= set(states), f"messages to be {states}")


def text_of(submit: Submit) -> str:
    return decode_gsm(submit.content[6:] if submit.esm_class else submit.content)


class TestSending:
    def test_a_message_is_sent_and_its_receipt_delivers_it(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        smsc.receipts = "after"
        ids = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, smsc))

        begin_smpp(runtime)()

        wait_for(runtime.database, ids, DELIVERED)
        (sent,) = smsc.submitted
        assert (text_of(sent), sent.destination.text, sent.source.text) == ("Welcome", "250780000000", "8080")

    def test_a_receipt_may_come_before_the_response(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        smsc.receipts = "before"
        ids = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, smsc), 5)

        begin_smpp(runtime)()

        wait_for(runtime.database, ids, DELIVERED)

    def test_a_long_text_goes_in_parts_in_their_order(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        ids = queue_messages(runtime.database, workspace, channel_id, text=THREE_PARTS)

        begin_smpp(runtime)()

        wait_for(runtime.database, ids, WIRED)
        assert [each.content[5] for each in smsc.submitted] == list(range(1, len(smsc.submitted) + 1))
        assert "".join(map(text_of, smsc.submitted)) == THREE_PARTS

    def test_no_more_are_under_way_than_the_window(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        under_way = Counter[str]()

        def respond(_submit: Submit) -> Reply:
            under_way["most"] = max(under_way["most"], len(smsc.submitted) - len(smsc.accepted))
            return Reply(seconds=0.05)

        smsc.respond = respond
        channel_id = add_smpp(runtime.database, workspace, smsc, window=3)
        ids = queue_messages(runtime.database, workspace, channel_id, 12)

        begin_smpp(runtime)()

        wait_for(runtime.database, ids, WIRED)
        assert 1 < under_way["most"] <= 3

    def test_who_is_throttled_waits_and_loses_nothing(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc, clock: Clock
    ) -> None:
        smsc.respond = lambda _submit: Reply(0x58 if len(smsc.submitted) % 3 == 1 else 0)
        ids = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, smsc, window=1), 6)

        def are_wired() -> bool:
            clock.advance(seconds=1)
            return set(states_of(runtime.database, ids)) == {WIRED}

        begin_smpp(runtime)()

        wait_until(are_wired, "all messages to be wired")
        assert len(smsc.accepted) == 6

    def test_an_error_is_tried_again_later_and_kept_in_the_log(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc, clock: Clock
    ) -> None:
        smsc.respond = lambda _submit: Reply(0x08 if len(smsc.submitted) == 1 else 0)
        ids = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, smsc))
        begin_smpp(runtime)()
        wait_for(runtime.database, ids, ERRORED)

        clock.advance(minutes=6)

        wait_for(runtime.database, ids, WIRED)
        with runtime.database.reading() as tx:
            columns = (gateway_call.c.outcome, gateway_call.c.status, gateway_call.c.method)
            calls = [tuple(row) for row in tx.execute(select(*columns).order_by(gateway_call.c.id))]
        assert calls == [("refused", 8, "SUBMIT"), ("accepted", 0, "SUBMIT")]

    def test_a_slow_centre_keeps_no_other_channel_waiting(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        smsc.respond = lambda _submit: Reply(seconds=3600)
        slow = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, smsc, window=100), 120)
        with running_smsc() as other:
            quick = queue_messages(runtime.database, workspace, add_smpp(runtime.database, workspace, other), 20)

            begin_smpp(runtime)()

            wait_for(runtime.database, quick, WIRED)
            assert set(states_of(runtime.database, slow)) == {("queued", None)}
            smsc.stop_listening()


@pytest.mark.parametrize("length", [16, 24, 33])
def test_a_command_that_ends_before_its_text_is_none(length: int) -> None:
    whole = write_deliver(Deliver(source=Address("8080", 3, 0), destination=Address("1", 1, 1), content=b"Hi"), 5)

    with pytest.raises(NotSmpp) as refused:
        read_pdu(length.to_bytes(4, "big") + whole[4:length])
    assert refused.value.sequence == 5


class TestReceiving:
    def test_what_people_write_is_stored_in_its_order(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()

        smsc.write_text(b"O\x06?")
        smsc.write_text("Где?".encode("utf-16-be"), data_coding=8)

        wait_until(lambda: incoming(runtime.database) == ["Où?", "Где?"], "the messages")

    def test_equal_texts_are_two_messages(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()

        smsc.write_text(b"Yes")
        smsc.write_text(b"Yes")
        smsc.write_text(b"End")

        wait_until(lambda: "End" in incoming(runtime.database), "the last message")
        assert incoming(runtime.database) == ["Yes", "Yes", "End"]

    def test_what_is_told_again_because_its_answer_was_lost_is_one(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        add_smpp(runtime.database, workspace, smsc)
        smsc.loses_answers = 1
        begin_smpp(runtime)()

        smsc.write_text(b"Yes")
        wait_until(lambda: smsc.binds["bind_transceiver"] == 2 and not smsc.waiting, "the second connection")
        smsc.write_text(b"End")

        wait_until(lambda: "End" in incoming(runtime.database), "the last message")
        assert incoming(runtime.database) == ["Yes", "End"]

    def test_what_a_person_writes_again_later_is_another_message(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        """The response to what we sent after our answer shows that the answer was read."""
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        smsc.write_text(b"Yes")
        wait_until(lambda: incoming(runtime.database) == ["Yes"], "the message")
        wait_for(runtime.database, queue_messages(runtime.database, workspace, channel_id), WIRED)
        smsc.write_text(b"More")
        wait_until(lambda: len(incoming(runtime.database)) == 2, "the next message")
        smsc.drop_all()
        wait_until(lambda: smsc.binds["bind_transceiver"] == 2, "the second connection")

        smsc.write_text(b"Yes")

        wait_until(lambda: incoming(runtime.database) == ["Yes", "More", "Yes"], "the second one")

    def test_parts_are_joined_in_whatever_order_they_come(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()

        for number, text in ((3, b"three"), (1, b"one "), (2, b"two ")):
            smsc.write_text(header_of(7, 3, number) + text, esm_class=0x40)
            smsc.write_text(header_of(7, 3, number) + text.upper(), "250788000001", esm_class=0x40)

        wait_until(lambda: len(incoming(runtime.database)) == 2, "the messages")
        assert sorted(incoming(runtime.database)) == ["ONE TWO THREE", "one two three"]
        with runtime.database.reading() as tx:
            assert tx.execute(select(func.count()).select_from(message_piece)).scalar_one() == 0

    def test_characters_that_no_database_keeps_are_left_out_of_parts(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()

        for number in (1, 2):
            smsc.write_text(header_of(7, 2, number) + b"a\0b", esm_class=0x40, data_coding=3)

        wait_until(lambda: incoming(runtime.database) == ["abab"], "the message")

    def test_when_parts_do_not_come_what_is_there_is_the_message(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bound, "PIECES_SECONDS", 0.1)
        add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        for number in (1, 3):
            smsc.write_text(header_of(7, 3, number) + b"abc"[number - 1 : number], esm_class=0x40)
        count = select(func.count()).select_from(message_piece)
        wait_until(lambda: _read(runtime.database, count) == 2, "the parts")

        clock.advance(minutes=11)

        wait_until(lambda: incoming(runtime.database) == ["ac"], "the message")
        assert _read(runtime.database, count) == 0


class TestConnections:
    def test_one_worker_has_a_channel_and_another_takes_it_over(
        self, runtime: Runtime, another_worker: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")
        begin_smpp(another_worker)()

        runtime.closing.close()

        wait_until(lambda: smsc.binds["bind_transceiver"] == 2, "the second worker")
        wait_for(runtime.database, queue_messages(runtime.database, workspace, channel_id), WIRED)
        assert (smsc.most_bound, smsc.unbinds) == (1, 1)

    def test_a_stopped_worker_unbinds_and_gives_its_lease_back(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")

        runtime.closing.close()

        assert smsc.unbinds == 1
        assert state_of(runtime.database, workspace, channel_id) == (ENDED, None)
        assert _read(runtime.database, select(channel_connection.c.leased_until)) is None

    def test_who_has_lost_the_lease_stores_nothing_and_ends_the_connection(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")
        monkeypatch.setattr(keeper, "LOOK_SECONDS", 3600)
        with runtime.database.writing() as tx:
            later = {"holder": "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", "leased_until": tx.now + LEASE}
            tx.execute(update(channel_connection).values(later))

        smsc.write_text(b"Hi")

        wait_until(lambda: smsc.unbinds >= 1 and bool(smsc.waiting), "the end of the connection")
        assert incoming(runtime.database) == []

    def test_a_connection_that_breaks_is_made_again_and_messages_wait(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")
        smsc.stop_listening()
        wait_until(lambda: state_of(runtime.database, workspace, channel_id)[0] == FAILED, "the end")
        ids = queue_messages(runtime.database, workspace, channel_id, 3)

        smsc.listen_again()

        wait_for(runtime.database, ids, WIRED)
        assert len(smsc.submitted) == 3

    def test_a_refused_bind_says_so_until_the_settings_are_right(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        smsc.password = "other"
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        refused = (FAILED, "The SMS centre refused the bind with 0x0E.")
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == refused, "the refusal")

        with runtime.database.writing() as tx:
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
            change_config(tx, workspace.id, uuid, {"password": "other"})

        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")

    def test_a_private_address_is_not_called(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(replace(runtime, http=SafeHttp()))()

        reason = "127.0.0.1 is in a network that this service may not call."
        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (FAILED, reason), "the refusal")
        assert not smsc.binds

    def test_sending_and_receiving_may_be_two_connections(
        self, runtime: Runtime, workspace: Workspace, smsc: Smsc
    ) -> None:
        smsc.receipts = "after"
        channel_id = add_smpp(runtime.database, workspace, smsc, bind_mode="transmitter+receiver")
        ids = queue_messages(runtime.database, workspace, channel_id)

        begin_smpp(runtime)()

        wait_for(runtime.database, ids, DELIVERED)
        assert smsc.binds == {"bind_transmitter": 1, "bind_receiver": 1}

    def test_a_released_channel_is_unbound(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        channel_id = add_smpp(runtime.database, workspace, smsc)
        begin_smpp(runtime)()
        wait_until(lambda: smsc.bound == 1, "the bind")

        with runtime.database.writing() as tx:
            tx.execute(update(channel).where(channel.c.id == channel_id).values(is_active=False))

        wait_until(lambda: smsc.unbinds == 1, "the end")

    def test_a_silent_connection_is_tried(self, runtime: Runtime, workspace: Workspace, smsc: Smsc) -> None:
        add_smpp(runtime.database, workspace, smsc, enquire_link_seconds=0.05)

        begin_smpp(runtime)()

        wait_until(lambda: smsc.tries >= 3, "the tries")
        assert smsc.binds["bind_transceiver"] == 1


def test_it_is_bound_by_tls_if_the_settings_say_so(runtime: Runtime, workspace: Workspace, tmp_path: Path) -> None:
    authority, file = trustme.CA(), tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(file)
    with running_smsc(certified(authority, tmp_path)) as smsc:
        http = SafeHttp(allowed_networks=runtime.http.allowed_networks, certificates=str(file))
        channel_id = add_smpp(runtime.database, workspace, smsc, use_tls=True)
        begin_smpp(replace(runtime, http=http))()

        wait_until(lambda: state_of(runtime.database, workspace, channel_id) == (BOUND, None), "the bind")


def _read(database: Database, statement: Any) -> Any:
    with database.reading() as tx:
        return tx.execute(statement).scalar_one()
