"""Contacts as v2 shows them: the record, and the list with its filters."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Boolean, ColumnElement, Select, case, literal, literal_column, null, select, type_coerce

from flows.moments import in_whole_minutes
from persistence.contacts.addresses import read_lookup
from persistence.contacts.filters import of_members
from persistence.lists import Condition, ListQuery, ListSpec, equals, reversible, within
from persistence.sql.json_sql import (
    declare_record,
    json_record,
    json_record_or_null,
    json_related,
    json_shared,
    json_shown,
)
from persistence.sql.kept_statements import execute_kept
from persistence.sql.names import find_called
from persistence.sql.record_forms import Gathered, read_pairs
from persistence.tables.contacts import BLOCKED, STOPPED, contact, contact_urn, field, group, group_membership
from persistence.tables.flows import FLOW_REF, flow

MASKED_PATH = "********"
SEEN_BY_AGENTS = field.c.agent_access != literal_column("'none'")


def unless_deleted(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """The value, null for a deleted contact."""
    return case((contact.c.is_deleted, null()), else_=value)


def status_flag(status: str) -> ColumnElement[Any]:
    """Whether a contact has this status; null for a deleted contact."""
    return type_coerce(unless_deleted(contact.c.status == status), Boolean)


GROUPS_OF_CONTACT = json_shared(
    contact.c.id,
    *(group_membership.c.contact_id, group_membership.c.group_id, group.c.id),
    json_record({"uuid": group.c.uuid, "name": group.c.name}),
    *(group.c.created_on, group.c.id),
)

CURRENT_FLOW = (
    select(json_record(FLOW_REF)).where(flow.c.id == contact.c.current_flow_id).correlate(contact).scalar_subquery()
)
"""The flow in which a contact waits, or null."""


def urns_of_contact(*, masked: bool) -> ColumnElement[Any]:
    """The URNs of a contact as a list of strings, the preferred one first."""
    path = literal(MASKED_PATH, literal_execute=True) if masked else contact_urn.c.path
    return json_related(
        contact.c.id,
        contact_urn.c.contact_id,
        contact_urn,
        contact_urn.c.scheme + literal_column("':'") + path,
        *(contact_urn.c.priority, contact_urn.c.id),
    )


SIGNS = ("+", "-")
"""They stand there in `+00:44:30`, as offsets before standard time were stored once."""
Known = dict[str, tuple[str, str]]
"""The fields of a workspace by UUID: their key and type."""


def fields_of_contact(*, for_agent: bool = False) -> ColumnElement[Any]:
    """Every field of the workspace by key, and the part of the value that has the field's own type. The database would
    look up each field in each contact, which takes twenty times longer: it has the values as they are stored, and what
    it wrote itself is changed by `show_fields`.
    """

    def list_known(workspace_id: ColumnElement[int]) -> ColumnElement[Any]:
        mine = [field.c.workspace_id == workspace_id, *([SEEN_BY_AGENTS] if for_agent else [])]
        known = select(Gathered(field.c.uuid, field.c.key + literal_column("':'") + field.c.type, field.c.id))
        return known.where(*mine).scalar_subquery()

    return json_shown(unless_deleted(contact.c.fields), list_known, _show_gathered)


def _show_gathered(stored: Sequence[str | None], help: str | None) -> list[str]:
    known = {uuid: tuple(orjson.loads(item).split(":")) for uuid, item in read_pairs(help)}
    return _show_all(stored, known)


def _show_all(stored: Sequence[str | None], known: Known) -> list[str]:
    nothing: dict[str, str | None] = dict.fromkeys(key for key, _ in known.values())
    return [_show_values(values, known, nothing) for values in orjson.loads(f"[{','.join(map(_or_null, stored))}]")]


def _or_null(document: str | None) -> str:
    return document or "null"


def _show_values(stored: Mapping[str, Mapping[str, str]] | None, known: Known, nothing: dict[str, str | None]) -> str:
    if stored is None:
        return "{}"
    shown = nothing.copy()
    for uuid, value in stored.items():
        try:
            name, kind = known[uuid]
        except KeyError:  # the field was deleted
            continue
        shown[name] = found = value.get(kind)
        if kind == "datetime" and found is not None and found[-9:-8] in SIGNS:
            shown[name] = in_whole_minutes(datetime.fromisoformat(found)).isoformat()
    return orjson.dumps(shown).decode()


def show_fields(
    query: ListQuery, records: list[str], *, following: str = "blocked", for_agent: bool = False
) -> list[str]:
    """Records that the database wrote, with their fields as people see them. `following` is the key of the record after
    its fields.
    """
    if not records:
        return records
    conditions = [field.c.workspace_id == query.workspace.id, *([SEEN_BY_AGENTS] if for_agent else [])]

    def build() -> Select[*tuple[Any, ...]]:
        return select(field.c.uuid, field.c.key, field.c.type).where(*conditions).order_by(field.c.id)

    rows = execute_kept(query.tx, (field,), (), conditions, build, {}, is_even=True)
    known = {str(uuid): (key, kind) for uuid, key, kind in rows}
    # Quotes inside of texts are escaped, so these are keys of the record, or of fields, which are UUIDs.
    begun = [record.partition(',"fields":') for record in records]
    ended = [rest.partition(f',"{following}":') for _, _, rest in begun]
    shown = _show_all([stored for stored, _, _ in ended], known)
    parts = zip(begun, shown, ended, strict=True)
    return [f"{before}{key}{fields}{after}{end}" for (before, key, _), fields, (_, after, end) in parts]


def _finish(query: ListQuery, records: list[str]) -> list[str]:
    """Fields that agents may not see are left out for them."""
    return show_fields(query, records, following="flow", for_agent=query.is_agent)


def _build_record(*, masked: bool, for_agent: bool) -> ColumnElement[Any]:
    """Anonymous workspaces mask URNs."""
    return declare_record(
        {
            "uuid": contact.c.uuid,
            "name": contact.c.name,
            "status": unless_deleted(contact.c.status),
            "language": contact.c.language,
            "urns": urns_of_contact(masked=masked),
            "groups": GROUPS_OF_CONTACT,
            "fields": fields_of_contact(for_agent=for_agent),
            "flow": json_record_or_null(flow.c.id, FLOW_REF),
            "created_on": contact.c.created_on,
            "modified_on": contact.c.modified_on,
            "last_seen_on": contact.c.last_seen_on,
            "answers_stopped_on": contact.c.answers_stopped_on,
            "blocked": status_flag(BLOCKED),
            "stopped": status_flag(STOPPED),
        }
    )


def only_deleted(query: ListQuery) -> list[Condition]:
    """Deleted contacts are listed only with the parameter `deleted`, and then alone."""
    return [contact.c.is_deleted.is_(query.values.get("deleted", False))]


def _owns(query: ListQuery, text: str) -> Condition:
    urn = read_lookup(query.tx, query.workspace, text)
    rows = contact_urn.c
    mine = (rows.workspace_id == query.workspace.id) & (rows.scheme == urn.scheme) & (rows.path == urn.path)
    return contact.c.id == select(rows.contact_id).where(mine).scalar_subquery()


def _is_member(query: ListQuery, reference: str) -> Condition:
    group_ids = find_called(query.tx, query.workspace.id, group, reference)
    return of_members(query.workspace.id, contact.c.id, group_ids)


def _matching(query: ListQuery, text: str) -> Condition:
    # The query language and its scope are loaded only by those who search.
    from persistence.contacts.query_scope import match_query  # noqa: PLC0415

    return match_query(query.tx, query.workspace, text, "query", for_agent=query.is_agent)


CONTACT_RECORDS = {
    (masked, for_agent): _build_record(masked=masked, for_agent=for_agent)
    for masked in (False, True)
    for for_agent in (False, True)
}
"""By whether the workspace is anonymous and whether an agent asks."""


def _record(query: ListQuery) -> ColumnElement[Any]:
    return CONTACT_RECORDS[query.workspace.is_anonymous, query.is_agent]


CONTACTS = ListSpec(
    contact,
    _record,
    reversible(contact.c.modified_on, contact.c.id),
    source=contact.outerjoin(flow, flow.c.id == contact.c.current_flow_id),
    finish=_finish,
    standing=only_deleted,
    options=frozenset({"deleted", "reverse"}),
    is_read_at_once=True,
    is_followed=True,
    filters={
        "uuid": equals(contact.c.uuid),
        "urn": _owns,
        "group": _is_member,
        "query": _matching,
        **within(contact.c.modified_on),
    },
)
