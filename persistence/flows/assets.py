"""Everything in a workspace that flows refer to, as rows from which the flow engine's assets are built, and the caches
of workers between sprints; assets are read again when one of them has changed.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlalchemy import ColumnElement, Executable, Table, select

from channels.types import TYPES
from flows.asset_kinds import (
    KINDS,
    Asset,
    Channel,
    Classifier,
    Field,
    Global,
    Group,
    Label,
    Llm,
    Optin,
    Resthook,
    Template,
    TemplateComponent,
    TemplateTranslation,
    Ticketer,
    Topic,
    User,
)
from flows.definition import DefinitionError, Flow, load
from flows.definition.action_types import action_types
from flows.engine import Assets
from flows.places import Place, read_places
from persistence.boundaries import read_place_tree
from persistence.database import Database, Transaction
from persistence.deliveries.settings import IS_SUBSCRIBER_OFF, IS_SUBSCRIBER_PACED
from persistence.flows.writes import read_revision
from persistence.groups.groups import create_group
from persistence.labels import create_label
from persistence.sql.columns import columns_for
from persistence.statements import among, statement
from persistence.tables.accounts import membership, user
from persistence.tables.channels import channel
from persistence.tables.contacts import field, group, ticketer, topic
from persistence.tables.deliveries import resthook, resthook_subscriber
from persistence.tables.flows import flow
from persistence.tables.messages import label, optin, template, template_translation
from persistence.tables.service import classifier, global_value
from persistence.tickets.topics import create_topic
from persistence.users import USER_NAME
from persistence.workspaces.records import Workspace

APPROVED = "approved"
_translation = template_translation.c


@dataclass(frozen=True, slots=True)
class _StoredTranslation:
    """The columns of a template's translation."""

    locale: str
    content: str
    variable_count: int
    namespace: str


@statement
def _select_flows(workspace_id: int) -> Executable:
    columns = (flow.c.id, flow.c.uuid, flow.c.name, flow.c.definition_revision, flow.c.is_archived)
    return select(*columns).where(flow.c.workspace_id == workspace_id).order_by(flow.c.id)


@statement
def _select_channels(workspace_id: int) -> Executable:
    rows = channel.c
    return (
        select(rows.uuid, rows.name, rows.address, rows.schemes, rows.country, rows.type, rows.allow_international)
        .add_columns(rows.down_since.is_not(None).label("is_down"))
        .where(rows.workspace_id == workspace_id, rows.is_active)
        .order_by(rows.last_seen.asc().nulls_first(), rows.id)
    )


@statement
def _select_resthooks(workspace_id: int) -> Executable:
    of_it = resthook_subscriber.c.resthook_id == resthook.c.id
    return (
        select(resthook.c.slug, resthook_subscriber.c.target_url)
        .select_from(resthook)
        .outerjoin(resthook_subscriber, of_it & ~IS_SUBSCRIBER_OFF & ~IS_SUBSCRIBER_PACED)
        .where(resthook.c.workspace_id == workspace_id)
        .order_by(resthook.c.id, resthook_subscriber.c.id)
    )


@statement
def _select_templates(workspace_id: int) -> Executable:
    columns = columns_for(_StoredTranslation, template_translation)
    return (
        select(template.c.uuid, template.c.name, channel.c.uuid, *columns)
        .join(template_translation, _translation.template_id == template.c.id)
        .join(channel, (channel.c.id == _translation.channel_id) & (channel.c.workspace_id == template.c.workspace_id))
        .where(template.c.workspace_id == workspace_id, _translation.status == APPROVED)
        .order_by(template.c.id, _translation.id)
    )


@statement
def _select_users(workspace_id: int) -> Executable:
    return (
        select(user.c.uuid, USER_NAME, user.c.email)
        .join(membership, membership.c.user_id == user.c.id)
        .where(membership.c.workspace_id == workspace_id, user.c.is_active)
        .order_by(user.c.id)
    )


