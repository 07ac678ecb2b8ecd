"""What moves into archives: messages by the time of creation, and runs by their end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Table, delete, exists, select

from persistence.archives.archives import MESSAGE, RUN
from persistence.changes import leave_labels
from persistence.database import Transaction
from persistence.follow_ups import forget_messages
from persistence.messages.records import MASKED_MESSAGE_RECORD, MESSAGE_RECORD
from persistence.messages.records import SOURCE as MESSAGES_WITH_NAMES
from persistence.runs.records import MASKED_RUN_RECORD, RUN_RECORD, show_numbers
from persistence.runs.records import SOURCE as RUNS_WITH_NAMES
from persistence.runs.runs import WAITING
from persistence.sql.pages import Order
from persistence.tables.messages import DELETED, message
from persistence.tables.runs import flow_run, flow_session


@dataclass(frozen=True, slots=True)
class ArchivedKind:
    """A kind of archived records. `moment` is the time that decides to which day a record belongs; it never changes
    once `is_ready` holds. `is_ready` says for a cutoff whether the record was stored long enough ago by our own clock,
    because times that a phone reports may be older. Records for which `is_kept` does not hold are deleted without being
    archived. `take_out` deletes records by their ids, with what depends on them; `finish` makes the archived line from
    what the database returned.
    """

    name: str
    table: Table
    moment: ColumnElement[Any]
    is_ready: Callable[[datetime], ColumnElement[bool]]
    is_kept: ColumnElement[bool]
    source: FromClause
    record: ColumnElement[Any]
    masked_record: ColumnElement[Any]
    take_out: Callable[[Transaction, int, Sequence[int]], None]
    finish: Callable[[str], str] = str

    @property
    def oldest_first(self) -> Order:
        return Order(self.moment, self.table.c.id, descending=False)


def _take_out_messages(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    chosen = message.c.id.in_(ids)
    forget_messages(tx, workspace_id, ids)
    leave_labels(tx, workspace_id, chosen, are_deleted=True)
    tx.execute(delete(message).where(chosen))


def _take_out_runs(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    """Sessions are deleted with their last run; flows still count archived runs."""
    mine = (flow_run.c.workspace_id == workspace_id) & flow_run.c.id.in_(ids)
    session_ids = set(tx.execute(delete(flow_run).where(mine).returning(flow_run.c.session_id)).scalars()) - {None}
    has_runs = exists(select(flow_run.c.id).where(flow_run.c.session_id == flow_session.c.id).correlate(flow_session))
    over = flow_session.c.id.in_(sorted(session_ids)) & (flow_session.c.status != WAITING) & ~has_runs
    tx.execute(delete(flow_session).where(flow_session.c.workspace_id == workspace_id, over))


MESSAGES = ArchivedKind(
    name=MESSAGE,
    table=message,
    moment=message.c.created_on,
    is_ready=lambda cutoff: message.c.stored_on.is_(None) | (message.c.stored_on < cutoff),
    is_kept=message.c.visibility != DELETED,
    source=MESSAGES_WITH_NAMES,
    record=MESSAGE_RECORD,
    masked_record=MASKED_MESSAGE_RECORD,
    take_out=_take_out_messages,
)
RUNS = ArchivedKind(
    name=RUN,
    table=flow_run,
    moment=flow_run.c.exited_on,
    is_ready=lambda _cutoff: flow_run.c.exited_on.is_not(None),
    is_kept=flow_run.c.exited_on.is_not(None),
    source=RUNS_WITH_NAMES,
    record=RUN_RECORD,
    masked_record=MASKED_RUN_RECORD,
    take_out=_take_out_runs,
    finish=show_numbers,
)
KINDS = {kind.name: kind for kind in (MESSAGES, RUNS)}
