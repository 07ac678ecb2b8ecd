"""The queue of gateways: order, limits in messages per second, and who is left out."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from channels.calls import Later, Sent
from persistence.channels.gateway_leases import (
    GatewaySend,
    SendOutcome,
    begin_sends,
    lease_sends,
    list_due_gateways,
    record_sends,
)
from persistence.channels.gateway_pace import Pace
from persistence.database import Database
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.messages import gateway_send, message
from persistence.workspaces.records import Workspace
from testbed.gateways import add_gateway, queue_messages, states_of
from tests.conftest import Clock

LEASE = timedelta(minutes=5)
URL = "http://127.0.0.1:1/"


def lease(database: Database, gateway: int, room: int) -> list[GatewaySend]:
    with database.writing() as tx:
        return lease_sends(tx, {gateway: room}, LEASE).sends


def begin(database: Database, sends: list[GatewaySend]) -> list[GatewaySend]:
    with database.writing() as tx:
        begun = begin_sends(tx, sends, LEASE)
    return [replace(send, due_on=begun[send.id]) for send in sends if send.id in begun]


def record(database: Database, sends: list[GatewaySend], *, is_accepted: bool, is_begun: bool = True) -> None:
    with database.writing() as tx:
        record_sends(
            tx, [SendOutcome(send, Sent() if is_accepted else Later("away"), is_begun=is_begun) for send in sends]
        )


def test_conversations_go_before_broadcasts_and_each_in_its_order(database: Database, workspace: Workspace) -> None:
    gateway = add_gateway(database, workspace, URL)
    bulk = queue_messages(database, workspace, gateway, 3, is_bulk=True)
    single = queue_messages(database, workspace, gateway, 2)

    taken = [send.message_id for room in (3, 9) for send in lease(database, gateway, room)]

    assert taken == [*single, *bulk]


def test_each_gateway_gets_what_it_has_room_for(database: Database, workspace: Workspace) -> None:
    first, second = (add_gateway(database, workspace, URL) for _ in range(2))
    queue_messages(database, workspace, first, 5)
    queue_messages(database, workspace, second, 5)
    with database.writing() as tx:
        sends = lease_sends(tx, {first: 2, second: 3}, LEASE).sends

    assert sorted(send.channel_id for send in sends) == [first] * 2 + [second] * 3


def test_only_active_gateways_with_something_due_are_listed(
    database: Database, workspace: Workspace, clock: Clock
) -> None:
    waiting, leased, released, _ = gateways = [add_gateway(database, workspace, URL) for _ in range(4)]
    for gateway in gateways[:3]:
        queue_messages(database, workspace, gateway)
    lease(database, leased, 1)
    with database.writing() as tx:
        tx.execute(update(channel).where(channel.c.id == released).values(is_active=False))
        assert list_due_gateways(tx) == [(workspace.id, waiting)]
    clock.advance(minutes=6)
    with database.reading() as tx:
        assert sorted(list_due_gateways(tx)) == [(workspace.id, waiting), (workspace.id, leased)]


def test_a_message_whose_contact_is_no_longer_active_fails_instead_of_going_out(
    database: Database, workspace: Workspace
) -> None:
    gateway = add_gateway(database, workspace, URL)
    ids = queue_messages(database, workspace, gateway, 2)
    with database.writing() as tx:
        first = select(message.c.contact_id).where(message.c.id == ids[0]).scalar_subquery()
        tx.execute(update(contact).where(contact.c.id == first).values(status="blocked"))

    assert [send.message_id for send in lease(database, gateway, 5)] == [ids[1]]
    assert states_of(database, ids) == [("failed", "contact_inactive"), ("queued", None)]
    with database.reading() as tx:
        assert list(tx.execute(select(gateway_send.c.message_id)).scalars()) == [ids[1]]


def test_a_message_that_failed_meanwhile_leaves_the_queue(database: Database, workspace: Workspace) -> None:
    gateway = add_gateway(database, workspace, URL)
    queue_messages(database, workspace, gateway)
    with database.writing() as tx:
        tx.execute(update(message).values(status="failed"))

    assert lease(database, gateway, 5) == []
    with database.reading() as tx:
        assert tx.execute(select(gateway_send)).first() is None


class TestWorkersThatDie:
    def test_what_was_leased_but_not_begun_is_sent_by_the_next_worker(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway, 3)
        lease(database, gateway, 3)
        clock.advance(minutes=6)
        again = lease(database, gateway, 3)

        assert [(send.message_id, send.part, send.is_uncertain) for send in again] == [(each, 1, False) for each in ids]
        assert states_of(database, ids) == [("queued", None)] * 3

    def test_what_was_begun_is_uncertain_and_shown_as_such(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway, 2)
        begin(database, lease(database, gateway, 2)[:1])
        clock.advance(minutes=6)
        again = lease(database, gateway, 2)
        record(database, again, is_accepted=True)

        found = {send.message_id: (send.part, send.is_uncertain) for send in again}
        assert [found[each] for each in ids] == [(2, True), (1, False)]
        assert states_of(database, ids) == [("wired", "uncertain"), ("wired", None)]

    def test_a_gateway_that_recognizes_repeats_gets_the_part_again(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL, recognizes_repeats=True)
        ids = queue_messages(database, workspace, gateway)
        begin(database, lease(database, gateway, 1))
        for _died_again in range(2):
            clock.advance(minutes=6)
            again = lease(database, gateway, 1)
            assert [(send.part, send.is_uncertain) for send in again] == [(1, True)]
        record(database, begin(database, again), is_accepted=True)

        assert states_of(database, ids) == [("wired", None)]

    def test_a_worker_that_was_frozen_may_not_begin_what_another_one_has_now(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        queue_messages(database, workspace, gateway, 2)
        frozen = lease(database, gateway, 2)
        clock.advance(minutes=6)
        assert begin(database, frozen[:1]) == []
        other = lease(database, gateway, 2)

        assert begin(database, frozen) == []
        assert [send.id for send in begin(database, other)] == [send.id for send in other]

    def test_a_request_that_is_begun_late_has_a_whole_lease(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway)
        leased = lease(database, gateway, 1)
        clock.advance(minutes=4)
        begun = begin(database, leased)
        clock.advance(minutes=4)
        assert lease(database, gateway, 1) == []
        record(database, begun, is_accepted=True)

        assert states_of(database, ids) == [("wired", None)]

    def test_a_worker_that_was_taken_for_dead_says_that_the_gateway_has_it(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway)
        frozen = begin(database, lease(database, gateway, 1))
        clock.advance(minutes=6)
        record(database, lease(database, gateway, 1), is_accepted=True)
        assert states_of(database, ids) == [("wired", "uncertain")]
        record(database, frozen, is_accepted=True)

        assert states_of(database, ids) == [("wired", None)]

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_worker_that_had_a_part_twice_counts_what_it_holds_now(
        self, database: Database, workspace: Workspace, clock: Clock, order: int
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway, text="x" * 200)
        both = begin(database, lease(database, gateway, 1))
        clock.advance(minutes=6)
        both += begin(database, lease(database, gateway, 1))
        outcomes = [SendOutcome(each, Sent(), has_more=each.part == 1) for each in both]
        with database.writing() as tx:
            record_sends(tx, outcomes[::order])

        assert [each.part for each in both] == [1, 2]
        assert states_of(database, ids) == [("wired", "uncertain")]

    def test_what_a_stopping_worker_did_not_begin_is_due_at_once(
        self, database: Database, workspace: Workspace
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        ids = queue_messages(database, workspace, gateway)
        record(database, lease(database, gateway, 1), is_accepted=False, is_begun=False)

        assert [send.message_id for send in lease(database, gateway, 1)] == ids
        assert states_of(database, ids) == [("queued", None)]


class TestPace:
    def test_two_workers_together_never_exceed_the_limit_and_use_it(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        queue_messages(database, workspace, gateway, 400)
        with database.writing() as tx:
            tx.execute(update(channel).values(messages_per_second=60))
        began, sent = clock.moment, list[datetime]()
        while clock.moment < began + timedelta(seconds=5):
            clock.advance(milliseconds=15)
            for _worker in range(2):
                sent += [clock.moment] * len(lease(database, gateway, 100))

        windows = [sum(1 for other in sent if each <= other < each + timedelta(seconds=1)) for each in sent]
        assert max(windows) <= 60
        assert len(sent) >= 5 * 60 * 0.9

    def test_a_slow_limit_is_kept_too_and_says_when_to_look_again(
        self, database: Database, workspace: Workspace, clock: Clock
    ) -> None:
        gateway = add_gateway(database, workspace, URL)
        queue_messages(database, workspace, gateway, 9)
        with database.writing() as tx:
            tx.execute(update(channel).values(messages_per_second=0.5))
        with database.writing() as tx:
            first = lease_sends(tx, {gateway: 9}, LEASE)
            began = tx.now
        with database.writing() as tx:
            second = lease_sends(tx, {gateway: 9}, LEASE)

        assert (len(first.sends), second.sends) == (1, [])
        assert first.look_again_on == second.look_again_on == began + timedelta(seconds=2)

    def test_the_share_of_a_burst_comes_off_the_rate(self) -> None:
        now = datetime(2026, 3, 2)
        pace = Pace(1000, now, now)

        assert pace.allowance == pace.burst == 51
        assert pace.after(51).allowance == 0
        assert Pace(1000, pace.after(51).spent_until, now + timedelta(seconds=1)).allowance == 51
        assert pace.burst + 1 / pace.interval_seconds <= 1001
