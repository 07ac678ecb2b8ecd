"""People are mailed when they have not looked.

Older programs work with it: they mail nobody, and give up letters of this kind.
"""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("membership", sa.Column("mail_of", sa.String(length=10), nullable=True))
    op.add_column("membership", sa.Column("mail_language", sa.String(length=2), nullable=True))
    op.add_column("membership", sa.Column("mail_root", sa.Text(), nullable=True))
    op.add_column(
        "membership",
        sa.Column("mailed_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
    )
    op.create_index(
        "ix_membership_mailed",
        "membership",
        ["workspace_id", "user_id"],
        unique=False,
        sqlite_where=sa.text("mail_of IS NOT NULL"),
        postgresql_where=sa.text("mail_of IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_membership_mailed",
        table_name="membership",
        sqlite_where=sa.text("mail_of IS NOT NULL"),
        postgresql_where=sa.text("mail_of IS NOT NULL"),
    )
    op.drop_column("membership", "mailed_on")
    op.drop_column("membership", "mail_root")
    op.drop_column("membership", "mail_language")
    op.drop_column("membership", "mail_of")
