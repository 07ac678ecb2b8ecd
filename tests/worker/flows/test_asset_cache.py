"""The assets of workspaces that a worker keeps."""

import pytest

from flows.definition import DefinitionError
from flows.places import find_named
from persistence.boundaries import add_alias, read_features, store_boundaries
from persistence.database import Database
from persistence.flows.assets import AssetCache, DatabaseAssets
from persistence.workspaces.records import Workspace
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.boundary_files import RWANDA
from tests.conftest import Clock
from tests.factories import make_field


def find(cache: AssetCache, database: Database, workspace: Workspace) -> DatabaseAssets:
    with database.reading() as tx:
        return cache.find_assets(tx, workspace)


def test_assets_are_kept_until_one_of_them_changes(database: Database, workspace: Workspace) -> None:
    cache = AssetCache(database)
    make_field(database, workspace, "Age", "number")

    first = find(cache, database, workspace)
    assert find(cache, database, workspace) is first
    make_field(database, workspace, "Due Date", "datetime")
    second = find(cache, database, workspace)

    assert [sorted(each.fields) for each in (first, second)] == [["age"], ["age", "due_date"]]


def test_places_are_read_again_after_a_minute(database: Database, workspace: Workspace, clock: Clock) -> None:
    cache = AssetCache(database)
    make_field(database, workspace, "Province", "state")
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA, None))

    def places_called(name: str) -> list[str]:
        root = find(cache, database, workspace).places
        assert root is not None
        return [place.path for place in find_named(root, name, 1)]

    assert places_called("the city") == []
    with database.writing() as tx:
        add_alias(tx, workspace, "R2", "The City")
    clock.advance(seconds=59)
    assert places_called("the city") == []
    clock.advance(seconds=1)
    assert places_called("the city") == ["Rwanda > Kigali"]

    with database.writing() as tx:
        add_alias(tx, workspace, "R2", "Downtown")
    clock.advance(seconds=-0.5)
    assert places_called("downtown") == ["Rwanda > Kigali"], "a clock that was put back says no age"


def test_places_are_only_read_for_fields_that_hold_them(database: Database, workspace: Workspace) -> None:
    make_field(database, workspace, "Province", "text")
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA, None))

    assert find(AssetCache(database), database, workspace).places is None


def test_a_flow_calls_out_if_it_or_one_that_it_enters_does(database: Database, workspace: Workspace) -> None:
    call = {"type": "call_webhook", "uuid": uuid_of("call"), "method": "GET", "url": "http://example.org/"}
    flows = {"calling": [call], "quiet": [say("Hello")], "empty": []}
    uuids = {
        name: store_flow(database, workspace, definition(name, [node(f"{name} acts", actions)]))
        for name, actions in flows.items()
    }

    def entering(name: str) -> str:
        flow = {"uuid": uuids[name], "name": name}
        enter = {"type": "enter_flow", "uuid": uuid_of(f"enter {name}"), "flow": flow, "terminal": True}
        made = definition(f"to {name}", [node(f"to {name} acts", [say("On we go"), enter])])
        return store_flow(database, workspace, made)

    wanted = {uuids["calling"]: True, uuids["quiet"]: False, entering("calling"): True, entering("quiet"): False}
    assets = find(AssetCache(database), database, workspace)
    assert {uuid: assets.calls_out(uuid) for uuid in wanted} == wanted


def test_flows_that_enter_each_other_without_end_call_nobody(database: Database, workspace: Workspace) -> None:
    uuids = {name: uuid_of(f"flow {name}") for name in ("here", "there")}

    def store(name: str, other: str) -> str:
        flow = {"uuid": uuids[other], "name": other}
        enter = {"type": "enter_flow", "uuid": uuid_of(f"enter {other}"), "flow": flow, "terminal": True}
        return store_flow(database, workspace, definition(name, [node(f"{name} acts", [enter])]))

    made = [store("here", "there"), store("there", "here")]
    assert made == [*uuids.values()]
    assert [find(AssetCache(database), database, workspace).calls_out(uuid) for uuid in made] == [False, False]


def test_the_routing_nodes_of_a_flow_are_those_with_a_router(database: Database, workspace: Workspace) -> None:
    nodes = [node("greets", [say("Hello")], to="asks"), ask("asks", {}, None)]
    uuid = store_flow(database, workspace, definition("Asks", nodes))

    assert find(AssetCache(database), database, workspace).find_routing_nodes(uuid) == {uuid_of("asks")}


def test_a_flow_that_cannot_be_read_calls_nobody_and_has_no_routers(database: Database, workspace: Workspace) -> None:
    call = {"type": "call_webhook", "uuid": uuid_of("call"), "method": "GET"}
    uuid = store_flow(database, workspace, definition("broken", [node("acts", [call])]))
    assets = find(AssetCache(database), database, workspace)

    with pytest.raises(DefinitionError):
        assets.find_flow(uuid)
    assert (assets.calls_out(uuid), assets.find_routing_nodes(uuid)) == (False, frozenset())
    assert (assets.calls_out(uuid_of("nowhere")), assets.find_routing_nodes(uuid_of("nowhere"))) == (False, frozenset())
