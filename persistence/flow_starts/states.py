"""Conditions on flow starts and their batches, as partial indexes need them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam

from persistence.tables.flow_starts import PENDING, QUEUED, STARTED, flow_start, flow_start_batch

UNFINISHED = (PENDING, QUEUED, STARTED)
MANUAL, API, API_V1 = "manual", "api", "api_v1"
BY_USERS = (MANUAL, API, API_V1)


def is_one_of(column: ColumnElement[str], words: Sequence[str]) -> ColumnElement[bool]:
    """Whether a column has one of these values, written as literals as partial indexes need it."""
    listed: BindParameter[Any] = bindparam(None, tuple(words), expanding=True, literal_execute=True)
    return column.in_(listed)


IS_UNFINISHED = is_one_of(flow_start.c.status, UNFINISHED)
IS_BY_USER = is_one_of(flow_start.c.start_type, BY_USERS)
IS_PENDING_BATCH = is_one_of(flow_start_batch.c.status, (PENDING,))
