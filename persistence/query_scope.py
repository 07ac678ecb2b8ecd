"""What contact queries of a workspace may name, read from the database."""

from collections.abc import Callable, Mapping
from typing import cast

from sqlalchemy import false, select
from sqlalchemy.sql.elements import ColumnElement

from flows.queries import FieldReference, ListResolver, NamedReference
from flows.queries.properties import ValueType
from persistence.contact_queries import SearchScope
from persistence.contact_values import FixedClock, environment_of
from persistence.database import Transaction
from persistence.fields import field
from persistence.groups import group
from persistence.workspaces import Workspace


def _read_no_reference(text: str) -> int | None:
    return None


def _find_no_history(flow_id: int | None) -> ColumnElement[bool]:
    return false()


def open_scope(
    tx: Transaction,
    workspace: Workspace,
    *,
    flows: Mapping[str, tuple[int, str]] | None = None,
    find_history: Callable[[int | None], ColumnElement[bool]] = _find_no_history,
    read_reference: Callable[[str], int | None] = _read_no_reference,
) -> SearchScope:
    """The scope of a workspace's queries; its resolver is also what they are parsed with.

    `flows` gives the id and uuid of each flow by its name; `find_history` the condition that a contact was in one of
    them, and `read_reference` the id behind a contact's short reference, where the caller knows such things.
    """
    flows = flows or {}
    resolver = ListResolver.of(
        _read_fields(tx, workspace.id),
        _read_groups(tx, workspace.id),
        [NamedReference(uuid, name) for name, (_, uuid) in flows.items()],
    )
    return SearchScope(
        resolver=resolver,
        environment=environment_of(workspace),
        read_reference=read_reference,
        clock=FixedClock(tx.now),
        flow_ids={name.lower(): flow_id for name, (flow_id, _) in flows.items()},
        find_history=find_history,
    )


def _read_fields(tx: Transaction, workspace_id: int) -> list[FieldReference]:
    statement = select(field.c.key, field.c.name, field.c.type, field.c.uuid)
    rows = tx.execute(statement.where(field.c.workspace_id == workspace_id))
    return [FieldReference(row.key, row.name, cast(ValueType, row.type), row.uuid) for row in rows]


def _read_groups(tx: Transaction, workspace_id: int) -> list[NamedReference]:
    rows = tx.execute(select(group.c.uuid, group.c.name).where(group.c.workspace_id == workspace_id))
    return [NamedReference(row.uuid, row.name) for row in rows]
