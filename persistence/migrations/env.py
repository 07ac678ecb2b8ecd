"""Alembic's entry point: runs revisions on the engine that `persistence.migrations` passes in."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import text

from persistence.secrets.encrypted_columns import Sealed
from persistence.sql.columns import UtcDateTime, UuidText
from persistence.tables import metadata

MIGRATION_LOCK = 7266141702


def render_type(kind: str, item: Any, _autogenerate: Any) -> str | Literal[False]:
    """Our column types as plain ones, so that revisions never import the application."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return 'sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")'
    if kind == "type" and isinstance(item, UuidText):
        return 'sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")'
    if kind == "type" and isinstance(item, Sealed):
        return "sa.Text()"
    return False


engine = context.config.attributes["engine"]
is_sqlite = engine.dialect.name == "sqlite"

with engine.connect() as connection:
    if is_sqlite:
        connection = connection.execution_options(relayboard_writing=True)
    with connection.begin():
        if not is_sqlite:
            connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": MIGRATION_LOCK})
        context.configure(
            connection=connection,
            target_metadata=metadata,
            render_as_batch=is_sqlite,
            transactional_ddl=True,
            render_item=render_type,
        )
        context.run_migrations()
