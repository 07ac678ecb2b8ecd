"""The thread that leases entries, has receivers called and records the results, with a small queue in memory.

How the concurrent calls of a process are shared between receivers.
"""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import pytest

import worker.dispatcher
from persistence.database import Transaction
from testbed.running import wait_until
from tests.conftest import Clock
from worker.dispatcher import (
    AfterCommit,
    Dispatcher,
    Finished,
    Leased,
    LeasedQueue,
    ReceiverSlots,
    begin_dispatching,
    do_nothing,
)
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


@pytest.fixture
def slots() -> ReceiverSlots:
    return ReceiverSlots(8, first=3)


def take(slots: ReceiverSlots, rooms: dict[str, int]) -> None:
    for receiver, room in rooms.items():
        for _ in range(room):
            slots.take(receiver)


def answer(slots: ReceiverSlots, receivers: Iterable[str]) -> None:
    for receiver in receivers:
        slots.take(receiver)
        slots.release(receiver, has_answered=True)


def test_a_receiver_gets_no_more_than_its_share(slots: ReceiverSlots) -> None:
    take(slots, slots.share(["a"]))

    assert slots.busy == 3
    assert slots.share(["a", "b"]) == {"b": 3}


def test_slots_are_shared_evenly(slots: ReceiverSlots) -> None:
    assert slots.share(["a", "b"]) == {"a": 3, "b": 3}
    assert slots.share("abcdefghij") == dict.fromkeys("abcdefgh", 1)


def test_no_receiver_takes_more_than_it_leaves_free() -> None:
    slots = ReceiverSlots(12, first=100)

    assert slots.share(["a"]) == {"a": 6}
    assert slots.share(["a", "b"]) == {"a": 4, "b": 4}
    take(slots, {"a": 6})
    assert slots.share(["b"]) == {"b": 3}


def test_nothing_is_shared_when_all_are_busy(slots: ReceiverSlots) -> None:
    take(slots, {"a": 4, "b": 4})

    assert slots.share(["c"]) == {}


def test_those_who_occupy_fewest_come_first(slots: ReceiverSlots) -> None:
    take(slots, {"a": 3, "b": 4})

    assert slots.share(["b", "a", "c"]) == {"c": 1}


def test_those_served_longest_ago_come_first(slots: ReceiverSlots) -> None:
    answer(slots, "abcdef")
    answer(slots, "bc")
    take(slots, {"x": 4, "y": 3})

    assert slots.share(["f", "c", "b", "a"]) == {"a": 1}


def test_a_receiver_that_gave_no_answer_gets_one_slot_until_it_answers(slots: ReceiverSlots) -> None:
    slots.take("a")
    slots.release("a", has_answered=False)
    assert slots.share(["a"]) == {"a": 1}

    slots.take("a")
    assert slots.share(["a"]) == {}

    slots.release("a", has_answered=True)
    assert slots.share(["a"]) == {"a": 3}


def test_silent_receivers_get_a_quarter_together(slots: ReceiverSlots) -> None:
    for receiver in "abcdef":
        slots.take(receiver)
        slots.release(receiver, has_answered=False)

    assert sum(slots.share("abcdef").values()) == 2
    take(slots, {"a": 1, "b": 1})
    assert slots.share("cdefx") == {"x": 3}


def test_each_answer_lets_a_receiver_have_one_slot_more_and_silence_takes_them_away() -> None:
    slots = ReceiverSlots(100, first=2, most=5)
    answer(slots, "aa")
    assert slots.share(["a"]) == {"a": 4}

    answer(slots, "aaaa")
    assert slots.share(["a"]) == {"a": 5}

    slots.take("a")
    slots.release("a", has_answered=False)
    answer(slots, "a")
    assert slots.share(["a"]) == {"a": 2}


def test_owners_take_turns_before_their_receivers_do() -> None:
    slots = ReceiverSlots(4, first=2)
    flood = [f"1 {name}" for name in "abcdefgh"]

    assert slots.share([*flood, "2 z"]) == {"1 a": 1, "1 b": 1, "1 c": 1, "2 z": 1}


def test_an_owner_gets_no_more_than_its_share_however_many_receivers_it_has() -> None:
    slots = ReceiverSlots(16, first=8, most_per_owner=4)
    flood = [f"1 {name}" for name in "abcdefgh"]
    take(slots, slots.share(flood))

    assert slots.busy == 4
    assert slots.share([*flood, "2 z"]) == {"2 z": 4}


