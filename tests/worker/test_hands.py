import pytest

from worker.hands import Hands


@pytest.fixture
def hands():
    return Hands(total=6, per_receiver=3)


def take(hands, rooms):
    for receiver, room in rooms.items():
        for _ in range(room):
            hands.take(receiver)


def test_a_receiver_gets_no_more_than_its_share(hands):
    take(hands, hands.share(["a"]))

    assert hands.busy == 3
    assert hands.share(["a", "b"]) == {"b": 3}


def test_hands_are_shared_evenly(hands):
    assert hands.share(["a", "b", "c"]) == {"a": 2, "b": 2, "c": 2}
    assert sum(hands.share("abcdefgh").values()) == 6


def test_nothing_is_shared_when_all_are_busy(hands):
    take(hands, {"a": 3, "b": 3})

    assert hands.share(["c"]) == {}


def test_those_who_occupy_fewest_come_first(hands):
    take(hands, {"a": 2, "b": 3})

    assert hands.share(["b", "a", "c"]) == {"c": 1}


def test_those_served_longest_ago_come_first(hands):
    for receiver in "abcdef":
        hands.take(receiver)
    for receiver in "abcdef":
        hands.release(receiver, has_answered=True)
    take(hands, {"b": 3, "c": 2})
    for receiver in "bbbcc":
        hands.release(receiver, has_answered=True)
    take(hands, {"x": 3, "y": 2})

    assert hands.share(["f", "c", "b", "a"]) == {"a": 1}


def test_a_receiver_that_gave_no_answer_gets_one_hand_until_it_answers(hands):
    hands.take("a")
    hands.release("a", has_answered=False)
    assert hands.share(["a"]) == {"a": 1}

    hands.take("a")
    assert hands.share(["a"]) == {}

    hands.release("a", has_answered=True)
    assert hands.share(["a"]) == {"a": 3}
