"""The thread that leases entries, has receivers called and records the results, with a small queue in memory."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from persistence.database import Transaction
from testbed.running import wait_until
from tests.conftest import Clock
from worker.callers import Finished
from worker.dispatcher import AfterCommit, Dispatcher, Leased, LeasedQueue, begin_dispatching, do_nothing
from worker.receiver_slots import ReceiverSlots
from worker.runtime import Runtime

Call = Finished[str, str]


class Entries(LeasedQueue[str, str]):
    """Entries called `receiver.number`, each with the moment when it is due; one with an exclamation mark fails."""

    name = "entries"

    def __init__(self) -> None:
        self.due: dict[str, datetime] = {}
        self.recorded: list[tuple[str, str | None]] = []
        self.retries: list[datetime] = []

    def list_due(self, tx: Transaction) -> list[str]:
        return sorted({item.partition(".")[0] for item, moment in self.due.items() if moment <= tx.now})

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[str]:
        mine = [item for item, moment in self.due.items() if moment <= tx.now and item.partition(".")[0] in rooms]
        for item in mine:
            del self.due[item]
        return Leased([(item.partition(".")[0], item) for item in mine], min(self.due.values(), default=None))

    def call(self, item: str) -> tuple[str, bool]:
        if "!" in item:
            raise ValueError(item)
        return f"told {item}", True

    def record(self, tx: Transaction, finished: Sequence[Call]) -> AfterCommit:
        self.recorded += [(each.item, each.result) for each in finished]
        return do_nothing

    def next_look(self, finished: Sequence[Call]) -> Sequence[datetime]:
        retries, self.retries = self.retries, []
        return retries


@pytest.fixture
def entries() -> Entries:
    return Entries()


@pytest.fixture
def resting(runtime: Runtime, entries: Entries) -> Dispatcher[str, str]:
    """A dispatcher whose thread does not run."""
    return Dispatcher(runtime, entries, ReceiverSlots(4, first=3))


def ended(item: str, *, has_answered: bool = True) -> Call:
    return Finished(item, item.partition(".")[0], f"told {item}", has_answered)


def test_what_is_due_later_is_called_though_nobody_wakes_the_dispatcher(
    runtime: Runtime, entries: Entries, clock: Clock
) -> None:
    soon = timedelta(milliseconds=20)
    now = runtime.database.clock()
    entries.due = {"a.1": now, "b.1": now + soon, "c.1": now + 2 * soon}

    begin_dispatching(runtime, entries, ReceiverSlots(8, first=3))

    wait_until(lambda: len(entries.recorded) == 3, "all entries to be recorded")
    assert entries.recorded == [(item, f"told {item}") for item in ("a.1", "b.1", "c.1")]


def test_a_call_that_fails_inside_the_service_is_logged_and_recorded_without_a_result(
    runtime: Runtime, entries: Entries, caplog: pytest.LogCaptureFixture
) -> None:
    entries.due = {"a.!": runtime.database.clock()}
    with caplog.at_level(logging.ERROR, "relayboard.dispatcher"):
        step = begin_dispatching(runtime, entries, ReceiverSlots(8, first=1))
        wait_until(lambda: len(entries.recorded) == 1, "the call to be recorded")
    entries.due = {"a.2": runtime.database.clock()}
    assert step() is False
    wait_until(lambda: len(entries.recorded) == 2, "the next call of the same receiver")

    assert entries.recorded == [("a.!", None), ("a.2", "told a.2")]
    assert [record.getMessage() for record in caplog.records] == ["entries: a call failed inside the service"]


def test_it_sleeps_until_the_first_moment_to_look(
    runtime: Runtime, resting: Dispatcher[str, str], entries: Entries, clock: Clock
) -> None:
    assert resting._seconds_to_look() is None
    now = runtime.database.clock()
    entries.retries = [now + timedelta(seconds=seconds) for seconds in (300, 100, 200)]
    resting._mark_recorded([], do_nothing)
    waits = []
    for _ in range(4):
        waits.append(resting._seconds_to_look())
        clock.advance(seconds=100)

    assert [wait and round(wait) for wait in waits] == [100, 100, 100, None]
    assert len(resting._news) == 3, "it wakes itself for each that has come"


def test_calls_that_ended_are_collected_in_their_order_but_not_more_than_there_are_slots(
    resting: Dispatcher[str, str],
) -> None:
    items = ["a.1", "b.1", "c.1", "d.1", "a.2"]
    for item in items[:4]:
        resting._slots.take(item.partition(".")[0])
    for item in items:
        resting._news.put(ended(item, has_answered=item != "b.1"))

    resting._collect()
    assert [each.item for each in resting._unrecorded] == items[:4]
    assert (resting._slots.busy, resting._slots.share("b")) == (0, {"b": 1}), "b gave no answer"

    resting._collect()
    assert [each.item for each in resting._unrecorded] == items


def test_what_was_recorded_is_not_recorded_again(resting: Dispatcher[str, str], entries: Entries) -> None:
    for item in ("a.1", "b.1"):
        resting._news.put(ended(item))
    resting._collect()
    first, second = resting._unrecorded

    resting._mark_recorded([first], do_nothing)
    assert resting._unrecorded == [second]
    resting._record_and_lease()
    assert (resting._unrecorded, entries.recorded) == ([], [("b.1", "told b.1")])
