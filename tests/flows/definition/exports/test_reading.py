"""Reading export files of today, and writing them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.definition import DefinitionError, load
from flows.definition.exports import ExportError, ExportFile, read_export
from tests.flows.definition.exports.files import (
    FULL_FILE,
    make_campaign,
    make_event,
    make_file,
    make_message_event,
    make_old_file,
    make_old_flow,
    make_trigger,
)
from tests.flows.definition.specimens import ASK, GROUP, Json, make_flow, make_node, make_uuid


def test_a_file_is_written_as_it_was_read() -> None:
    assert read_export(FULL_FILE).to_json() == FULL_FILE


def test_an_empty_file_has_all_its_lists() -> None:
    assert ExportFile("https://a.example").to_json() == {**make_file(), "site": "https://a.example"}


@pytest.mark.parametrize("version", ["13", "13.0.0", 13, 11.12, "11.12", 3, "3"])
def test_versions_from_3_to_13_are_read(version: Any) -> None:
    assert read_export(make_file(version=version)).flows == ()


@pytest.mark.parametrize("version", [2, "2", "2.9", 14, "14.0", "99", None, "", "new", True, [13], -3, float("nan")])
def test_other_versions_are_refused(version: Any) -> None:
    with pytest.raises(ExportError) as caught:
        read_export(make_file(version=version))

    assert caught.value.place == "version"


def test_flows_come_in_the_newest_version() -> None:
    (flow,) = read_export(make_file(flows=[make_flow(make_node(), version="13.0.0")])).flows

    assert flow["spec_version"] == "14.4.2"


def test_a_flow_that_is_refused_names_its_place_in_file_and_flow() -> None:
    broken = make_flow(make_node({"type": "set_contact_status", "uuid": make_uuid(11), "status": "drunk"}))

    with pytest.raises(ExportError) as caught:
        read_export(make_file(flows=[make_flow(), broken]))

    assert caught.value.place == "flows[1]"
    assert f"node {ASK}" in str(caught.value)


@pytest.mark.parametrize(
    ("part", "place"),
    [
        ({"campaigns": {}}, "campaigns"),
        ({"campaigns": [7]}, "campaigns[0]"),
        ({"campaigns": [make_campaign(name="")]}, "campaigns[0].name"),
        ({"campaigns": [make_campaign(group=None)]}, "campaigns[0].group"),
        ({"campaigns": [make_campaign(make_event(unit="Y"))]}, "campaigns[0].events[0].unit"),
        ({"campaigns": [make_campaign(make_event(offset="3"))]}, "campaigns[0].events[0].offset"),
        ({"campaigns": [make_campaign(make_event(delivery_hour=24))]}, "campaigns[0].events[0].delivery_hour"),
        ({"campaigns": [make_campaign(make_event(event_type="X"))]}, "campaigns[0].events[0].event_type"),
        ({"campaigns": [make_campaign(make_event(start_mode="X"))]}, "campaigns[0].events[0].start_mode"),
        ({"campaigns": [make_campaign(make_event(relative_to={}))]}, "campaigns[0].events[0].relative_to"),
        ({"campaigns": [make_campaign(make_event(flow=None))]}, "campaigns[0].events[0].flow"),
        ({"campaigns": [make_campaign(make_message_event(message={}))]}, "campaigns[0].events[0].message"),
        ({"triggers": [7]}, "triggers[0]"),
        ({"fields": [{"key": "age", "name": "Age", "type": "smell"}]}, "fields[0].type"),
        ({"fields": [{"name": "Age", "type": "text"}]}, "fields[0].key"),
        ({"flows": {}}, "flows"),
        ({"groups": [{"uuid": GROUP, "name": "  "}]}, "groups[0].name"),
    ],
)
def test_a_fault_is_refused_and_its_place_named(part: Json, place: str) -> None:
    with pytest.raises(ExportError) as caught:
        read_export(make_file(**part))

    assert caught.value.place == place


@pytest.mark.parametrize(
    ("trigger", "place"),
    [
        (make_trigger("Z"), "triggers[1].trigger_type"),
        (make_trigger("K", keywords=[]), "triggers[1].keywords"),
        (make_trigger("K", match_type="X"), "triggers[1].match_type"),
        (make_trigger("C", groups=[{}]), "triggers[1].groups[0].name"),
    ],
)
def test_a_trigger_that_cannot_be_read_is_skipped_and_its_place_named(trigger: Json, place: str) -> None:
    content = read_export(make_file(triggers=[make_trigger("C"), trigger, make_trigger("M")]))

    assert [each.type for each in content.triggers] == ["C", "M"]
    (skipped,) = content.skipped
    assert (skipped.type, skipped.flow) == (trigger["trigger_type"], trigger["flow"])
    assert skipped.problem.startswith(f"{place}: ")


LONG = f'"Routine" check\\up \x00{"x" * 64}'
CLEANED = f"'Routine' check/up {'x' * 45}"


def test_names_that_no_workspace_can_have_are_cleaned_and_reported() -> None:
    campaign = make_campaign(make_event(flow={"uuid": ASK, "name": LONG}), name=LONG, group={"name": LONG})
    trigger = make_trigger("C", flow={"uuid": ASK, "name": LONG}, groups=[{"uuid": GROUP, "name": LONG}])
    content = read_export(
        make_file(
            flows=[{**make_flow(), "name": LONG}],
            campaigns=[campaign],
            triggers=[trigger],
            groups=[{"uuid": GROUP, "name": LONG}],
            fields=[{"key": "age", "name": LONG, "type": "text"}],
        )
    )

    (event,) = content.campaigns[0].events
    assert event.flow is not None
    names = [content.flows[0]["name"], content.campaigns[0].name, content.campaigns[0].group.name, event.flow.name]
    names += [content.triggers[0].flow.name, content.triggers[0].groups[0].name, content.groups[0].name]
    assert names == [CLEANED] * 7
    assert content.fields[0].name == CLEANED[:36]
    assert [(each.kind, each.name, each.new_name) for each in content.renamed] == [
        ("flow", LONG, CLEANED),
        ("campaign", LONG, CLEANED),
        ("group", LONG, CLEANED),
        ("field", LONG, CLEANED[:36]),
    ]


def test_blanks_around_a_name_go_without_a_word() -> None:
    content = read_export(make_file(groups=[{"uuid": GROUP, "name": " Mothers "}]))

    assert (content.groups[0].name, content.renamed) == ("Mothers", ())


def test_the_name_within_the_record_of_an_old_flow_is_cleaned() -> None:
    old = make_old_flow(71, LONG)

    (flow,) = read_export(make_old_file(old)).flows

    assert flow["name"] == CLEANED


def test_loading_a_definition_stays_strict() -> None:
    with pytest.raises(DefinitionError):
        load({**make_flow(), "name": LONG})


@pytest.mark.parametrize("definition", [make_flow(make_node()), make_old_flow(71, "Ask")])
def test_one_definition_is_a_file_with_one_flow(definition: Json) -> None:
    assert len(read_export(definition).flows) == 1


@pytest.mark.parametrize("document", [{"version": "13"}, {"version": "13", "site": "https://a.example"}])
def test_a_document_that_is_neither_a_file_nor_a_flow_is_refused(document: Json) -> None:
    with pytest.raises(ExportError, match="neither an export file nor a flow"):
        read_export(document)


def test_numeric_fields_are_number_fields() -> None:
    (field,) = read_export(make_file(fields=[{"key": "age", "name": "Age", "type": "numeric"}])).fields

    assert field.type == "number"


def test_a_trigger_of_one_keyword_is_read_as_one_of_several() -> None:
    trigger = make_trigger("K", keyword="join", match_type=None)
    del trigger["keywords"]

    (read,) = read_export(make_file(triggers=[trigger])).triggers

    assert (read.keywords, read.match_type) == (("join",), "F")


def test_schedules_are_passed_over() -> None:
    assert read_export(make_file(triggers=[make_trigger("S")])).triggers == ()


def test_a_message_in_one_text_has_no_known_language() -> None:
    event = make_message_event(message="Hi", base_language="eng")

    (campaign,) = read_export(make_file(campaigns=[make_campaign(event)])).campaigns

    assert campaign.events[0].message == {"und": "Hi"}
    assert campaign.events[0].base_language == "und"


def test_texts_of_a_message_without_a_language_are_undetermined() -> None:
    event = make_message_event(message={"base": "Hi", "spa": "Hola"}, base_language="base")

    (campaign,) = read_export(make_file(campaigns=[make_campaign(event)])).campaigns

    assert campaign.events[0].message == {"und": "Hi", "spa": "Hola"}
    assert campaign.events[0].base_language == "und"


def test_a_message_that_is_a_flow_of_its_own_starts_that() -> None:
    event = make_event(event_type="M", message=None)

    (campaign,) = read_export(make_file(campaigns=[make_campaign(event)])).campaigns

    assert campaign.events[0].flow is not None
    assert campaign.events[0].to_json()["event_type"] == "F"


def list_paths(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, item in items:
        yield from list_paths(item, (*path, key))


OLD_FILE = make_old_file(
    make_old_flow(71, "Parent", {"type": "flow", "name": "Child", "id": 72}, {"type": "channel", "channel": "x"}),
    make_old_flow(72, "Child", {"type": "del_group", "group": {"id": 1}}),
    campaigns=[make_campaign(make_message_event(message="Hi"))],
)
PATHS = [(file, path) for file in (FULL_FILE, OLD_FILE) for path in list_paths(file)]
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(place=st.sampled_from(PATHS), value=VALUES)
def test_a_file_with_anything_in_any_place_is_read_or_refused(place: Any, value: Any) -> None:
    file, path = place
    changed = copy.deepcopy(file)
    part: Any = changed
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    before = copy.deepcopy(changed)

    with contextlib.suppress(ExportError):
        content = read_export(changed)
        assert read_export(content.to_json()) == content

    assert repr(changed) == repr(before)


@given(value=VALUES)
def test_whatever_is_given_is_read_or_refused(value: Any) -> None:
    with contextlib.suppress(ExportError):
        read_export(value)
