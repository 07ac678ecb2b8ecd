"""Workspaces: the owners of everything else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

import orjson
from sqlalchemy import Executable, select

from flows.environment import NumberFormat
from flows.numbers import NUMBER_FORMATS, find_number_format
from persistence.database import Transaction
from persistence.sql.columns import columns_for
from persistence.statements import statement
from persistence.tables.accounts import workspace, workspace_origin

USUAL_ANSWERS = 12
DATE_STYLES = ("day_first", "month_first", "year_first")
BY_COUNTRY = "by_country"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The data of a workspace that every request has."""

    id: int
    uuid: str
    name: str
    country: str
    timezone: str
    languages: tuple[str, ...]
    date_style: str
    is_anonymous: bool
    number_format: str | None = None

    @property
    def default_language(self) -> str:
        return self.languages[0] if self.languages else "eng"

    @property
    def numbers_as(self) -> str:
        """The name of the format in which its numbers are read and written: its own, otherwise that of its country."""
        return self.number_format or find_number_format(self.country, self.default_language)

    @property
    def number_signs(self) -> NumberFormat:
        return NUMBER_FORMATS[self.numbers_as]

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


WORKSPACE_COLUMNS = columns_for(Workspace, workspace)


def workspace_from_row(row: Sequence[Any]) -> Workspace:
    """A workspace from the values of WORKSPACE_COLUMNS."""
    stored = Workspace(*row)
    return replace(stored, languages=tuple(stored.languages))


def hold_workspace(tx: Transaction, workspace_id: int) -> None:
    """Lock a workspace's settings (groups, labels, fields, flows and similar records) before they are created, changed
    or deleted, so that each change sees the previous one. Call it before anything is read or locked. Transactions that
    only use such records do not wait: they lock the rows that they use.
    """
    if workspace_id not in tx.held_workspaces:
        _lock_workspace.run(tx, workspace_id)
        tx.held_workspaces.add(workspace_id)


def find_workspace(tx: Transaction, workspace_id: int) -> Workspace | None:
    rows = _select_workspace.rows(tx, workspace_id)
    return workspace_from_row(rows[0]) if rows else None


def find_workspace_by_uuid(tx: Transaction, uuid: str) -> Workspace | None:
    row = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.uuid == uuid)).first()
    return None if row is None else workspace_from_row(row)


def list_workspaces(tx: Transaction) -> list[Workspace]:
    return [workspace_from_row(row) for row in tx.execute(select(*WORKSPACE_COLUMNS).order_by(workspace.c.id))]


def show_workspace(found: Workspace) -> dict[str, Any]:
    """The workspace as the API and the commands show it, with the number format that counts."""
    return {
        "uuid": found.uuid,
        "name": found.name,
        "country": found.country,
        "languages": list(found.languages),
        "primary_language": next(iter(found.languages), None),
        "timezone": found.timezone,
        "date_style": found.date_style,
        "number_format": found.numbers_as,
        "anon": found.is_anonymous,
    }


def read_workspace(tx: Transaction, workspace_id: int, *, in_v1: bool = False) -> str:
    """The workspace record of the API as JSON text."""
    columns = (*WORKSPACE_COLUMNS, workspace.c.answer_limit, workspace_origin.c.origin)
    with_origins = workspace.outerjoin(workspace_origin, workspace_origin.c.workspace_id == workspace.c.id)
    rows = tx.execute(select(*columns).select_from(with_origins).where(workspace.c.id == workspace_id)).all()
    *row, limit, _ = rows[0]
    record = show_workspace(workspace_from_row(row))
    if in_v1:
        del record["number_format"]
    else:
        record["answer_limit"] = USUAL_ANSWERS if limit is None else limit
        record["origins"] = sorted(each.origin for each in rows if each.origin is not None)
    return orjson.dumps(record).decode()


def list_origins(tx: Transaction, workspace_id: int) -> list[str]:
    """The origins whose pages may call the API with tokens of a workspace, in the order of their letters."""
    mine = workspace_origin.c.workspace_id == workspace_id
    return sorted(tx.execute(select(workspace_origin.c.origin).where(mine)).scalars())


def is_origin(tx: Transaction, origin: str, workspace_id: int | None = None) -> bool:
    """Whether pages of an origin may call the API with tokens of this workspace; of any, if none is given: a browser
    asks before it sends the token."""
    if workspace_id is None:
        return bool(_select_origin.rows(tx, origin))
    return bool(_select_own_origin.rows(tx, workspace_id, origin))


@statement
def _select_origin(origin: str) -> Executable:
    return select(workspace_origin.c.workspace_id).where(workspace_origin.c.origin == origin).limit(1)


@statement
def _select_own_origin(workspace_id: int, origin: str) -> Executable:
    rows = workspace_origin.c
    return select(rows.workspace_id).where(rows.workspace_id == workspace_id, rows.origin == origin)


@statement
def _lock_workspace(workspace_id: int) -> Executable:
    return select(workspace.c.id).where(workspace.c.id == workspace_id).with_for_update(key_share=True)


@statement
def _select_workspace(workspace_id: int) -> Executable:
    return select(*WORKSPACE_COLUMNS).where(workspace.c.id == workspace_id)