def test_silent_receivers_of_one_owner_leave_room_to_those_of_others() -> None:
    slots = ReceiverSlots(32, first=8, most_per_owner=16)
    silent = [f"1 {name}" for name in "abcdefgh"]
    for receiver in [*silent, "2 z"]:
        slots.take(receiver)
        slots.release(receiver, has_answered=False)

    rooms = slots.share([*silent, "2 z"])

    assert (len([each for each in rooms if each.startswith("1 ")]), rooms["2 z"]) == (4, 1)


def test_the_receivers_of_an_owner_have_three_quarters_of_all_slots_together() -> None:
    slots = ReceiverSlots(16, first=4)

    take(slots, slots.share([f"1 {name}" for name in "abcdefgh"]))

    assert slots.busy == 12


def test_receivers_that_answer_leave_the_room_of_silent_ones_as_it_is(slots: ReceiverSlots) -> None:
    slots.take("1 quick")
    silent = ["1 silent", "2 silent", "3 silent"]
    for receiver in silent:
        slots.take(receiver)
        slots.release(receiver, has_answered=False)

    assert slots.share(["1 silent"]) == {"1 silent": 1}
    assert slots.share(silent) == {"2 silent": 1, "3 silent": 1}


def test_what_silent_receivers_occupy_counts_for_them_and_their_owner() -> None:
    slots = ReceiverSlots(16, first=3)
    silent = ["1 a", "1 b", "1 c", "2 a", "2 b", "3 a"]
    for receiver in silent:
        slots.take(receiver)
        slots.release(receiver, has_answered=False)
    take(slots, {"1 a": 1, "1 b": 1, "2 a": 1})

    assert slots.share(silent) == {"3 a": 1}, "a quarter of all is four"
    assert slots.share(["1 c", "2 b"]) == {"2 b": 1}
    take(slots, {"2 b": 1})
    slots.release("2 a", has_answered=True)
    assert slots.share(["1 c"]) == {"1 c": 1}, "a quarter of an owner's twelve is three"


def test_those_never_served_come_before_the_first_that_was(slots: ReceiverSlots) -> None:
    answer(slots, "a")
    take(slots, {"x": 4, "y": 3})

    assert slots.share(["a", "b"]) == {"b": 1}


def test_receivers_beyond_what_is_remembered_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.dispatcher, "REMEMBERED", 2)
    slots = ReceiverSlots(100, first=2, most=5)
    answer(slots, "abaab")
    assert slots.share("ab") == {"a": 5, "b": 4}

    answer(slots, "c")
    assert slots.share("abc") == {"a": 2, "b": 4, "c": 3}
    slots = ReceiverSlots(2, first=1)
    answer(slots, "bcd")
    take(slots, {"d": 1})
    assert slots.share("zcb") == {"b": 1}


def test_each_slot_of_an_owner_is_a_turn_that_it_had() -> None:
    slots = ReceiverSlots(5, first=3)
    take(slots, {"2 x": 1, "y": 2})

    assert slots.share(["1 a", "1 b", "2 a"]) == {"1 a": 1, "1 b": 1}


def test_an_owners_turn_goes_to_its_receiver_that_was_never_served() -> None:
    slots = ReceiverSlots(4, first=3)
    answer(slots, ["1 a"])
    take(slots, {"x": 3})

    assert slots.share(["1 a", "1 b"]) == {"1 b": 1}


def test_an_owner_with_as_many_silent_receivers_as_it_may_have_keeps_nobody_else_waiting() -> None:
    slots = ReceiverSlots(8, first=3, most_per_owner=2)
    for receiver in ("1 a", "1 b", "2 a", "2 b"):
        slots.take(receiver)
        slots.release(receiver, has_answered=receiver.startswith("2"))

    assert slots.share(["1 a", "1 b", "2 a", "2 b"]) == {"1 a": 1, "2 a": 1, "2 b": 1}


def test_what_nobody_calls_any_more_takes_no_room() -> None:
    slots = ReceiverSlots(8, first=3)
    take(slots, {"a": 2})
    slots.release("a", has_answered=True)
    slots.release("a", has_answered=True)

    assert (slots.busy, len(slots._busy)) == (0, 0)
