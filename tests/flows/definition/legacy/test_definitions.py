"""Whole old definitions in version 13.0."""

from __future__ import annotations

from typing import Any

import pytest

from flows.definition import DefinitionError, load, migrate
from tests.flows.definition.specimens import (
    ASK,
    CALL,
    FLOW,
    LEGACY_FLOW,
    TICKET,
    Json,
    make_action_set,
    make_legacy_flow,
    make_rule,
    make_rule_set,
    make_uuid,
)

RULES = [make_rule(21, {"type": "true"}, {"eng": "All"})]


def migrate_to_13(**more: Any) -> Json:
    return migrate(make_legacy_flow([], [], **more), to="13.0.0")


def test_what_describes_the_flow_comes_from_its_metadata() -> None:
    migrated = migrate_to_13()

    assert {key: migrated[key] for key in ("uuid", "name", "spec_version", "language", "type")} == {
        "uuid": FLOW,
        "name": "Registration",
        "spec_version": "13.0.0",
        "language": "eng",
        "type": "messaging",
    }
    assert (migrated["revision"], migrated["expire_after_minutes"]) == (7, 720)


def test_uuid_and_name_may_stand_beside_the_metadata() -> None:
    migrated = migrate_to_13(metadata={"revision": 1}, uuid=FLOW, name="Aside")

    assert (migrated["uuid"], migrated["name"]) == (FLOW, "Aside")


def test_what_stands_beside_the_metadata_goes_first() -> None:
    migrated = migrate_to_13(uuid=make_uuid(77), name="Imported")

    assert (migrated["uuid"], migrated["name"]) == (make_uuid(77), "Imported")


def test_a_definition_within_a_record_of_the_flow_is_found() -> None:
    inner = make_legacy_flow([make_action_set()], [], metadata={})

    flow = load({"name": "Outside", "uuid": FLOW, "id": 3, "definition": inner})

    assert (flow.uuid, flow.name, len(flow.nodes)) == (FLOW, "Outside", 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("F", "messaging"),
        (None, "messaging"),
        ("V", "voice"),
        ("S", "messaging_offline"),
        ("B", "messaging_background"),
    ],
)
def test_types_of_flows_have_new_names(old: str | None, new: str) -> None:
    assert migrate_to_13(flow_type=old)["type"] == new


def test_the_entry_is_first_and_the_others_go_from_top_to_bottom() -> None:
    low, high = make_action_set(uuid=ASK, y=500), make_action_set(uuid=TICKET, y=100)
    middle = make_rule_set(*RULES, uuid=CALL, y=300)

    flow = make_legacy_flow([low, high], [middle])
    nodes = {entry: [node["uuid"] for node in migrate({**flow, "entry": entry})["nodes"]] for entry in (CALL, None)}

    assert nodes[CALL] == [CALL, TICKET, ASK]
    assert nodes[None] == [TICKET, CALL, ASK]


def test_a_destination_that_is_no_node_is_dropped() -> None:
    flow = make_legacy_flow([make_action_set(destination=make_uuid(404))], [])

    assert migrate(flow)["nodes"][0]["exits"] == [{"uuid": make_action_set()["exit_uuid"]}]


def test_editors_show_nodes_and_notes_where_they_were() -> None:
    note = {"x": 12.5, "y": "?", "title": "Note", "body": "To do"}
    metadata = {"uuid": FLOW, "name": "Flow", "notes": [note]}

    layout = migrate(make_legacy_flow([make_action_set(y=40)], [], metadata=metadata))["_ui"]

    assert layout["nodes"] == {ASK: {"type": "execute_actions", "position": {"left": 10, "top": 40}}}
    (sticky,) = layout["stickies"].values()
    position = {"left": 12, "top": 0}
    assert sticky == {"position": position, "title": "Note", "body": "To do", "color": "yellow"}


def test_a_flow_without_a_language_keeps_its_texts() -> None:
    action = {"type": "reply", "uuid": make_uuid(11), "msg": {"base": "Hi", "spa": "Hola"}}

    flow = load(make_legacy_flow([make_action_set(action)], [], base_language=None))

    assert (flow.language, flow.nodes[0].actions[0].fields["text"]) == ("und", "Hi")
    assert flow.localization["spa"] == {make_uuid(11): {"text": ["Hola"]}}


def test_the_old_specimen_passes_all_checks_of_a_definition() -> None:
    flow = load(LEGACY_FLOW)

    assert [node.uuid for node in flow.nodes] == [ASK, CALL, TICKET]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"flow_type": "X"}, "flow_type"),
        ({"action_sets": {}}, "action_sets"),
        ({"action_sets": [None]}, "action_sets"),
        ({"rule_sets": [{"uuid": "x"}]}, "rule_sets.uuid"),
    ],
)
def test_a_fault_is_refused_and_its_place_named(more: Json, field: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        migrate({**make_legacy_flow([], []), **more})

    assert (caught.value.flow, caught.value.field) == (FLOW, field)


@pytest.mark.parametrize(
    ("message", "text", "translations"),
    [
        ({"base": {"eng": "Hi", "spa": "Hola"}}, "Hi", {"spa": "Hola"}),
        ({"base": {"base": "Hi"}}, "Hi", {}),
        ({"eng": {"base": "Hi"}, "spa": "Hola"}, "Hi", {"spa": "Hola"}),
        ({"eng": "Hi", "base": {"eng": "Hey", "fra": "Salut"}}, "Hi", {"fra": "Salut"}),
        ({"eng": {"fra": "Salut"}, "spa": {}}, "Salut", {}),
        ({"eng": {"eng": {"eng": "too deep"}}, "spa": None}, "", {}),
    ],
)
def test_translations_within_a_translation_are_read(message: Json, text: str, translations: Json) -> None:
    action = {"type": "say", "uuid": make_uuid(11), "msg": message}

    flow = migrate(make_legacy_flow([make_action_set(action)], [], flow_type="V"))

    assert flow["nodes"][0]["actions"][0]["text"] == text
    found = {language: items[make_uuid(11)]["text"][0] for language, items in flow["localization"].items()}
    assert found == translations
