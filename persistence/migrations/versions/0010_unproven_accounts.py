"""Accounts know whether somebody has proved their address, and addresses are compared in one form of Unicode. Two users
whose addresses only differ in that form keep what they have.

Older programs work with both: accounts came with 0002, which is of the same release.
"""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


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


def downgrade() -> None:
    op.drop_column("account", "unproven_since")
