"""What contact queries of a workspace may name, read from the database."""

from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from sqlalchemy import Table, select

from flows.queries import FieldReference, NamedReference
from flows.queries.properties import ValueType
from persistence.contacts.queries import SearchScope
from persistence.contacts.values import FixedClock, environment_of
from persistence.database import Transaction
from persistence.sql.names import name_key
from persistence.tables.contacts import field, group
from persistence.tables.flows import flow
from persistence.workspaces import Workspace


def open_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of a workspace's queries; its resolver is also what they are parsed with."""
    return SearchScope(WorkspaceResolver(tx, workspace.id), environment_of(workspace), FixedClock(tx.now))


def open_group_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of queries that define groups: what people may not see still decides which groups they are in."""
    scope = open_scope(tx, workspace)
    return replace(scope, environment=replace(scope.environment, redaction_policy="none"))


class WorkspaceResolver:
    """The fields, groups and flows of a workspace, each kind read by one statement when a query first names one."""

    def __init__(self, tx: Transaction, workspace_id: int) -> None:
        self._tx = tx
        self._workspace_id = workspace_id

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
        rows = self._read(field, field.c.key, field.c.name, field.c.type, field.c.uuid)
        return {row.key: FieldReference(row.key, row.name, cast(ValueType, row.type), row.uuid) for row in rows}

    @cached_property
    def _groups(self) -> dict[str, NamedReference]:
        return self._read_named(group)

    @cached_property
    def _flows(self) -> dict[str, NamedReference]:
        return self._read_named(flow)

    def _read_named(self, table: Table) -> dict[str, NamedReference]:
        rows = self._read(table, table.c.uuid, table.c.name, table.c.name_key)
        return {row.name_key: NamedReference(row.uuid, row.name) for row in rows}

    def _read(self, table: Table, *columns: Any) -> Any:
        return self._tx.execute(select(*columns).where(table.c.workspace_id == self._workspace_id))
