"""Actions that change the contact, rule by rule (flow format, section 4, contact)."""

from __future__ import annotations

from typing import Any

import pytest

from flows import Services
from tests.flows.engine.playing import Played, node, play
from tests.flows.hypothesis.workspace import CHANNEL, GROUP, SMART, make_uuid, refer

MOTHERS, FATHERS, OTHER = make_uuid(60), make_uuid(61), make_uuid(62)
GROUPS = [
    refer(GROUP),
    refer(MOTHERS, "Mothers"),
    refer(FATHERS, "Fathers"),
    {**refer(SMART, "Adults"), "query": "age > 18"},
]
SECOND = {**refer(OTHER, "Other"), "address": "+254", "schemes": ["tel"], "roles": ["send", "receive"]}
FIRST = {**refer(CHANNEL), "address": "+12065550100", "schemes": ["tel"], "roles": ["send"], "country": "US"}
POST = {**refer(make_uuid(63), "Post"), "address": "x@y.z", "schemes": ["mailto"], "roles": ["send"]}
AGE = {"key": "age", "name": "Age"}
CODES = {
    "missing": "dependency:missing",
    "group": "group:missing",
    "zone": "timezone:invalid",
    "urn": "urn:invalid",
    "taken": "urn:taken",
}


class Taken:
    """Everybody else has every address."""

    def claim(self, contact_uuid: str, urn: Any) -> bool:
        return False


def act(kind: str, contact: dict[str, Any] | None = None, services: Services | None = None, **fields: Any) -> Played:
    assets = {"groups": GROUPS, "channels": [FIRST, SECOND, POST]}
    return play(node(0, {"type": kind, **fields}), contact=contact, assets=assets, services=services)


def changed(played: Played, kind: str) -> list[dict[str, Any]]:
    """The events of a kind but for what had to be settled before the run began."""
    begin = played.kinds.index("run_started")
    return [event for event in played.of(kind) if event in _slim(played.events[begin:])]


def _slim(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: part for name, part in e.items() if name not in ("uuid", "type", "created_on")} for e in events]


def code_of(played: Played) -> list[tuple[str, dict[str, str]]]:
    return [(error.get("code", ""), error.get("extra", {})) for error in played.of("error")]


# Groups


def test_being_added_to_several_groups_is_one_event_with_the_new_ones() -> None:
    played = act("add_contact_groups", groups=[refer(GROUP), refer(MOTHERS, "M"), refer(FATHERS, "F")])
    added = [refer(MOTHERS, "Mothers"), refer(FATHERS, "Fathers")]
    assert {"groups_added": added} in played.of("contact_groups_changed")


def test_being_in_a_group_already_is_no_event() -> None:
    contact = {"fields": {}}
    assert act("add_contact_groups", contact, groups=[refer(GROUP)]).of("contact_groups_changed") == []


@pytest.mark.parametrize("status", ["blocked", "stopped", "archived"])
@pytest.mark.parametrize("query", [False, True])
def test_groups_refuse_contacts_that_are_not_active(status: str, query: bool) -> None:
    played = act("add_contact_groups", {"status": status}, groups=[refer(SMART if query else MOTHERS)])
    assert played.errors == ["Can't add blocked or stopped contacts to groups"]


def test_one_group_with_a_query_does_not_keep_the_contact_out_of_the_others() -> None:
    played = act("add_contact_groups", {"fields": {}}, groups=[refer(SMART, "Adults"), refer(MOTHERS)])
    assert played.errors == ["Can't add contacts to the query based group 'Adults'"]
    assert MOTHERS in played.session.contact.groups


@pytest.mark.parametrize("kind", ["add_contact_groups", "remove_contact_groups"])
@pytest.mark.parametrize(
    ("reference", "code", "extra"),
    [
        (refer(make_uuid(69), "Gone"), "dependency:missing", {"type": "group", "identity": make_uuid(69)}),
        ({"name_match": "No@(1)"}, "group:missing", {"name": "No1"}),
        ({"name_match": "@(1 / 0)"}, "expression", {"expression": "@(1 / 0)"}),
    ],
)
def test_a_group_that_is_not_there_is_an_error(kind: str, reference: Any, code: str, extra: dict[str, str]) -> None:
    assert code_of(act(kind, groups=[reference])) == [(code, extra)]


