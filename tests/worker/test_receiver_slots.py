"""How the concurrent calls of a process are shared between receivers."""

from collections.abc import Iterable

import pytest

import worker.receiver_slots
from worker.receiver_slots import ReceiverSlots


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
    monkeypatch.setattr(worker.receiver_slots, "REMEMBERED", 2)
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
