"""Actions that change the contact."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CHANNEL, GROUP, SMART, make_uuid, refer

OTHER_GROUP = make_uuid(60)
GROUPS = {"groups": [refer(GROUP), refer(OTHER_GROUP, "Mothers"), {**refer(SMART, "Adults"), "query": "age > 18"}]}


def act(kind: str, contact: dict[str, Any] | None = None, **fields: Any) -> Played:
    return play(node(0, {"type": kind, **fields}), contact=contact, assets=GROUPS)


def test_contacts_are_added_to_groups_they_are_not_in_yet() -> None:
    played = act("add_contact_groups", groups=[refer(GROUP), refer(OTHER_GROUP, "Mothers")])
    added = [{"groups_added": [refer(OTHER_GROUP, "Mothers")]}]
    assert [event for event in played.of("contact_groups_changed") if event in added] == added


def test_groups_are_found_by_name_whatever_its_case() -> None:
    played = act("add_contact_groups", groups=[{"name_match": 'MOTH@("ers")'}])
    assert OTHER_GROUP in played.session.contact.groups


def test_a_group_that_does_not_exist_is_an_error() -> None:
    assert act("add_contact_groups", groups=[refer(make_uuid(61))]).errors[0].startswith("Missing dependency: group")
    assert act("add_contact_groups", groups=[{"name_match": "Fathers"}]).errors == ["No such group with name 'Fathers'"]


def test_nobody_is_added_to_a_group_with_a_query() -> None:
    played = act("add_contact_groups", contact={"fields": {}}, groups=[refer(SMART, "Adults")])
    assert len(played.errors) == 1
    assert SMART not in played.session.contact.groups


@pytest.mark.parametrize("status", ["blocked", "stopped"])
def test_blocked_and_stopped_contacts_are_not_added(status: str) -> None:
    played = act("add_contact_groups", contact={"status": status}, groups=[refer(OTHER_GROUP, "Mothers")])
    assert (len(played.errors), OTHER_GROUP in played.session.contact.groups) == (1, False)


def test_a_blocked_contact_keeps_at_a_start_the_groups_that_people_chose() -> None:
    played = act("set_run_result", contact={"status": "blocked"}, name="Nothing", value="")

    assert (played.session.contact.groups, played.of("contact_groups_changed")) == ([GROUP], [])


def test_contacts_leave_all_groups_but_those_with_a_query() -> None:
    played = act("remove_contact_groups", groups=[], all_groups=True)
    assert played.session.contact.groups == [SMART]


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


def test_a_field_is_read_as_all_that_it_can_be() -> None:
    played = act("set_contact_field", field={"key": "age", "name": "Age"}, value=" 19 ")
    (changed,) = played.of("contact_field_changed")
    assert changed["field"] == {"key": "age", "name": "Age"}
    assert (changed["value"]["text"], changed["value"]["number"]) == ("19", 19)


def test_an_empty_value_clears_a_field_and_groups_follow() -> None:
    played = act("set_contact_field", field={"key": "age", "name": "Age"}, value="")
    assert played.of("contact_field_changed") == [{"field": {"key": "age", "name": "Age"}, "value": None}]
    assert played.of("contact_groups_changed")[-1] == {"groups_removed": [refer(SMART, "Adults")]}


def test_a_value_in_error_leaves_the_field() -> None:
    played = act("set_contact_field", field={"key": "age", "name": "Age"}, value="@(1 / 0)")
    assert (played.of("contact_field_changed"), len(played.errors)) == ([], 1)


def test_long_values_are_cut() -> None:
    played = act("set_contact_field", field={"key": "age", "name": "Age"}, value="x" * 700)
    assert len(played.session.contact.fields["age"].text) == 640


@pytest.mark.parametrize(
    ("kind", "fields", "attribute", "value"),
    [
        ("set_contact_name", {"name": "  Bob "}, "name", "Bob"),
        ("set_contact_name", {"name": "x" * 200}, "name", "x" * 128),
        ("set_contact_language", {"language": "spa"}, "language", "spa"),
        ("set_contact_language", {"language": ""}, "language", ""),
        ("set_contact_timezone", {"timezone": "America/Quito"}, "timezone", "Africa/Kigali"),
        ("set_contact_timezone", {"timezone": "America/Lima"}, "timezone", "America/Lima"),
        ("set_contact_status", {"status": "blocked"}, "status", "blocked"),
    ],
)
def test_attributes_are_set(kind: str, fields: dict[str, Any], attribute: str, value: str) -> None:
    played = act(kind, **fields)
    assert getattr(played.session.contact, attribute) == value
    assert bool(played.of(f"contact_{attribute}_changed")) != bool(played.errors)


def test_what_is_set_already_is_no_change() -> None:
    assert act("set_contact_name", name="Ann Lee").of("contact_name_changed") == []


def test_contacts_that_are_no_longer_active_leave_all_groups() -> None:
    assert act("set_contact_status", status="stopped").session.contact.groups == []


def test_addresses_are_appended_in_their_normal_form() -> None:
    played = act("add_contact_urn", scheme="tel", path=" +1 206 555 1213 ")
    (changed,) = played.of("contact_urns_changed")
    assert changed["urns"][-1].startswith("tel:+12065551213")
    assert played.session.runs[0].locals == {"_has_urn": "tel:+12065551213"}


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


def test_contacts_have_at_most_fifty_addresses() -> None:
    full = [f"tel:+1206555{number:04}" for number in range(1000, 1050)]
    played = act("add_contact_urn", contact={"urns": full}, scheme="tel", path="+12065559999")
    assert (len(played.errors), len(played.session.contact.urns)) == (1, 50)


def test_a_channel_is_preferred_and_forgotten() -> None:
    bare = {"urns": ["mailto:ann@example.com", "tel:+12065551212"]}
    preferred = act("set_contact_channel", contact=bare, channel=refer(CHANNEL))
    assert preferred.of("contact_urns_changed")[0]["urns"][0] == f"tel:+12065551212?channel={CHANNEL}"
    cleared = act("set_contact_channel", channel=None)
    assert cleared.of("contact_urns_changed")[0]["urns"][0] == "tel:+12065551212"


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
