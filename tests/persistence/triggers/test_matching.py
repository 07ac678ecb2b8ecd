"""Which of several triggers matches a message, and how words are compared (flow format, incoming messages)."""

from typing import Any

import pytest

from flows.environment import Environment
from persistence.tables.campaigns import FIRST_WORD, ONLY_WORD
from persistence.triggers.matching import Trigger, choose_keyword_trigger, choose_trigger, message_kinds
from persistence.triggers.records import CATCH_ALL, KEYWORD, NEW_CONVERSATION

PHONE, OTHER_PHONE = "phone", "other phone"
MEMBERS, AWAY = "members", "away"


def make(number: int, kind: str = KEYWORD, **fields: Any) -> Trigger:
    values = {"keywords": ("join",), "match": FIRST_WORD, "channel_uuid": None} | fields
    return Trigger(number, f"trigger {number}", kind, "flow", "Flow", **values)


def meets(text: str, **fields: Any) -> bool:
    return choose_keyword_trigger([make(1, **fields)], Environment(), [], PHONE, text) is not None


@pytest.mark.parametrize(
    "text", ["join", "JOIN", " join ", "Join!", "«join»", "join, please", "join\nme", "...join", "join us now", "#join"]
)
def test_the_first_word_counts_whatever_surrounds_it(text: str) -> None:
    assert meets(text)


@pytest.mark.parametrize("text", ["", "   ", "!?", "joining", "please join", "join_us", "jo in", "join's"])
def test_another_word_is_not_the_keyword(text: str) -> None:
    assert not meets(text)


@pytest.mark.parametrize(("text", "is_met"), [("join", True), ("Join.", True), ("join me", False), ("join ☺", False)])
def test_an_only_word_stands_alone(text: str, is_met: bool) -> None:
    assert meets(text, match=ONLY_WORD) is is_met


def test_words_of_other_scripts_are_compared_in_any_case() -> None:
    assert meets("ПРИВЕТ!", keywords=("привет",))
    assert meets("☺ hello", keywords=("☺",))


def test_a_channel_weighs_more_than_groups_and_a_group_more_than_exclusions() -> None:
    triggers = [
        make(1, channel_uuid=PHONE),
        make(2, group_uuids=(MEMBERS,), excluded_group_uuids=(AWAY,)),
        make(3, group_uuids=(MEMBERS,)),
        make(4, excluded_group_uuids=(AWAY,)),
        make(5),
    ]

    order = []
    while triggers:
        found = choose_keyword_trigger(triggers, Environment(), [MEMBERS], PHONE, "join")
        assert found is not None
        order.append(found[0].id)
        triggers.remove(found[0])

    assert order == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("groups", "channel", "expected"),
    [((), PHONE, 4), ((AWAY,), PHONE, 5), ((MEMBERS, AWAY), PHONE, 3), ((), OTHER_PHONE, 1), ((), None, 4)],
)
def test_a_trigger_is_only_for_its_channel_and_groups(groups: tuple[str, ...], channel: str, expected: int) -> None:
    triggers = [
        make(1, channel_uuid=OTHER_PHONE),
        make(2, group_uuids=(MEMBERS,), excluded_group_uuids=(AWAY,)),
        make(3, group_uuids=(MEMBERS,)),
        make(4, excluded_group_uuids=(AWAY,)),
        make(5),
    ]

    found = choose_keyword_trigger(triggers, Environment(), groups, channel, "join")

    assert found is not None
    assert found[0].id == expected


def test_of_equal_triggers_the_newest_wins() -> None:
    found = choose_keyword_trigger([make(1), make(2)], Environment(), [], PHONE, "join")

    assert found is not None
    assert found[0].id == 2


def test_a_new_conversation_comes_before_a_more_specific_catch_all() -> None:
    catch_all = make(1, CATCH_ALL, keywords=(), channel_uuid=PHONE)
    first = make(2, NEW_CONVERSATION, keywords=())

    found = [choose_trigger([catch_all, first], message_kinds(is_new), [], PHONE) for is_new in (True, False)]

    assert found == [first, catch_all]


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("cafe\u0301", "café"),
        ("CAFÉ please", "cafe\u0301"),
        ("\u200ecafé\u200f", "café"),
        ("ca\u00adfé", "café"),
        ("‘café’", "café"),
        ("l’eau", "l'eau"),
        *((digit, "1") for digit in ("١", "۱", "१", "১", "１", "1️⃣", "①", "❶", "๑")),
        ("می\u200cخواهم", "میخواهم"),
    ],
)
def test_a_keyword_is_met_however_its_letters_are_typed(text: str, keyword: str) -> None:
    assert meets(text, keywords=(keyword,))


def test_accents_distinguish_keywords() -> None:
    assert not meets("cafe", keywords=("café",))
