"""Accounts know whether somebody has proved their address, and addresses are compared in one form of Unicode. Two users
whose addresses only differ in that form keep what they have. Open tickets of people who cannot act on them (any more)
are nobody's again, with an entry in their history.

Older programs work with both: accounts came with 0002, which is of the same release.
"""

import unicodedata
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")

STRANDED = """status = 'open' AND assignee_id IS NOT NULL AND NOT EXISTS (
SELECT 1 FROM membership WHERE membership.workspace_id = ticket.workspace_id
AND membership.user_id = ticket.assignee_id AND membership.role IN ('administrator', 'editor', 'agent'))"""
TOLD = f"""INSERT INTO ticket_event (workspace_id, ticket_id, type, created_on)
SELECT workspace_id, id, 'assigned', :now FROM ticket WHERE {STRANDED}"""
UNASSIGNED = f"UPDATE ticket SET assignee_id = NULL, modified_on = :now WHERE {STRANDED}"


def upgrade() -> None:
    op.add_column("account", sa.Column("unproven_since", TIME, nullable=True))
    connection = op.get_bind()
    keys = {user_id: key for user_id, key in connection.execute(sa.text("SELECT id, email_key FROM app_user"))}
    taken = set(keys.values())
    for user_id, key in keys.items():
        plain = unicodedata.normalize("NFKC", key).strip().lower()
        if plain not in taken:
            connection.execute(
                sa.text("UPDATE app_user SET email_key = :key WHERE id = :id"), {"key": plain, "id": user_id}
            )
            taken.add(plain)
    now = datetime.now(UTC)
    given = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if connection.dialect.name == "sqlite" else now
    for each in (TOLD, UNASSIGNED):
        connection.execute(sa.text(each).bindparams(sa.bindparam("now", given, TIME)))


def downgrade() -> None:
    op.drop_column("account", "unproven_since")
