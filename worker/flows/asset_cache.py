"""Caches the assets of workspaces between sprints; they are read again when one of them has changed."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from flows.asset_kinds import Field, Llm
from flows.definition import DefinitionError, Flow, load
from flows.definition.action_types import action_types
from flows.engine import Assets
from flows.places import Place, read_places
from persistence.boundaries import read_place_tree
from persistence.database import Database, Transaction
from persistence.flows.assets import AssetRows, StoredFlow, load_asset_rows
from persistence.flows.writes import read_revision
from persistence.workspaces.records import Workspace

WORKSPACES_KEPT = 64
FLOWS_KEPT = 1024
PLACES_KEPT_SECONDS = 60
ENTER_FLOW = "enter_flow"
PLACE_TYPES = ("state", "district", "ward")


class DatabaseAssets(Assets):
    """Assets of a workspace whose flows are read from the database when first used. A flow is read in a separate
    transaction and never changes: a new revision is a new flow.
    """

    def __init__(self, rows: AssetRows, places: Place | None, cache: "AssetCache", workspace_id: int) -> None:
        super().__init__(rows.lists, places=places)
        self._cache = cache
        self._workspace_id = workspace_id
        self._routing_nodes: dict[str, frozenset[str]] = {}
        self._calling: dict[str, bool] = {}
        self.stored_flows = {each.uuid: each for each in rows.flows}
        self.flow_ids = {each.uuid: each.id for each in rows.flows}

    def find_flow(self, uuid: str) -> Flow | None:
        """The newest revision of a flow; None if it does not exist or is archived. Raises DefinitionError."""
        stored = self.stored_flows.get(uuid)
        return None if stored is None or stored.is_archived else self._cache.find_flow(self._workspace_id, stored)

    def find_llm(self, reference: Mapping[str, Any]) -> Llm | None:
        """Returns the model of the settings for every name, because flows contain names of other servers."""
        return Llm(str(reference.get("uuid", "")), str(reference.get("name", "")))

    def find_routing_nodes(self, uuid: str) -> frozenset[str]:
        """The nodes of a flow that have a router; none if the flow cannot be read."""
        if uuid not in self._routing_nodes:
            self._routing_nodes[uuid] = self._read_routing_nodes(uuid)
        return self._routing_nodes[uuid]

    def calls_out(self, uuid: str) -> bool:
        """Whether a flow, or a flow that it enters, has an action that calls another system."""
        if uuid not in self._calling:
            self._calling[uuid] = self._find_calls(uuid, set())
        return self._calling[uuid]

    def _find_calls(self, uuid: str, seen: set[str]) -> bool:
        if uuid in seen:
            return False
        seen.add(uuid)
        try:
            flow = self.find_flow(uuid)
        except DefinitionError:
            return False
        return flow is not None and any(
            action_types()[action.type].calls_out
            or (action.type == ENTER_FLOW and self._find_calls(str(action.fields["flow"]["uuid"]), seen))
            for node in flow.nodes
            for action in node.actions
        )

    def _read_routing_nodes(self, uuid: str) -> frozenset[str]:
        stored = self.stored_flows.get(uuid)
        try:
            flow = None if stored is None else self._cache.find_flow(self._workspace_id, stored)
        except DefinitionError:
            return frozenset()
        return frozenset(node.uuid for node in (() if flow is None else flow.nodes) if node.router is not None)

    def find_flow_uuid_by_name(self, name: str) -> str | None:
        """The UUID of the flow with that name, ignoring case; its definition is not read."""
        wanted = name.lower()
        return next((each.uuid for each in self.stored_flows.values() if each.name.lower() == wanted), None)


class AssetCache:
    """The assets of workspaces, shared by the threads of a worker."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._assets: OrderedDict[int, tuple[Any, DatabaseAssets]] = OrderedDict()
        self._flows: OrderedDict[tuple[int, int], Flow] = OrderedDict()
        self._places: dict[int, tuple[float, Place | None]] = {}

    def find_assets(self, tx: Transaction, workspace: Workspace) -> DatabaseAssets:
        """The current assets of a workspace; the same object as before if none of them has changed."""
        rows = load_asset_rows(tx, workspace.id)
        has_places = any(isinstance(each, Field) and each.type in PLACE_TYPES for each in rows.lists["fields"])
        places = self._find_places(tx, workspace) if has_places else None
        state = (rows, id(places))
        with self._lock:
            kept = self._assets.get(workspace.id)
            if kept is not None and kept[0] == state:
                self._assets.move_to_end(workspace.id)
                return kept[1]
            made = DatabaseAssets(rows, places, self, workspace.id)
            _keep(self._assets, workspace.id, (state, made), WORKSPACES_KEPT)
            return made

    def find_flow(self, workspace_id: int, stored: StoredFlow) -> Flow:
        """A revision of a flow, read and migrated once. Raises DefinitionError."""
        key = (stored.id, stored.revision)
        with self._lock:
            known = self._flows.get(key)
        if known is not None:
            return known
        with self._database.reading() as tx:
            definition = read_revision(tx, workspace_id, stored.id, stored.revision)
        read = load(definition)
        with self._lock:
            _keep(self._flows, key, read, FLOWS_KEPT)
        return read

    def _find_places(self, tx: Transaction, workspace: Workspace) -> Place | None:
        # Thousands of rows that rarely change: they may be a minute old.
        now = tx.now.timestamp()
        with self._lock:
            kept = self._places.get(workspace.id)
        if kept is not None and 0 <= now - kept[0] < PLACES_KEPT_SECONDS:
            return kept[1]
        tree = read_place_tree(tx, workspace)
        places = None if tree is None else read_places(tree)
        with self._lock:
            self._places[workspace.id] = (now, places)
        return places


def _keep(cache: OrderedDict[Any, Any], key: object, value: object, limit: int) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > limit:
        cache.popitem(last=False)
