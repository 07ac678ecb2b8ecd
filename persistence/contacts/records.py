"""Contacts as both generations show them: the records, the lists with their filters, and the filters of other lists by
contacts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Select, case, literal, literal_column, null, select, type_coerce

from flows.environment import in_whole_minutes
from flows.urns import Urn
from persistence.contacts.owners import find_urns, is_one_of, read_lookup
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.lists import (
    Condition,
    ListQuery,
    ListSpec,
    Rule,
    Values,
    equals,
    never,
    one_of,
    reversible,
    within,
)
from persistence.pages import Order
from persistence.records import WORKSPACE, Document, Record, Related, Shared, Shown, optional
from persistence.sql.columns import BigId, is_uuid
from persistence.sql.names import find_called, find_ids, name_key
from persistence.tables.contacts import (
    BLOCKED,
    STOPPED,
    SortName,
    contact,
    contact_urn,
    field,
    group,
    group_membership,
)
from persistence.tables.flows import FLOW_REF, flow

MASKED_PATH = "********"
SEEN_BY_AGENTS = field.c.agent_access != literal_column("'none'")

SIGNS = ("+", "-")
"""They stand there in `+00:44:30`, as offsets before standard time were stored once."""
Known = dict[str, tuple[str, str]]
"""The fields of a workspace by UUID: their key and type."""
FIRST_PHONE = (
    select(contact_urn.c.path)
    .where(contact_urn.c.contact_id == contact.c.id, contact_urn.c.scheme == "tel")
    .order_by(contact_urn.c.priority, contact_urn.c.id)
    .limit(1)
    .correlate(contact)
    .scalar_subquery()
)


def unless_deleted(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The value, null for a deleted contact."""
    return case((contact.c.is_deleted, null()), else_=value)


def status_flag(status: str) -> ColumnElement[Any]:
    """Whether a contact has this status; null for a deleted contact."""
    return type_coerce(unless_deleted(contact.c.status == status), Boolean)


def groups_of_contact(item: Record | ColumnElement[Any]) -> Shared:
    """The groups of a contact, the oldest first."""
    link = group_membership.c
    return Shared(link.contact_id, link.group_id, group.c.id, item, group.c.created_on, group.c.id)


def urns_of_contact(*, masked: bool) -> Related:
    """The URNs of a contact as a list of strings, the preferred one first."""
    path = literal(MASKED_PATH, literal_execute=True) if masked else contact_urn.c.path
    shown = contact_urn.c.scheme + literal_column("':'") + path
    return Related(contact_urn.c.contact_id, contact_urn, shown, contact_urn.c.priority, contact_urn.c.id)


def fields_of_contact(*, for_agent: bool = False) -> Document:
    """Every field of the workspace by key, and the part of the value that has the field's own type. The database would
    look up each field in each contact, which takes twenty times longer.
    """
    mine = [field.c.workspace_id == WORKSPACE, *([SEEN_BY_AGENTS] if for_agent else [])]
    known = select(field.c.uuid, field.c.key, field.c.type).where(*mine).order_by(field.c.id)
    return Document(unless_deleted(contact.c.fields), known, _show_fields)


def only_deleted(query: ListQuery) -> list[Condition]:
    """Deleted contacts are listed only with the parameter `deleted`, and then alone."""
    return [_ARE_DELETED if query.values.get("deleted") else _ARE_THERE]


_ARE_DELETED, _ARE_THERE = contact.c.is_deleted.is_(True), contact.c.is_deleted.is_(False)


def _show_fields(stored: Iterable[Any], rows: Iterable[Sequence[str]]) -> list[Shown]:
    known = {uuid: (key, kind) for uuid, key, kind in rows}
    nothing: dict[str, str | None] = dict.fromkeys(key for key, _ in known.values())
    return [{} if each is None else _show_values(each, known, nothing) for each in stored]


def _show_values(stored: Mapping[str, Mapping[str, str]], known: Known, nothing: dict[str, str | None]) -> Shown:
    shown = nothing.copy()
    for uuid, value in stored.items():
        try:
            name, kind = known[uuid]
        except KeyError:  # the field was deleted
            continue
        shown[name] = found = value.get(kind)
        if kind == "datetime" and found is not None and found[-9:-8] in SIGNS:
            shown[name] = in_whole_minutes(datetime.fromisoformat(found)).isoformat()
    return shown


