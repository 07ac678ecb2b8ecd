"""actions on all contacts that match."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0038"
down_revision = "0037"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "contact_job",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        sa.Column("finished_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column(
            "group_uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=True
        ),
        sa.Column("filters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("total", sa.Integer(), nullable=True),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("not_active", sa.Integer(), nullable=False),
        sa.Column("last_contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("end_contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        keys.primary_key("contact_job", "id"),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_contact_job_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_contact_job_workspace_id")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_contact_job_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_contact_job_age", "contact_job", ["created_on", "id"], unique=False)
    op.create_index(
        "ix_contact_job_due",
        "contact_job",
        ["workspace_id", "id"],
        unique=False,
        sqlite_where=sa.text("status IN ('reading', 'pending', 'running')"),
        postgresql_where=sa.text("status IN ('reading', 'pending', 'running')"),
    )
    op.create_index("ix_contact_job_page", "contact_job", ["workspace_id", "created_on", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_contact_job_page", table_name="contact_job")
    op.drop_index(
        "ix_contact_job_due",
        table_name="contact_job",
        sqlite_where=sa.text("status IN ('reading', 'pending', 'running')"),
        postgresql_where=sa.text("status IN ('reading', 'pending', 'running')"),
    )
    op.drop_index("ix_contact_job_age", table_name="contact_job")
    op.drop_table("contact_job")