@dataclass(frozen=True, slots=True)
class StoredFlow:
    """A stored flow, without its definition."""

    id: int
    uuid: str
    name: str
    revision: int
    is_archived: bool


@dataclass(frozen=True, slots=True)
class AssetRows:
    """The assets of a workspace at one time, by the plural of their kind; equal rows mean equal assets."""

    lists: Mapping[str, Sequence[Asset]]
    flows: Sequence[StoredFlow]


def load_asset_rows(tx: Transaction, workspace_id: int) -> AssetRows:
    """The assets of a workspace; a constant number of statements."""
    lists = {KINDS[name].plural: stored.load(tx, workspace_id) for name, stored in STORED.items()}
    return AssetRows(lists, [StoredFlow(*row) for row in _select_flows.rows(tx, workspace_id)])


def load_contact_assets(
    tx: Transaction, workspace: Workspace, *, with_places: bool = True, with_tickets: bool = True
) -> Assets:
    """The part of a workspace's assets that texts for contacts use; three statements, two more for boundaries or
    tickets. Groups are not included, because contacts contain the names of their groups.
    """
    tree = read_place_tree(tx, workspace) if with_places else None
    kinds = ("channel", "field", "global", *(("topic", "user") if with_tickets else ()))
    lists = {KINDS[kind].plural: STORED[kind].load(tx, workspace.id) for kind in kinds}
    return Assets(lists, places=None if tree is None else read_places(tree))


class StoredAssets(Assets):
    """All assets of a workspace, with more channels, for sprints inside of one unit of work, in which flows are read
    when they are first used. The flow `unsaved` stands in the place of the stored one.
    """

    def __init__(
        self, tx: Transaction, workspace: Workspace, channels: Sequence[Channel], unsaved: Flow | None
    ) -> None:
        rows = load_asset_rows(tx, workspace.id)
        tree = read_place_tree(tx, workspace)
        lists = {**rows.lists, "channels": [*rows.lists["channels"], *channels]}
        super().__init__(lists, places=None if tree is None else read_places(tree))
        self._tx = tx
        self._workspace_id = workspace.id
        self._stored = {each.uuid: each for each in rows.flows}
        self._read: dict[str, Flow] = {} if unsaved is None else {unsaved.uuid: unsaved}

    def find_flow(self, uuid: str) -> Flow | None:
        """The newest revision of a flow; None if it does not exist or is archived. Raises DefinitionError."""
        stored = self._stored.get(uuid)
        if uuid not in self._read and stored is not None and not stored.is_archived:
            self._read[uuid] = load(read_revision(self._tx, self._workspace_id, stored.id, stored.revision))
        return self._read.get(uuid)

    def find_flow_uuid_by_name(self, name: str) -> str | None:
        """The UUID of the flow with that name, ignoring case."""
        wanted = name.lower()
        return next((each.uuid for each in self._stored.values() if each.name.lower() == wanted), None)

    def find_llm(self, reference: Mapping[str, Any]) -> Llm | None:
        """A model for every name, because flows contain names of other servers."""
        return Llm(str(reference.get("uuid", "")), str(reference.get("name", "")))


Load = Callable[[Transaction, int], Sequence[Asset]]


def load_plain(record: type[Asset], table: Table, *conditions: ColumnElement[bool]) -> Load:
    """Returns a loader that reads the columns named like the record's fields."""
    names = [each.name for each in fields(record)]

    @statement
    def select_records(workspace_id: int) -> Executable:
        mine = select(*(table.c[name] for name in names)).where(table.c.workspace_id == workspace_id, *conditions)
        return mine.order_by(table.c.id)

    def load(tx: Transaction, workspace_id: int) -> list[Asset]:
        rows = select_records.rows(tx, workspace_id)
        return [record.from_json(dict(zip(names, row, strict=True))) for row in rows]

    return load