@pytest.mark.parametrize("name", ["Fathers", "fathers", " FATHERS ", '@(lower("Fathers"))'])
def test_groups_are_matched_by_name_ignoring_case(name: str) -> None:
    assert FATHERS in act("add_contact_groups", groups=[{"name_match": name}]).session.contact.groups


def test_leaving_all_groups_is_one_event_and_leaves_those_with_queries() -> None:
    contact = {"groups": [refer(GROUP), refer(MOTHERS), refer(SMART)]}
    played = act("remove_contact_groups", contact, groups=[], all_groups=True)
    assert played.of("contact_groups_changed") == [{"groups_removed": [refer(GROUP), refer(MOTHERS, "Mothers")]}]
    assert played.session.contact.groups == [SMART]


def test_leaving_a_group_one_is_not_in_is_no_event() -> None:
    played = act("remove_contact_groups", {"groups": [refer(SMART)]}, groups=[refer(MOTHERS)])
    assert (played.of("contact_groups_changed"), played.errors) == ([], [])


# Addresses


def test_an_address_is_appended_at_the_end_in_its_normal_form() -> None:
    played = act("add_contact_urn", scheme="mailto", path=" Bob@Example.COM ")
    (event,) = played.of("contact_urns_changed")
    assert event["urns"] == [f"tel:+12065551212?channel={CHANNEL}", "mailto:ann@example.com", "mailto:bob@example.com"]
    assert played.session.runs[0].locals == {"_has_urn": "mailto:bob@example.com"}


def test_an_address_that_is_there_already_is_no_change_but_told_to_the_flow() -> None:
    played = act("add_contact_urn", scheme="tel", path="+1 (206) 555-1212")
    assert (played.of("contact_urns_changed"), played.errors) == ([], [])
    assert played.session.runs[0].locals == {"_has_urn": "tel:+12065551212"}


def test_an_invalid_address_is_an_error_with_its_text() -> None:
    assert code_of(act("add_contact_urn", scheme="telegram", path="x")) == [("urn:invalid", {"urn": "telegram:x"})]


def test_an_address_of_somebody_else_is_an_error_and_not_added() -> None:
    played = act("add_contact_urn", services=Services(urns=Taken()), scheme="tel", path="+12065559999")
    assert code_of(played) == [("urn:taken", {"urn": "tel:+12065559999"})]
    assert played.session.runs[0].locals == {"_has_urn": ""}


@pytest.mark.parametrize(("count", "is_full"), [(49, False), (50, True)])
def test_there_are_at_most_fifty_addresses(count: int, is_full: bool) -> None:
    urns = [f"telegram:{number}" for number in range(1000, 1000 + count)]
    played = act("add_contact_urn", {"urns": urns}, scheme="telegram", path="5")
    assert (bool(played.errors), len(played.session.contact.urns)) == (is_full, 50)


# The preferred channel


def test_a_channel_takes_the_addresses_it_serves_and_moves_them_first() -> None:
    urns = ["mailto:ann@example.com", f"tel:+12065551212?channel={CHANNEL}", "tel:+12065559999"]
    (event,) = act("set_contact_channel", {"urns": urns}, channel=refer(OTHER)).of("contact_urns_changed")
    assert event["urns"] == [
        f"tel:+12065551212?channel={OTHER}",
        f"tel:+12065559999?channel={OTHER}",
        "mailto:ann@example.com",
    ]


@pytest.mark.parametrize(
    ("urn", "preferred"),
    [("mailto:a@b.co", True), (f"mailto:a@b.co?channel={make_uuid(69)}", False)],
)
def test_an_address_that_is_no_number_keeps_the_channel_that_it_has(urn: str, preferred: bool) -> None:
    played = act("set_contact_channel", {"urns": [urn]}, channel=refer(POST["uuid"], "Post"))
    events = played.of("contact_urns_changed")
    assert [event["urns"] for event in events] == ([[f"mailto:a@b.co?channel={POST['uuid']}"]] if preferred else [])


def test_no_channel_clears_all_preferences() -> None:
    urns = [f"mailto:a@b.co?channel={POST['uuid']}", f"tel:+12065551212?channel={CHANNEL}"]
    (event,) = act("set_contact_channel", {"urns": urns}, channel=None).of("contact_urns_changed")
    assert event["urns"] == ["mailto:a@b.co", "tel:+12065551212"]


