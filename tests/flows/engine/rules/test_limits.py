"""The limits of the format at their edges (flow format, section 21): what just fits and what is one too many."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, load
from tests.flows.engine.playing import Played, flow, node, play, switch
from tests.flows.hypothesis.workspace import GROUP, refer


def say(**fields: Any) -> dict[str, Any]:
    return {"type": "send_msg", "text": "Hi", **fields}


def accepts(definition: dict[str, Any]) -> bool:
    try:
        load(definition)
    except DefinitionError:
        return False
    return True


def with_action(action: dict[str, Any], **more: Any) -> dict[str, Any]:
    return flow(node(0, action), **more)


def with_router(**more: Any) -> dict[str, Any]:
    return flow(node(0, router={**switch(0, "x", ("has_any_word", ["a"], "A")), **more}))


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda size: with_action({"type": "add_contact_groups", "groups": [refer(GROUP)] * size}), 100),
        (lambda size: with_action({"type": "add_contact_groups", "groups": [refer(GROUP, "x" * size)]}), 64),
        (
            lambda size: with_action({"type": "set_run_result", "name": "x" * size, "value": "1", "category": ""}),
            64,
        ),
        (
            lambda size: with_action({"type": "call_webhook", "method": "GET", "url": "x" * size}),
            8192,
        ),
        (
            lambda size: with_action(
                {
                    "type": "call_webhook",
                    "method": "GET",
                    "url": "http://a.b",
                    "headers": {f"X-{n}": "a" for n in range(size)},
                }
            ),
            10,
        ),
        (
            lambda size: flow(node(0, router=switch(0, "x", wait={"type": "dial", "phone": "1" * size})), type="voice"),
            1000,
        ),
        (
            lambda size: with_router(wait={"type": "msg", "hint": {"type": "digits", "terminated_by": "#" * size}}),
            8,
        ),
    ],
)
def test_definitions_have_as_many_as_there_may_be_and_no_more(make: Any, most: int) -> None:
    assert (accepts(make(most)), accepts(make(most + 1))) == (True, False)


def test_editors_data_has_a_greatest_size() -> None:
    fits = {"x": "y" * (262_144 - len('{"x":""}'))}
    assert (accepts(flow(_ui=fits)), accepts(flow(_ui={"x": fits["x"] + "yy"}))) == (True, False)


def texts(played: Played) -> list[str]:
    return [event["msg"]["text"] for event in played.of("msg_created")]


@pytest.mark.parametrize(("count", "kept"), [(64, 64), (65, 64)])
def test_quick_replies_have_at_most_64_characters(count: int, kept: int) -> None:
    (made,) = play(node(0, say(quick_replies=[f'@(repeat("é", {count}))']))).of("msg_created")
    text = made["msg"]["quick_replies"][0]["text"]
    assert (len(text), text.endswith("...")) == (kept, count > kept)


@pytest.mark.parametrize(("count", "is_sent"), [(2042, True), (2043, False)])
def test_attachments_have_at_most_2048_characters(count: int, is_sent: bool) -> None:
    played = play(node(0, say(attachments=[f'image:@(repeat("x", {count}))'])))
    assert ("attachments" in played.of("msg_created")[0]["msg"]) is is_sent
    assert bool(played.errors) is not is_sent


@pytest.mark.parametrize(
    ("action", "kept"),
    [
        ({"type": "set_contact_name", "name": "@text"}, 128),
        ({"type": "set_contact_field", "field": {"key": "age", "name": "Age"}, "value": "@text"}, 640),
        ({"type": "set_run_result", "name": "X", "value": "@text", "category": ""}, 640),
    ],
)
def test_values_are_cut_without_dots(action: dict[str, Any], kept: int) -> None:
    for count in (kept, kept + 1):
        written = {name: f'@(repeat("é", {count}))' if part == "@text" else part for name, part in action.items()}
        played = play(node(0, written))
        found = {
            128: lambda made=played: made.session.contact.name,
            640: lambda made=played: (
                made.session.runs[0].results["x"].value
                if made.session.runs[0].results
                else made.session.contact.fields["age"].text
            ),
        }[kept]()
        assert found == "é" * kept


@pytest.mark.parametrize(
    ("expression", "is_fine"),
    [
        ('text_length(repeat("x", 10000))', True),
        ('text_length(repeat("x", 10001))', False),
        ('count(split(repeat("a ", 5000)))', True),
        ("(" * 99 + "1" + ")" * 99, True),
        ("(" * 200 + "1" + ")" * 200, False),
    ],
)
def test_what_functions_build_and_how_deep_expressions_nest_is_limited(expression: str, is_fine: bool) -> None:
    assert (play(node(0, say(text=f"@({expression})"))).errors == []) is is_fine