def _load_channels(tx: Transaction, workspace_id: int) -> list[Channel]:
    """Active channels. If several are possible, the engine takes the last for phone numbers and the first for all else:
    so this is the most recently seen."""
    for_phones: list[Channel] = []
    for_others: list[Channel] = []
    for uuid, name, address, schemes, country, kind, may, is_down in _select_channels.rows(tx, workspace_id):
        found = for_phones if "tel" in schemes else for_others
        texts = (uuid, name or address or "", address or "")
        made = Channel(*texts, tuple(schemes), TYPES[kind].roles, country or "", is_down=bool(is_down))
        found.append(replace(made, allow_international=may in (None, True)))
    return [*for_others[::-1], *for_phones]


def _load_resthooks(tx: Transaction, workspace_id: int) -> list[Resthook]:
    found: dict[str, list[str]] = {}
    for slug, url in _select_resthooks.rows(tx, workspace_id):
        urls = found.setdefault(slug, [])
        if url and url not in urls:
            urls.append(url)
    return [Resthook(slug, tuple(urls)) for slug, urls in found.items()]


def _load_templates(tx: Transaction, workspace_id: int) -> list[Template]:
    found: dict[tuple[str, str], list[TemplateTranslation]] = {}
    for uuid, name, channel_uuid, *stored in _select_templates.rows(tx, workspace_id):
        row = _StoredTranslation(*stored)
        numbers = {str(number): number - 1 for number in range(1, row.variable_count + 1)}
        body = TemplateComponent("body", "body/text", row.content, numbers)
        translation = TemplateTranslation(
            channel_uuid, row.locale, (body,), ("text",) * row.variable_count, row.namespace
        )
        found.setdefault((uuid, name), []).append(translation)
    return [Template(uuid, name, tuple(translations)) for (uuid, name), translations in found.items()]


def _load_users(tx: Transaction, workspace_id: int) -> list[User]:
    rows = _select_users.rows(tx, workspace_id)
    return [User(uuid, name.strip(), email) for uuid, name, email in rows]


@dataclass(frozen=True, slots=True)
class StoredKind:
    """How a kind of assets is stored: its table, how the engine loads it, and how an import creates what is missing.
    `make` gets the workspace's id and a name; without it an import creates none of this kind by name.
    """

    table: Table
    load: Load
    make: Callable[[Transaction, int, str], int] | None = None


STORED: dict[str, StoredKind] = {
    "channel": StoredKind(channel, _load_channels),
    "classifier": StoredKind(classifier, load_plain(Classifier, classifier)),
    "field": StoredKind(field, load_plain(Field, field)),
    "global": StoredKind(global_value, load_plain(Global, global_value)),
    "group": StoredKind(group, load_plain(Group, group, ~group.c.is_system), create_group),
    "label": StoredKind(label, load_plain(Label, label), create_label),
    "optin": StoredKind(optin, load_plain(Optin, optin)),
    "resthook": StoredKind(resthook, _load_resthooks),
    "template": StoredKind(template, _load_templates),
    "ticketer": StoredKind(ticketer, load_plain(Ticketer, ticketer)),
    "topic": StoredKind(topic, load_plain(Topic, topic), create_topic),
    "user": StoredKind(user, _load_users),
}
"""By the name of the kind in references. Flows are read when they are first used."""


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


def find_archived(tx: Transaction, workspace_id: int, flow_ids: Collection[int]) -> set[int]:
    """Those of these flows that are archived. All are locked, as by a run that is stored: a transaction that archives
    one of them waits, or has ended."""
    if not flow_ids:
        return set()
    rows = _lock_flows.rows(tx, workspace_id, sorted(flow_ids))
    return {flow_id for flow_id, is_archived in rows if is_archived}


@statement
def _lock_flows(workspace_id: int, flow_ids: Sequence[int]) -> Executable:
    mine = (flow.c.workspace_id == workspace_id) & among(flow.c.id, flow_ids)
    held = select(flow.c.id, flow.c.is_archived).where(mine).order_by(flow.c.id)
    return held.with_for_update(read=True, key_share=True)
