"""Actions that change the contact."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import GROUP, SMART, make_uuid, refer

GROUPS = {"groups": [refer(GROUP), {**refer(SMART, "Adults"), "query": "age > 18"}]}


def act(kind: str, contact: dict[str, Any] | None = None, **fields: Any) -> Played:
    return play(node(0, {"type": kind, **fields}), contact=contact, assets=GROUPS)


def test_a_blocked_contact_keeps_at_a_start_the_groups_that_people_chose() -> None:
    played = act("set_run_result", contact={"status": "blocked"}, name="Nothing", value="")

    assert (played.session.contact.groups, played.of("contact_groups_changed")) == ([GROUP], [])


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        ("27/3/13", "datetime", ["The year '27' of '27/3/13' was read as 1927"]),
        ("24/3/13", "datetime", ["The year '24' of '24/3/13' was read as 2024"]),
        ("2027/3/13", "datetime", []),
        ("2027-03-13", "datetime", []),
        ("27/3/13", "text", []),
    ],
)
def test_a_short_year_is_told_with_the_one_as_which_it_was_read(value: str, kind: str, told: list[str]) -> None:
    assets = {"fields": [{"key": "due", "name": "Due", "type": kind}]}
    action = {"type": "set_contact_field", "field": {"key": "due", "name": "Due"}, "value": value}
    played = play(node(0, action), assets=assets)
    assert [event["text"] for event in played.of("warning")] == told


def test_a_value_in_error_leaves_the_field() -> None:
    played = act("set_contact_field", field={"key": "age", "name": "Age"}, value="@(1 / 0)")
    assert (played.of("contact_field_changed"), len(played.errors)) == ([], 1)


def test_what_is_set_already_is_no_change() -> None:
    assert act("set_contact_name", name="Ann Lee").of("contact_name_changed") == []


@pytest.mark.parametrize(
    ("path", "errors", "local"),
    [
        ('@("")', ["Can't add URN with empty path"], {}),
        ("@(1 / 0)", ["Error evaluating expression: division by zero", "Can't add URN with empty path"], {}),
        ("not an address", ["'telegram:not an address' is not valid URN"], {"_has_urn": ""}),
    ],
)
def test_what_is_no_address_is_an_error(path: str, errors: list[str], local: dict[str, str]) -> None:
    played = act("add_contact_urn", scheme="telegram", path=path)
    assert (played.errors, played.of("contact_urns_changed")) == (errors, [])
    assert played.session.runs[0].locals == local


def test_of_an_address_with_an_expression_in_error_what_remains_is_added() -> None:
    played = act("add_contact_urn", scheme="telegram", path="1234@(1 / 0)")
    assert played.errors == ["Error evaluating expression: division by zero"]
    assert played.of("contact_urns_changed")[0]["urns"][-1] == "telegram:1234"
    assert played.session.runs[0].locals == {"_has_urn": "telegram:1234"}


@pytest.mark.parametrize("urns", [["tel:+12065551212"], [], ["mailto:ann@example.com"]])
def test_a_channel_that_cannot_send_is_an_error_and_not_preferred(urns: list[str]) -> None:
    channel = {**refer(make_uuid(62), "Inbox"), "address": "123", "schemes": ["tel"], "roles": ["receive"]}
    played = play(
        node(0, {"type": "set_contact_channel", "channel": refer(make_uuid(62), "Inbox")}),
        contact={"urns": urns},
        assets={"channels": [channel]},
    )
    assert played.errors == ["Can't set channel that can't send as the preferred channel"]
    assert played.of("contact_urns_changed") == []
