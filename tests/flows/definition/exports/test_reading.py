"""Reading export files of today, and writing them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ({"triggers": [make_trigger("Z")]}, "triggers[0].trigger_type"),
        ({"triggers": [make_trigger("K", keywords=[])]}, "triggers[0].keywords"),
        ({"triggers": [make_trigger("K", match_type="X")]}, "triggers[0].match_type"),
        ({"triggers": [make_trigger("C", groups=[{}])]}, "triggers[0].groups[0].name"),
        ({"fields": [{"key": "age", "name": "Age", "type": "smell"}]}, "fields[0].type"),
        ({"fields": [{"name": "Age", "type": "text"}]}, "fields[0].key"),
        ({"groups": [{"uuid": GROUP, "name": "x" * 65}]}, "groups[0].name"),
    ],
)
def test_a_fault_is_refused_and_its_place_named(part: Json, place: str) -> None:
    with pytest.raises(ExportError) as caught:
        read_export(make_file(**part))

    assert caught.value.place == place


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
