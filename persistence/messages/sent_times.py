"""Times in the folder of sent messages: it is in the order of sending, while its filters are by the time of creation.
Nearly all messages are sent within a day. So one time tells where the other is, but for a few messages that have an
index of their own.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Integer, func, literal_column, select

from persistence.database import Transaction
from persistence.lists import Condition
from persistence.sql.columns import UtcDateTime
from persistence.sql.json_sql import Template
from persistence.tables.messages import SENT_APART, message

SENT_FOLDER = "sent"
APART = "ix_message_sent_apart"
SENT_WITHIN = timedelta(days=1, seconds=1)
"""A day, and what SQLite's times of day may be rounded by."""

SENT_ON = func.coalesce(message.c.sent_on, message.c.created_on, type_=UtcDateTime())
"""As an expression: for the column alone PostgreSQL would look through all sent messages, in their order, for the first
that fits.
"""


class _IsSentApart(Template, sqlite=SENT_APART["sqlite"], postgresql=SENT_APART["postgresql"], kind=Integer()):
    """Whether a message was not sent within a day of its creation, as its index says it. A Boolean would be compared
    with 1 on SQLite, which then does not know the condition of the index.
    """


def sent_before(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created until then. The list begins with the last one that was sent within a day, or with
    one of those that were sent later; one statement finds that.
    """
    late = _find_apart(tx, workspace_id, func.max(SENT_ON), message.c.created_on <= moment)
    latest = moment + SENT_WITHIN
    return [message.c.created_on <= moment, message.c.sent_on <= (latest if late is None else max(latest, late))]


def sent_after(tx: Transaction, workspace_id: int, moment: datetime) -> list[Condition]:
    """Sent messages that were created since then, which few clocks say were sent before; one statement finds those."""
    early = _find_apart(tx, workspace_id, func.min(SENT_ON), message.c.created_on >= moment)
    return [message.c.created_on >= moment, message.c.sent_on >= (moment if early is None else min(moment, early))]


def _find_apart(
    tx: Transaction, workspace_id: int, wanted: ColumnElement[Any], condition: Condition
) -> datetime | None:
    mine = message.c.workspace_id == workspace_id
    is_sent = message.c.folder == literal_column(f"'{SENT_FOLDER}'")
    is_apart = _IsSentApart(message.c.sent_on, message.c.created_on)
    statement = select(wanted).where(mine, is_sent, is_apart, condition)
    # SQLite would as soon read the whole folder.
    found: datetime | None = tx.execute(statement.with_hint(message, f"INDEXED BY {APART}", "sqlite")).scalar_one()
    return found