def test_a_channel_that_is_not_there_is_a_dependency_error() -> None:
    played = act("set_contact_channel", channel=refer(make_uuid(69)))
    assert code_of(played) == [("dependency:missing", {"type": "channel", "identity": make_uuid(69)})]
    assert played.of("contact_urns_changed") == []


# Fields and attributes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" 19 ", {"text": "19", "number": 19}),
        ("soon", {"text": "soon"}),
        ("2001-02-03T04:05:06Z", {"text": "2001-02-03T04:05:06Z", "datetime": "2001-02-03T04:05:06.000000Z"}),
    ],
)
def test_a_field_is_told_with_all_that_its_text_can_be(text: str, value: dict[str, Any]) -> None:
    (event,) = act("set_contact_field", field=AGE, value=text).of("contact_field_changed")
    assert event == {"field": AGE, "value": value}


def test_a_place_is_read_down_to_its_level() -> None:
    played = act("set_contact_field", field={"key": "town", "name": "Town"}, value="Rwanda > Kigali > Gasabo")
    (event,) = played.of("contact_field_changed")
    assert event["value"] == {
        "text": "Rwanda > Kigali > Gasabo",
        "state": "Rwanda > Kigali",
        "district": "Rwanda > Kigali > Gasabo",
    }


def field_of_places(number: int, kind: str) -> dict[str, Any]:
    return {"uuid": make_uuid(80, number), "key": f"the_{kind}", "name": f"The {kind}", "type": kind}


PLACE_FIELDS = [field_of_places(number, kind) for number, kind in enumerate(("ward", "district", "state"))]
KIGALI, GASABO = "Rwanda > Kigali", "Rwanda > Kigali > Gasabo"


@pytest.mark.parametrize(
    ("kind", "text", "known", "found"),
    [
        ("state", "kigari", {}, KIGALI),
        ("district", "gasabo", {"the_state": {"text": "Kigali", "state": KIGALI}}, GASABO),
        ("district", "gasabo", {}, None),
        ("district", "gasabo", {"the_district": {"text": "Gasabo", "district": GASABO}}, None),
        ("district", "gasabo", {"the_state": {"text": "Nowhere"}}, None),
        ("ward", "kimironko", {"the_district": {"text": "Gasabo", "district": GASABO}}, f"{GASABO} > Kimironko"),
        ("ward", "kimironko", {"the_state": {"text": "Kigali", "state": KIGALI}}, None),
        ("district", "kimironko", {"the_state": {"text": "Kigali", "state": KIGALI}}, None),
    ],
)
def test_a_name_is_looked_for_below_the_place_that_the_contact_is_in(
    kind: str, text: str, known: dict[str, Any], found: str | None
) -> None:
    played = play(
        node(0, {"type": "set_contact_field", "field": {"key": f"the_{kind}", "name": "Place"}, "value": f"{text} "}),
        assets={"fields": PLACE_FIELDS},
        contact={"fields": {name: value for name, value in known.items() if name != f"the_{kind}"}},
    )
    (event,) = played.of("contact_field_changed")
    assert event["value"].get(kind) == found


@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("b", "a"), ("a", "A")])
def test_a_field_whose_text_is_another_is_an_event(old: str, new: str) -> None:
    nick = {"uuid": make_uuid(82), "key": "nick", "name": "Nick", "type": "text"}
    action = {"type": "set_contact_field", "field": {"key": "nick", "name": "Nick"}, "value": new}
    played = play(node(0, action), assets={"fields": [nick]}, contact={"fields": {"nick": {"text": old}}})
    assert [event["value"]["text"] for event in played.of("contact_field_changed")] == [new]


@pytest.mark.parametrize("value", ["27", " 27 ", "@(20 + 7)"])
def test_a_field_that_stays_the_same_is_no_event(value: str) -> None:
    assert act("set_contact_field", field=AGE, value=value).of("contact_field_changed") == []


@pytest.mark.parametrize("value", ["", "  ", '@("")'])
def test_an_empty_text_clears_a_field(value: str) -> None:
    played = act("set_contact_field", field=AGE, value=value)
    assert played.of("contact_field_changed") == [{"field": AGE, "value": None}]
    assert "age" not in played.session.contact.fields