def _build_record(*, masked: bool, for_agent: bool) -> Record:
    """Anonymous workspaces mask URNs."""
    return Record(
        {
            "uuid": contact.c.uuid,
            "name": contact.c.name,
            "status": unless_deleted(contact.c.status),
            "language": contact.c.language,
            "urns": urns_of_contact(masked=masked),
            "groups": groups_of_contact(Record({"uuid": group.c.uuid, "name": group.c.name})),
            "fields": fields_of_contact(for_agent=for_agent),
            "flow": optional(flow.c.id, FLOW_REF),
            "created_on": contact.c.created_on,
            "modified_on": contact.c.modified_on,
            "last_seen_on": contact.c.last_seen_on,
            "answers_stopped_on": contact.c.answers_stopped_on,
            "blocked": status_flag(BLOCKED),
            "stopped": status_flag(STOPPED),
        }
    )


CONTACT_RECORDS = {
    (masked, for_agent): _build_record(masked=masked, for_agent=for_agent)
    for masked in (False, True)
    for for_agent in (False, True)
}
"""By whether the workspace is anonymous and whether an agent asks."""


def _owns(query: ListQuery, text: str) -> Condition:
    urn = read_lookup(query.tx, query.workspace, text)
    return _own(query.workspace.id, urn.scheme, urn.path)


@lru_cache(maxsize=1000)
def _own(workspace_id: int, scheme: str, path: str) -> Condition:
    """Kept, because a client that looks up a URN mostly does so again."""
    rows = contact_urn.c
    mine = (rows.workspace_id == workspace_id) & (rows.scheme == scheme) & (rows.path == path)
    return contact.c.id == select(rows.contact_id).where(mine).scalar_subquery()


def _is_member(query: ListQuery, reference: str) -> Condition:
    group_ids = find_called(query.tx, query.workspace.id, group, reference)
    return of_members(query.workspace.id, contact.c.id, group_ids)


def _matching(query: ListQuery, text: str) -> Condition:
    # The query language and its scope are loaded only by those who search.
    from persistence.contacts.queries import match_query  # noqa: PLC0415

    return match_query(query.tx, query.workspace, text, "query", for_agent=query.is_agent)


def _record(query: ListQuery) -> Record:
    return CONTACT_RECORDS[query.workspace.is_anonymous, query.is_agent]


_BY_CHANGE = reversible(contact.c.modified_on, contact.c.id)
_BY_NAME = {is_reversed: Order(SortName(contact.c.name), contact.c.id, is_reversed) for is_reversed in (False, True)}


def _order_of(values: Values) -> Order:
    return _BY_NAME[bool(values.get("reverse"))] if values.get("sort") == "name" else _BY_CHANGE(values)


CONTACTS = ListSpec(
    contact,
    _record,
    _order_of,
    source=contact.outerjoin(flow, flow.c.id == contact.c.current_flow_id),
    standing=only_deleted,
    options=frozenset({"deleted", "reverse", "sort"}),
    is_followed=True,
    filters={
        "uuid": equals(contact.c.uuid),
        "urn": _owns,
        "group": _is_member,
        "query": _matching,
        **within(contact.c.modified_on),
    },
)


def select_owners(query: ListQuery, texts: Sequence[str], parameter: str) -> Select[int | None]:
    """The contacts who have one of these URNs; strings that are not URNs are left out. Raises Refused in an anonymous
    workspace.
    """
    refuse_addresses(query, parameter)
    # An unescaped `+` in a query string arrives as a space.
    wanted = [text.strip().replace(": ", ":+") for text in texts]
    urns = list(find_urns(query.tx, query.workspace, wanted).values())
    mine = (contact_urn.c.workspace_id == query.workspace.id) & contact_urn.c.contact_id.is_not(None)
    return select(contact_urn.c.contact_id).where(mine, is_one_of(urns))


