"""A workspace may have a number format of its own; without one it has that of its country. Names are compared without
invisible marks and with the digits and quotes of ASCII: the forms of present names follow.

Older programs work with it: they read numbers and compare names as before.
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

from flows.typed import plain

revision = "0013"
down_revision = "0012"
works_for = "0001"
branch_labels = None
depends_on = None

NAMED = (
    *("boundary_alias", "campaign", "classifier", "contact_field", "contact_group", "flow", "flow_label"),
    *("global_value", "label", "optin", "saved_reply", "template", "ticketer", "topic"),
)
"""A workspace has a few hundred of each at most."""


def upgrade() -> None:
    op.add_column("workspace", sa.Column("number_format", sa.String(length=7), nullable=True))
    known = sa.inspect(op.get_bind())
    for table in NAMED:
        if known.has_table(table) and "name_key" in {each["name"] for each in known.get_columns(table)}:
            _compare_anew(table)


def downgrade() -> None:
    op.drop_column("workspace", "number_format")


def _compare_anew(name: str) -> None:
    """Of two names that have become the same, the one that comes later keeps its form: it is found by its UUID."""
    table = sa.table(name, *map(sa.column, ("id", "workspace_id", "name", "name_key")))
    other = table.alias()
    rows = op.get_bind().execute(sa.select(table.c.id, table.c.name, table.c.name_key).order_by(table.c.id)).all()
    for row_id, written, key in rows:
        form = unicodedata.normalize("NFC", plain(written).strip().casefold())
        if form != key and not written.isascii():
            mine = (other.c.workspace_id == table.c.workspace_id) & (other.c.name_key == form)
            taken = sa.exists().where(mine)
            op.get_bind().execute(sa.update(table).where(table.c.id == row_id, ~taken).values(name_key=form))