def test_a_field_that_is_not_there_is_a_dependency_error() -> None:
    played = act("set_contact_field", field={"key": "size", "name": "Size"}, value="XL")
    assert code_of(played) == [("dependency:missing", {"type": "field", "identity": "size"})]


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        ("set_contact_language", "language", "iso-639-3 codes must be 3 characters, got: en"),
        ("set_contact_timezone", "timezone", "Unrecognized timezone: 'en'"),
    ],
)
def test_what_is_no_language_or_timezone_is_an_error_and_changes_nothing(kind: str, name: str, error: str) -> None:
    played = act(kind, **{name: '@("en")'})
    assert played.errors == [error]
    assert played.of(f"contact_{name}_changed") == []


def test_a_code_of_three_letters_that_is_no_language_is_an_error() -> None:
    assert act("set_contact_language", language="qqz").errors == ["unrecognized language code: qqz"]


@pytest.mark.parametrize(
    ("kind", "fields", "event"),
    [
        ("set_contact_language", {"language": '@("spa")'}, {"language": "spa"}),
        ("set_contact_language", {"language": ""}, {"language": ""}),
        ("set_contact_name", {"name": " Bob @(1) "}, {"name": "Bob 1"}),
        ("set_contact_name", {"name": ""}, {"name": ""}),
        ("set_contact_timezone", {"timezone": 'America/@("Lima")'}, {"timezone": "America/Lima"}),
        ("set_contact_timezone", {"timezone": ""}, {"timezone": ""}),
        ("set_contact_status", {"status": "blocked"}, {"status": "blocked"}),
    ],
)
def test_an_attribute_is_told_by_its_new_value(kind: str, fields: dict[str, str], event: dict[str, str]) -> None:
    (name,) = fields
    assert act(kind, **fields).of(f"contact_{name}_changed") == [event]


@pytest.mark.parametrize("kind", ["name", "language", "timezone"])
def test_an_attribute_with_an_expression_in_error_stays(kind: str) -> None:
    played = act(f"set_contact_{kind}", **{kind: "x@(1 / 0)"})
    assert played.of(f"contact_{kind}_changed") == []
    assert code_of(played) == [("expression", {"expression": "@(1 / 0)"})]


def test_names_are_cut_to_128_characters() -> None:
    (event,) = act("set_contact_name", name='@(repeat("é", 200))').of("contact_name_changed")
    assert event["name"] == "é" * 128


@pytest.mark.parametrize("status", ["blocked", "stopped", "archived"])
def test_leaving_active_is_leaving_all_groups_with_and_without_query(status: str) -> None:
    played = act("set_contact_status", {"groups": [refer(GROUP), refer(SMART)]}, status=status)
    assert played.kinds[1:3] == ["contact_status_changed", "contact_groups_changed"]
    (event,) = played.of("contact_groups_changed")
    assert {group["uuid"] for group in event["groups_removed"]} == {GROUP, SMART}


def test_coming_back_to_active_brings_back_groups_with_queries_only() -> None:
    played = act("set_contact_status", {"status": "blocked", "groups": []}, status="active")
    assert played.of("contact_groups_changed") == [{"groups_added": [refer(SMART, "Adults")]}]


@pytest.mark.parametrize(
    ("action", "query"),
    [
        ({"type": "set_contact_name", "name": "Zoe"}, "name = Zoe"),
        ({"type": "set_contact_language", "language": "spa"}, "language = spa"),
        ({"type": "set_contact_field", "field": AGE, "value": "3"}, "age < 5"),
        ({"type": "add_contact_urn", "scheme": "telegram", "path": "12345"}, "telegram = 12345"),
        ({"type": "open_ticket", "note": "Help"}, "tickets > 0"),
    ],
)
def test_groups_with_queries_follow_every_change(action: dict[str, Any], query: str) -> None:
    groups = [{**refer(SMART, "Found"), "query": query}]
    played = play(node(0, action), contact={"groups": []}, assets={"groups": groups})
    assert played.of("contact_groups_changed") == [{"groups_added": [refer(SMART, "Found")]}]
    assert played.kinds.index("contact_groups_changed") > 1


def test_later_actions_see_the_contact_as_it_is_now() -> None:
    actions = [
        {"type": "set_contact_name", "name": "Zoe"},
        {"type": "set_contact_field", "field": AGE, "value": "5"},
        {"type": "set_contact_timezone", "timezone": "America/Lima"},
        {"type": "send_msg", "text": "@contact.name @(fields.age + 1) @contact.timezone @(tz(now()))"},
    ]
    (made,) = play(node(0, *actions)).of("msg_created")
    assert made["msg"]["text"] == "Zoe 6 America/Lima America/Lima"