def refuse_addresses(query: ListQuery, parameter: str) -> None:
    """Raises Refused in an anonymous workspace: even an empty list would tell who exists."""
    if query.workspace.is_anonymous:
        raise Refused(f"Parameter {parameter} cannot be used in an anonymous workspace.")


def in_groups(column: ColumnElement[Any]) -> Rule:
    """Records of the members of groups, given by UUID; the column contains a contact's id."""

    def rule(query: ListQuery, uuids: Sequence[str]) -> Condition:
        theirs = find_ids(query.tx, query.workspace.id, group, [uuid for uuid in uuids if is_uuid(uuid)])
        return of_members(query.workspace.id, column, sorted(theirs.values()))

    return rule


def of_members(workspace_id: int, column: ColumnElement[Any], group_ids: Sequence[int]) -> Condition:
    """Records of the members of these groups. The database is told which: it then knows how many members they have, and
    finds those of a small group by the group, those of a large one by the order of the list.
    """
    if not group_ids:
        return never(column)
    if len(group_ids) == 1:
        return _of_one(column, workspace_id, group_ids[0])
    return column.in_(_select_members(workspace_id, group_membership.c.group_id.in_(group_ids)))


@lru_cache(maxsize=1000)
def _of_one(column: ColumnElement[Any], workspace_id: int, group_id: int) -> Condition:
    """The group is part of the text: a prepared statement then has the plan for its size. A condition that is built
    anew would be compared with known ones anew, too."""
    is_theirs = group_membership.c.group_id == literal_column(str(group_id), BigId)
    return column.in_(_select_members(workspace_id, is_theirs))


def _select_members(workspace_id: int, is_theirs: ColumnElement[bool]) -> Select[int]:
    return select(group_membership.c.contact_id).where(group_membership.c.workspace_id == workspace_id, is_theirs)


def _build_record_v1(*, masked: bool) -> Record:
    return Record(
        {
            "uuid": contact.c.uuid,
            "name": contact.c.name,
            "language": contact.c.language,
            "group_uuids": groups_of_contact(group.c.uuid),
            "urns": [] if masked else urns_of_contact(masked=False),
            "fields": fields_of_contact(),
            "blocked": status_flag(BLOCKED),
            "failed": status_flag(STOPPED),
            "modified_on": contact.c.modified_on,
            "phone": None if masked else FIRST_PHONE,
            "groups": groups_of_contact(group.c.name),
        }
    )


def _of_addresses(query: ListQuery, texts: Sequence[str]) -> Condition:
    return contact.c.id.in_(select_owners(query, texts, "urns"))


CONTACTS_V1 = ListSpec(
    contact,
    _build_record_v1(masked=False),
    Order(contact.c.modified_on, contact.c.id),
    masked=_build_record_v1(masked=True),
    standing=only_deleted,
    options=frozenset({"deleted"}),
    filters={
        "uuid": one_of(contact.c.uuid),
        "urns": _of_addresses,
        "group_uuids": in_groups(contact.c.id),
        **within(contact.c.modified_on),
    },
)


def list_urns(tx: Transaction, workspace_id: int, contact_id: int) -> list[Urn]:
    """The URNs of a contact, the preferred one first."""
    rows = contact_urn.c
    statement = select(rows.scheme, rows.path, rows.display).where(
        rows.workspace_id == workspace_id, rows.contact_id == contact_id
    )
    found = tx.execute(statement.order_by(rows.priority, rows.id))
    return [Urn(row.scheme, row.path, display=row.display or "") for row in found]


def find_field_keys(tx: Transaction, workspace_id: int, names: Sequence[str]) -> dict[str, str]:
    """Field keys by the names in the request, each a key or, for older clients, a label in any case."""
    labels = {name: name_key(name.strip()) for name in names}
    statement = select(field.c.key, field.c.name_key).where(
        field.c.workspace_id == workspace_id,
        field.c.key.in_([name.lower() for name in names]) | field.c.name_key.in_(labels.values()),
    )
    rows = tx.execute(statement).all()
    by_key, by_label = {row.key for row in rows}, {row.name_key: row.key for row in rows}
    return {
        name: name.lower() if name.lower() in by_key else by_label.get(label, name) for name, label in labels.items()
    }
