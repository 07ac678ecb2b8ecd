"""What states broadcasts can be in, with conditions as partial indexes need them.

A broadcast with a time waits for it and begins then: its `created_on` becomes the moment at which it begins, until
then it is before `scheduled_on`.
"""

from sqlalchemy import ColumnElement, and_, literal

from persistence.tables.messages import broadcast

PENDING, QUEUED, STARTED, COMPLETED, FAILED = "pending", "queued", "started", "completed", "failed"
INTERRUPTED = "interrupted"

HAS_BEGUN: ColumnElement[bool] = broadcast.c.scheduled_on.is_(None) | (
    broadcast.c.scheduled_on <= broadcast.c.created_on
)
IS_SCHEDULED: ColumnElement[bool] = broadcast.c.scheduled_on > broadcast.c.created_on
"""Has not begun: waits for its time, or was stopped before."""
IS_UNFINISHED: ColumnElement[bool] = broadcast.c.status.in_(
    [literal(status, literal_execute=True) for status in (PENDING, QUEUED, STARTED)]
)
IS_GOING = and_(IS_UNFINISHED, HAS_BEGUN)
"""A worker has messages to create."""
WAITS = and_(broadcast.c.status == literal(PENDING, literal_execute=True), IS_SCHEDULED)
