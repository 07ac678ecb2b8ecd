"""What contact queries of a workspace may refer to, read from the database."""

import typing
from dataclasses import replace
from functools import cached_property

from sqlalchemy import ColumnElement, Table, select

from flows.queries import FieldReference, NamedReference, QueryError, parse_query
from flows.queries.properties import ValueType
from persistence.contacts.queries import SearchScope, find_matches
from persistence.contacts.values import FixedClock, environment_of
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.sql.columns import NamedRecordColumns
from persistence.sql.names import name_key
from persistence.tables.contacts import field, group
from persistence.tables.flows import flow
from persistence.workspaces import Workspace


def open_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of a workspace's queries; its resolver is also used to parse them."""
    return SearchScope(WorkspaceResolver(tx, workspace.id), environment_of(workspace), FixedClock(tx.now))


def open_group_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of queries that define groups: here hidden URNs can be queried, because they may decide about
    membership."""
    scope = open_scope(tx, workspace)
    return replace(scope, environment=replace(scope.environment, redaction_policy="none"))


def match_query(
    tx: Transaction, workspace: Workspace, text: str, parameter: str, *, for_agent: bool = False
) -> ColumnElement[bool]:
    """The condition for the contacts that match a query of a request; agents query only fields that they may see.
    Raises Refused for a query that is not valid.
    """
    scope = open_scope(tx, workspace)
    if for_agent:
        scope = replace(scope, resolver=WorkspaceResolver(tx, workspace.id, for_agent=True))
    try:
        query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
        return find_matches(workspace.id, query, scope)
    except QueryError as error:
        place = "" if error.position is None else f" (character {error.position})"
        raise Refused(f"Parameter {parameter}: {error.message}{place}.") from error


class WorkspaceResolver:
    """The fields, groups and flows of a workspace; each kind is read by one statement when a query first refers to
    one."""

    def __init__(self, tx: Transaction, workspace_id: int, *, for_agent: bool = False) -> None:
        """For an agent there are no fields that agents may not see."""
        self._tx = tx
        self._workspace_id = workspace_id
        self._for_agent = for_agent

    def find_field(self, key: str) -> FieldReference | None:
        """The field with a key in lower case."""
        return self._fields.get(key)

    def find_group(self, name: str) -> NamedReference | None:
        """The group with a name."""
        return self._groups.get(name_key(name))

    def find_flow(self, name: str) -> NamedReference | None:
        """The flow with a name, archived or not."""
        return self._flows.get(name_key(name))

    @cached_property
    def _fields(self) -> dict[str, FieldReference]:
        columns = (field.c.key, field.c.name, field.c.type, field.c.uuid)
        statement = select(*columns).where(field.c.workspace_id == self._workspace_id)
        rows = self._tx.execute(statement.where(field.c.agent_access != "none") if self._for_agent else statement)
        return {key: FieldReference(key, name, typing.cast(ValueType, kind), uuid) for key, name, kind, uuid in rows}

    @cached_property
    def _groups(self) -> dict[str, NamedReference]:
        return self._read_named(group)

    @cached_property
    def _flows(self) -> dict[str, NamedReference]:
        return self._read_named(flow)

    def _read_named(self, table: Table[NamedRecordColumns]) -> dict[str, NamedReference]:
        columns = (table.c.uuid, table.c.name, table.c.name_key)
        rows = self._tx.execute(select(*columns).where(table.c.workspace_id == self._workspace_id))
        return {key: NamedReference(uuid, name) for uuid, name, key in rows}
