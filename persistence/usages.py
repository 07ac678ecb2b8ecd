"""Which records use a record: what a deletion would break, and what goes with it. The refusals of deletions and
`usages.json` read the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Table, func, literal, or_, select, union_all

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.columns import is_uuid
from persistence.sql.names import name_some
from persistence.tables.campaigns import campaign, campaign_event, trigger, trigger_group
from persistence.tables.channels import channel
from persistence.tables.contacts import field, group, team, team_topic, topic
from persistence.tables.flows import flow, flow_draft
from persistence.tables.messages import broadcast, broadcast_group, label
from persistence.tables.service import global_value

CAMPAIGN, TRIGGER, FLOW, GROUP, BROADCAST, TEAM = "campaign", "trigger", "flow", "group", "broadcast", "team"
"""The types of records that use others."""
DEFINITION, EVENT, QUERY, CONTACTS, EXCLUDED = "definition", "event", "query", "contacts", "excluded"
CONDITION, START, DRAFT, TICKETS = "condition", "start", "draft", "tickets"
"""How they do: in a flow's definition or its newest draft, in events of a campaign, in a group's query, for their
contacts or for those that are left out, as a condition of a trigger, as what a trigger starts, and as that whose
tickets are a team's."""
NAME_LENGTH = 64


class Usage(NamedTuple):
    """A record that uses another. The name of a trigger is made of its type and keywords, that of a broadcast is the
    beginning of its text; `flow` is the name of what a trigger starts."""

    type: str
    uuid: str
    name: str
    how: str
    is_archived: bool = False
    flow: str | None = None

    @property
    def told(self) -> str:
        """As sentences name it."""
        if self.type == TRIGGER:
            return f'the {self.name} of the flow "{self.flow}"'
        return f'the draft of the flow "{self.name}"' if self.how == DRAFT else f'the {self.type} "{self.name}"'

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "uuid": self.uuid,
            "name": self.name,
            "how": self.how,
            "archived": self.is_archived,
            "flow": self.flow,
        }


class Used(NamedTuple):
    """The record that is asked for, by the reference that others have of it: its UUID or key."""

    workspace_id: int
    kind: str
    id: int
    reference: str


def list_usages(tx: Transaction, workspace_id: int, kind: str, reference: str) -> list[Usage]:
    """The records that use the one of a kind of KINDS with this UUID or key, also archived ones, by type and name. One
    statement for each type. Raises RecordMissing."""
    table, finds = KINDS[kind]
    if kind not in BY_KEY:
        reference = reference.lower()
    identity = table.c.key if kind in BY_KEY else table.c.uuid
    mine = (table.c.workspace_id == workspace_id) & (identity == reference)
    is_possible = kind in BY_KEY or is_uuid(reference)
    found = tx.execute(select(table.c.id).where(mine)).scalar_one_or_none() if is_possible else None
    if found is None:
        raise RecordMissing
    used = Used(workspace_id, kind, found, reference)
    users = {usage for find in finds for usage in find(tx, used)}
    return sorted(users, key=lambda each: (each.type, each.name.lower(), each.uuid, each.how))


def find_kind(tx: Transaction, workspace_id: int, record: str) -> tuple[str, str]:
    """The kind of a record and its reference there. A field or global is named as in expressions, `fields.due_date`,
    everything else by its UUID. Raises RecordMissing."""
    for kind in BY_KEY:
        if record.startswith(f"{kind}s."):
            return kind, record.partition(".")[2]
    if not is_uuid(record):
        raise RecordMissing
    tables = {kind: table for kind, (table, _) in KINDS.items() if kind not in BY_KEY}
    parts = [
        select(literal(kind)).where(table.c.workspace_id == workspace_id, table.c.uuid == record.lower())
        for kind, table in tables.items()
    ]
    found = tx.execute(union_all(*parts)).scalar_one_or_none()
    if found is None:
        raise RecordMissing
    return found, record


def tell_living(usages: Sequence[Usage], *types: str) -> str:
    """Those of some types that are not archived, in a sentence; empty if there are none."""
    living = [each.told for each in usages if each.type in types and not each.is_archived]
    return name_some(living) if living else ""


def names_field(query: str | None, key: str) -> bool:
    """Whether a query names a field, even if the field does not exist or its type no longer matches."""
    from flows.environment import Environment  # noqa: PLC0415  # it takes longer to load than most commands to run
    from flows.queries import QueryError, inspect, parse_query  # noqa: PLC0415  # see above

    try:
        return any(used == key for used, _ in inspect(parse_query(query or "", Environment())).fields)
    except QueryError:
        return False


def _in_definitions(tx: Transaction, used: Used) -> Iterator[Usage]:
    columns = (flow.c.uuid, flow.c.name, flow.c.is_archived, flow.c.dependencies)
    rows = tx.execute(select(*columns).where(flow.c.workspace_id == used.workspace_id))
    for uuid, name, is_archived, dependencies in rows:
        if _names(dependencies, used):
            yield Usage(FLOW, uuid, name, DEFINITION, is_archived)


def _in_drafts(tx: Transaction, used: Used) -> Iterator[Usage]:
    """The newest draft of each flow counts."""
    rows = flow_draft.c
    newest = select(func.max(rows.id)).where(rows.workspace_id == used.workspace_id).group_by(rows.flow_id)
    columns = (flow.c.uuid, flow.c.name, flow.c.is_archived, rows.dependencies)
    of_it = (flow.c.id == rows.flow_id) & (flow.c.workspace_id == rows.workspace_id)
    found = select(*columns).select_from(flow_draft.join(flow, of_it))
    mine = (rows.workspace_id == used.workspace_id) & rows.id.in_(newest)
    for uuid, name, is_archived, dependencies in tx.execute(found.where(mine)):
        if _names(dependencies, used):
            yield Usage(FLOW, uuid, name, DRAFT, is_archived)


