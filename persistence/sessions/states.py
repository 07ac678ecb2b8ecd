"""Conditions on sessions that many modules need."""

from typing import Any

from sqlalchemy import BindParameter, ColumnElement, literal

from persistence.tables.runs import flow_session

WAITING = "waiting"
_WAITING_WORD: BindParameter[Any] = literal(WAITING, literal_execute=True)
IS_WAITING: ColumnElement[bool] = flow_session.c.status == _WAITING_WORD
"""The condition of partial indexes, repeated in statements: SQLite uses such an index only if the statement contains
it."""
