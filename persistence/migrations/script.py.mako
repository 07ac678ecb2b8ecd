"""${message}."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
works_for = ${repr(up_revision)}  # or that of the oldest program that can go on working with what this makes
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    ${downgrades if downgrades else "pass"}