def _names(dependencies: Sequence[Mapping[str, Any]], used: Used) -> bool:
    identity = "key" if used.kind in BY_KEY else "uuid"
    return any((each["type"], each.get(identity)) == (used.kind, used.reference) for each in dependencies)


def _campaigns(tx: Transaction, used: Used, how: str, condition: ColumnElement[bool]) -> Iterator[Usage]:
    mine = (campaign.c.workspace_id == used.workspace_id) & condition
    for uuid, name, is_archived in tx.execute(
        select(campaign.c.uuid, campaign.c.name, campaign.c.is_archived).where(mine)
    ):
        yield Usage(CAMPAIGN, uuid, name, how, is_archived)


def _events_of(used: Used, condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Whether a campaign has events that meet a condition."""
    mine = (campaign_event.c.workspace_id == used.workspace_id) & ~campaign_event.c.is_deleted
    return campaign.c.id.in_(select(campaign_event.c.campaign_id).where(mine, condition))


def _campaigns_of_group(tx: Transaction, used: Used) -> Iterator[Usage]:
    return _campaigns(tx, used, CONTACTS, campaign.c.group_id == used.id)


def _campaigns_by_field(tx: Transaction, used: Used) -> Iterator[Usage]:
    return _campaigns(tx, used, EVENT, _events_of(used, campaign_event.c.relative_to == used.reference))


def _campaigns_by_flow(tx: Transaction, used: Used) -> Iterator[Usage]:
    return _campaigns(tx, used, EVENT, _events_of(used, campaign_event.c.flow_id == used.id))


def _groups_by_query(tx: Transaction, used: Used) -> Iterator[Usage]:
    mine = (group.c.workspace_id == used.workspace_id) & group.c.query.is_not(None)
    for uuid, name, query in tx.execute(select(group.c.uuid, group.c.name, group.c.query).where(mine)):
        if names_field(query, used.reference):
            yield Usage(GROUP, uuid, name, QUERY)


def _triggers(
    tx: Transaction,
    used: Used,
    how: str,
    condition: ColumnElement[bool],
    rows: FromClause = trigger,
) -> Iterator[Usage]:
    columns = (trigger.c.uuid, trigger.c.type, trigger.c.keywords, trigger.c.is_archived, flow.c.name)
    found = select(*columns).select_from(rows.join(flow, flow.c.id == trigger.c.flow_id))
    for uuid, kind, keywords, is_archived, started in tx.execute(
        found.where(trigger.c.workspace_id == used.workspace_id, condition)
    ):
        word = f' "{keywords[0]}"' if keywords else ""
        yield Usage(TRIGGER, uuid, f"{kind} trigger{word}", how, is_archived, started)


def _triggers_of_group(tx: Transaction, used: Used) -> Iterator[Usage]:
    rows = trigger.join(trigger_group, trigger_group.c.trigger_id == trigger.c.id)
    mine = trigger_group.c.group_id == used.id
    yield from _triggers(tx, used, CONTACTS, mine & ~trigger_group.c.is_excluded, rows)
    yield from _triggers(tx, used, EXCLUDED, mine & trigger_group.c.is_excluded, rows)


def _triggers_of_flow(tx: Transaction, used: Used) -> Iterator[Usage]:
    return _triggers(tx, used, START, trigger.c.flow_id == used.id)


def _triggers_of_channel(tx: Transaction, used: Used) -> Iterator[Usage]:
    return _triggers(tx, used, CONDITION, trigger.c.channel_id == used.id)


def _waiting_for_group(tx: Transaction, used: Used) -> Iterator[Usage]:
    from persistence.broadcasts.records import IS_DRAFT, WAITS  # noqa: PLC0415  # they load groups, whose deletion asks here

    links = broadcast_group.c
    columns = (broadcast.c.uuid, broadcast.c.text, broadcast.c.base_language, links.is_excluded)
    rows = select(*columns).join(broadcast_group, links.broadcast_id == broadcast.c.id)
    mine = (broadcast.c.workspace_id == used.workspace_id) & (links.group_id == used.id)
    for uuid, text, language, is_excluded in tx.execute(rows.where(mine, or_(WAITS, IS_DRAFT))):
        name = (text.get(language) or "")[:NAME_LENGTH]
        yield Usage(BROADCAST, uuid, name, EXCLUDED if is_excluded else CONTACTS)


def _team_of_topic(tx: Transaction, used: Used) -> Iterator[Usage]:
    links = team_topic.c
    rows = select(team.c.uuid, team.c.name).join(team_topic, links.team_id == team.c.id)
    mine = (links.workspace_id == used.workspace_id) & (links.topic_id == used.id)
    for uuid, name in tx.execute(rows.where(mine)):
        yield Usage(TEAM, uuid, name, TICKETS)


Find = Callable[[Transaction, Used], Iterator[Usage]]
KINDS: Mapping[str, tuple[Table, Sequence[Find]]] = {
    "group": (group, (_campaigns_of_group, _triggers_of_group, _waiting_for_group, _in_definitions, _in_drafts)),
    "field": (field, (_campaigns_by_field, _groups_by_query, _in_definitions, _in_drafts)),
    "label": (label, (_in_definitions, _in_drafts)),
    "topic": (topic, (_team_of_topic, _in_definitions, _in_drafts)),
    "global": (global_value, (_in_definitions, _in_drafts)),
    "flow": (flow, (_campaigns_by_flow, _triggers_of_flow, _in_definitions, _in_drafts)),
    "channel": (channel, (_triggers_of_channel, _in_definitions, _in_drafts)),
}
"""The kinds of records that others use, and how those are found."""
BY_KEY = frozenset({"field", "global"})
