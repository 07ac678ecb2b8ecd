"""Alembic's entry point: runs revisions on the connection that `persistence.migrations` passes in."""

from datetime import UTC, datetime
from typing import Any, Literal

from alembic import context
from alembic.script import Script
from sqlalchemy import ForeignKeyConstraint, PrimaryKeyConstraint, Table, insert

from persistence.migrations.keys import OWNER, SHARED
from persistence.migrations.part_indexes import PART_INDEX_NAMES, is_computed
from persistence.secrets.encryption import Sealed
from persistence.sql.columns import JsonIndexed, UtcDateTime, UuidText
from persistence.tables.conditions import metadata
from persistence.tables.service import schema_note
from relayboard.base.version import program_version


def works_for(revision: Script) -> str:
    """The oldest revision that a program must know to work with this one: this revision, unless its file has
    `works_for`."""
    return str(getattr(revision.module, "works_for", revision.revision))


def render_item(kind: str, item: object, _autogenerate: object) -> str | Literal[False]:
    """Renders our column types as plain ones, so that revisions never import the application, and keys with the
    workspace."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return 'sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")'
    if kind == "type" and isinstance(item, UuidText):
        return 'sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")'
    if kind == "type" and isinstance(item, JsonIndexed):
        return 'sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")'
    if kind == "type" and isinstance(item, Sealed):
        return "sa.Text()"
    if isinstance(item, PrimaryKeyConstraint) and _is_owned(item.table):
        return f"keys.primary_key({', '.join(repr(name) for name in [item.table.name, *item.columns.keys()])})"
    if isinstance(item, ForeignKeyConstraint) and _is_owned(item.table) and item.referred_table.name not in SHARED:
        names = [item.table.name, item.column_keys[0], item.referred_table.name]
        ondelete = f", ondelete={item.ondelete!r}" if item.ondelete else ""
        return f"keys.reference({', '.join(map(repr, names))}{ondelete})"
    return False


def is_written(item: object, name: str | None, *_rest: object) -> bool:
    """Whether a difference to the tables in code belongs into a revision."""
    return name not in PART_INDEX_NAMES and not is_computed(item)


def _is_owned(table: Table) -> bool:
    return OWNER in table.columns and table.name not in SHARED


def note_revision(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    """Record with the revision which programs it works for; after a downgrade of the first revision there is no
    table."""
    revisions = step.destination_revisions
    if revisions:
        ctx.connection.execute(schema_note.delete())
        noted = {"revision": revisions[0].revision, "works_for": works_for(revisions[0])}
        moment = datetime.now(UTC)
        ctx.connection.execute(insert(schema_note).values(id=1, version=program_version(), changed_on=moment, **noted))


connection = context.config.attributes["connection"]
is_sqlite = connection.dialect.name == "sqlite"
context.configure(
    connection=connection,
    target_metadata=metadata,
    transactional_ddl=True,
    # On PostgreSQL a revision may leave its transaction, to create an index while other processes work.
    transaction_per_migration=not is_sqlite,
    on_version_apply=note_revision,
    render_item=render_item,
    include_object=is_written,
)
with context.begin_transaction():
    context.run_migrations()
