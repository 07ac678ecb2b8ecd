"""Keys of tables for revisions.

On PostgreSQL the rows of a workspace have the workspace in their primary key and in their references to each other, so
that a database can be spread over several machines by workspace. SQLite generates ids only for a key of one column, and
is never spread.
"""

import sqlalchemy as sa
from alembic import op

OWNER = "workspace_id"
SHARED = frozenset({"api_token", "app_user", "boundary", "channel", "invitation", "workspace"})
"""Tables that rows of every workspace refer to, and those that are searched before a workspace is known."""


def _is_spread() -> bool:
    return op.get_context().dialect.name == "postgresql"


def primary_key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    """The primary key of a table whose rows belong to workspaces."""
    owner = [OWNER] if _is_spread() and OWNER not in columns else []
    return sa.PrimaryKeyConstraint(*columns, *owner, name=op.f(f"pk_{table}"))


def reference(table: str, column: str, target: str, *, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    """A reference from a row of a workspace to one of the same workspace, by its id."""
    owner = [OWNER] if _is_spread() else []
    targets = [f"{target}.{each}" for each in ["id", *owner]]
    return sa.ForeignKeyConstraint([column, *owner], targets, name=op.f(f"fk_{table}_{column}"), ondelete=ondelete)
