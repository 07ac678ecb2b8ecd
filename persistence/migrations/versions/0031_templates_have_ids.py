"""By which id a gateway knows a translation of a template.

Older programs work with it: they do not know the id, and the next reading adds it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "template_translation", sa.Column("external_id", sa.String(length=64), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("template_translation", "external_id")
