"""A workspace with rows in every table, made from the tables' own columns, so that future tables are filled as well.
Every text of a row contains a mark (`w3r1`: row 1 of workspace 3), so that a text shows to which record it belongs.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Date,
    Integer,
    Row,
    Table,
    bindparam,
    insert,
    inspect,
    select,
    text,
    update,
)

from persistence.database import Database, Transaction
from persistence.sql.columns import UtcDateTime, UuidText, new_uuid
from persistence.tables.changes import participant
from persistence.tables.complete import metadata
from persistence.tables.deliveries import resthook_subscriber
from persistence.workspaces.records import Workspace

SHARED = {
    *("workspace", "boundary", "boundary_alias", "registration_window", "waiting_registration"),
    *("schema_note", "secret_key_check", "worker_heartbeat", "account_mail", "sign_in_window", "write_mark"),
}
"""Tables whose rows belong to no workspace, or to such rows."""
TEMPORARY = {"rate_window", "idempotency_answer", "media_usage", "workspace_clock"}
"""Tables that requests themselves write."""

OUTLIVE_OTHERS = {"gateway_call", "gateway_part"}
"""Tables whose rows name contacts and messages without a foreign key."""

FIXED: Mapping[tuple[str, str], Any] = {
    ("api_token", "scope"): "write",
    ("app_user", "first_name"): "Joel",
    ("app_user", "last_name"): "Otieno",
    ("archive", "archive_type"): "message",
    ("archive", "period"): "daily",
    ("broadcast", "attachments"): {},
    ("broadcast", "base_language"): "eng",
    ("broadcast", "quick_replies"): {},
    ("broadcast", "status"): "completed",
    ("broadcast", "text"): {"eng": "hello"},
    ("campaign_event", "delivery_hour"): 9,
    ("campaign_event", "unit"): "days",
    ("campaign_event", "message"): {"eng": "hello"},
    ("channel", "country"): "RW",
    ("channel", "schemes"): ["tel"],
    ("channel", "type"): "android",
    ("channel", "webhook_url"): "https://example.org/hook",
    ("channel_alarm", "kind"): "disconnected",
    ("channel_check", "kind"): "connect",
    ("channel_check", "state"): "failed",
    ("delivery", "status"): "failed",
    ("delivery", "event"): "mo_sms",
    ("webhook_receiver", "signature"): "symmetric",
    ("gateway_call", "direction"): "out",
    ("gateway_call", "headers"): {},
    ("gateway_call", "outcome"): "refused",
    ("gateway_call", "status"): 401,
    ("channel_event", "type"): "call-in",
    ("contact", "fields"): {},
    ("contact_group", "member_count"): 1,
    ("contact_field", "agent_access"): "edit",
    ("contact_field", "type"): "datetime",
    ("contact_import", "columns"): [
        {"header": "Phone", "examples": [], "target": "urn:tel"},
        {"header": "Village", "examples": [], "target": "ignore"},
    ],
    ("contact_import", "status"): "ready",
    ("contact_job", "action"): "block",
    ("contact_job", "filters"): {"query": "name = a"},
    ("contact_job", "status"): "completed",
    ("contact_urn", "scheme"): "tel",
    ("data_request", "counts"): {},
    ("data_request", "status"): "completed",
    ("data_request", "type"): "copy",
    ("export", "filters"): {},
    ("export", "format"): "csv",
    ("export", "status"): "completed",
    ("export", "type"): "contacts",
    ("flow", "type"): "message",
    ("flow_revision", "definition"): (
        '{"uuid": "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111", "name": "Registration", "spec_version": "14.4.2", '
        '"language": "eng", "type": "messaging", "nodes": []}'
    ),
    ("flow_draft", "definition"): (
        '{"uuid": "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111", "name": "Registration", "spec_version": "14.4.2", '
        '"language": "eng", "type": "messaging", "nodes": []}'
    ),
    ("flow_draft", "dependencies"): [],
    ("flow_run", "results"): {},
    ("flow_run", "status"): "waiting",
    ("flow_session", "session_type"): "message",
    ("flow_session", "status"): "waiting",
    ("flow_start", "params"): {},
    ("flow_start", "start_type"): "api",
    ("flow_start", "status"): "completed",
    ("label", "message_count"): 1,
    ("invitation", "expires_on"): datetime(2100, 1, 1, tzinfo=UTC),
    ("invitation", "role"): "editor",
    ("membership", "role"): "editor",
    ("sign_in", "method"): "password",
    ("audit_event", "action"): "changed",
    ("audit_event", "changes"): {"name": ["before", "after"]},
    ("audit_event", "via"): "token",
    ("deletion", "kind"): "contact",
    ("message", "direction"): "in",
    ("message", "status"): "handled",
    ("resthook_event", "data"): {
        "flow": {"uuid": "c2a7b6f0-3f19-4d53-9f39-77a0f4a1a111", "name": "Registration"},
        "contact": {"uuid": "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21", "name": "Amina", "urn": "tel:+254722000111"},
        "channel": None,
        "run": {"uuid": "0197a6e4-0000-7a2f-b1d1-2f4c5b6a7081", "created_on": "2026-03-02T08:09:00.000000Z"},
        "path": [],
        "results": {},
        "input": None,
    },
    ("template_translation", "language"): "eng",
    ("template_translation", "locale"): "eng",
    ("participant", "state"): "gone",
    ("participant", "flow_id"): None,
    ("template_translation", "status"): "approved",
    ("classifier", "type"): "wit",
    ("contact", "open_ticket_count"): 1,
    ("ticketer", "type"): "internal",
    ("trigger", "type"): "keyword",
    ("trigger", "keywords"): [],
    ("trigger", "match"): "first",
    **dict.fromkeys([("trigger", name) for name in ("repeat", "days", "time_of_day", "next_fire_on")]),
}
"""Values that have to be words of a closed set."""


def mark(workspace: Workspace, number: int) -> str:
    return f"w{workspace.id}r{number}"


def phone_number(workspace: Workspace, number: int) -> str:
    """A Rwandan number that only this row has."""
    return f"+2507{workspace.id % 10_000:04d}{number:04d}"


def email_address(workspace: Workspace, number: int) -> str:
    return f"{mark(workspace, number)}@example.org"


@dataclass
class Filled:
    """A workspace and its rows by the name of their table, in the order they were made."""

    workspace: Workspace
    now: datetime
    spacing: timedelta
    rows: dict[str, Sequence[Row[Any]]] = field(default_factory=dict)

    def first(self, table: str) -> Row[Any]:
        """The row that references name."""
        assert table in self.rows, f"No table is called {table}: name the right one in tests/contract/references.py."
        return self.rows[table][0]


@functools.lru_cache(maxsize=4)
def present_tables(database: Database) -> list[Table]:
    """The tables of the database, those that others refer to first, also those that name others without a key."""
    names = set(inspect(database.engine).get_table_names())
    present = [table for table in metadata.sorted_tables if table.name in names]
    return sorted(present, key=lambda table: table.name in OUTLIVE_OTHERS)


def fill_workspace(
    database: Database,
    workspace: Workspace,
    count: int = 2,
    larger: Mapping[str, int] | None = None,
    first: int = 1,
    now: datetime | None = None,
) -> Filled:
    """`count` rows in every table, more in those named `larger`; row n refers to row n of others, in turn.

    Rows are numbered from `first`, which is one more than there are when a workspace is filled again. Each is a second
    older than the one before, or all are of the moment `now`.
    """
    filled = Filled(workspace, now or database.clock(), timedelta(seconds=0 if now else 1))
    tables = [table for table in present_tables(database) if table.name not in SHARED | TEMPORARY]
    with database.writing() as tx:
        if not tx.sqlite:
            # Between two statements thousands of rows are made, for longer than a server lets a transaction rest.
            tx.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        for table in tables:
            numbers = range(first, first + (larger or {}).get(table.name, count))
            rows = _make_rows(table, filled, numbers)
            if table is resthook_subscriber:
                # A subscription to events, with the id before that of the first row.
                tx.execute(insert(table), [rows[0] | {"resthook_id": None, "events": ["contact.created"]}])
            if table is participant:
                there = {"contact_id": None, "flow_id": _parents(filled, "flow")(first)}
                tx.execute(insert(table), [rows[0] | there])
            tx.execute(insert(table), rows)
            if "id" in table.c and ("workspace_id" in table.c or table.name == "app_user"):
                filled.rows[table.name] = _read_back(tx, table, rows, workspace)
        for table in tables:
            _point_softly(tx, table, filled)
    return filled


def _read_back(tx: Transaction, table: Table, rows: Sequence[dict[str, Any]], workspace: Workspace) -> list[Row[Any]]:
    mine: list[ColumnElement[bool]]
    if table.name == "app_user":
        mine = [table.c.email.in_([row["email"] for row in rows])]
    else:
        mine = [table.c.workspace_id == workspace.id]
    if "is_system" in table.c:
        mine.append(~table.c.is_system)
    if table is resthook_subscriber:
        mine.append(table.c.resthook_id.is_not(None))
    if table is participant:
        mine.append(table.c.contact_id.is_not(None))
    return list(tx.execute(select(table).where(*mine).order_by(table.c.id)).all())


Maker = Callable[[int], Any]
"""The value of a column in a row, by its number."""


def _make_rows(table: Table, filled: Filled, numbers: Sequence[int]) -> list[dict[str, Any]]:
    makers = [
        (column.name, column.default is None, _maker(table, column, filled))
        for column in table.c
        if column.name != "id" and column.computed is None
    ]
    rows = []
    for number in numbers:
        made = ((name, keeps_null, make(number)) for name, keeps_null, make in makers)
        rows.append({name: value for name, keeps_null, value in made if keeps_null or value is not None})
    if table.name == "conversation":
        newest = {each.contact_id: each.id for each in filled.rows["message"]}
        rows = [row | {"message_id": newest[row["contact_id"]]} for row in rows]
    return rows


def _maker(table: Table, column: Column[Any], filled: Filled) -> Maker:
    """Asked once for all rows: they are thousands."""
    if column.name == "workspace_id":
        return _always(filled.workspace.id)
    if (table.name, column.name) in FIXED:
        return _always(FIXED[table.name, column.name])
    for key in column.foreign_keys:
        return _parents(filled, key.column.table.name)
    if soft := _soft_parent(column):
        return _parents(filled, soft)
    if isinstance(column.type, UuidText):
        is_own = column.name in ("uuid", "record_uuid") or not column.nullable
        return (lambda number: new_uuid()) if is_own else _always(None)
    if (column.default is not None and column.name != "name_key") or (column.nullable and column.name in OFTEN_EMPTY):
        return _always(None)
    if make := TEXTS.get(column.name) or TEXTS.get(f"{table.name}.{column.name}"):
        return lambda number: make(filled.workspace, number)
    return _plain_maker(column, filled)


def _always(value: Any) -> Maker:
    return lambda number: value


OFTEN_EMPTY = {"query", "secret", "claim_code", "previous_secret", "device_uuid", "geometry"} | {
    "closed_on", "exited_on", "revoked_on", "paced_until", "handling_until", "evaluated_until", "sent_on", "hash",
    "ended_on", "finished_on", "webhook_url", "webhook_events", "due_on", "leased_until", "wait_expires_on",
}  # fmt: skip
"""Columns that mean something special when they are not null."""


def _parents(filled: Filled, table: str) -> Maker:
    ids = [row.id for row in filled.rows.get(table, ())]
    return lambda number: ids[(number - 1) % len(ids)] if ids else None


TEXTS: Mapping[str, Callable[[Workspace, int], str]] = {
    **dict.fromkeys(("name", "name_key", "key", "public", "relative_to", "slug"), mark),
    **dict.fromkeys(("email", "email_key", "actor_email"), email_address),
    **dict.fromkeys(("address", "contact_urn.path"), phone_number),
    "urn": lambda workspace, number: f"tel:{phone_number(workspace, number)}",
    **dict.fromkeys(("url", "target_url"), lambda workspace, number: f"https://example.org/{mark(workspace, number)}"),
    "content_type": lambda workspace, number: "image/png",
    "country": lambda workspace, number: "RW",
}
"""What columns hold, by their own name or that with their table's."""


def _plain_maker(column: Column[Any], filled: Filled) -> Maker:
    if column.nullable and column.name != "last_seen":
        return _always(None)
    if isinstance(column.type, UtcDateTime):
        return lambda number: filled.now - number * filled.spacing
    if isinstance(column.type, Date):
        return lambda number: filled.now.date() - timedelta(days=number)
    if isinstance(column.type, JSON):
        return _always([])
    if isinstance(column.type, Boolean):
        return _always(False)
    return (lambda number: number) if isinstance(column.type, Integer) else lambda number: f"x{number}"


@functools.cache
def _soft_parent(column: Column[Any]) -> str | None:
    """The table whose rows a column names without a foreign key, as `message.flow_id` does."""
    if (column.table.name, column.name) == ("delivery", "subscriber_id"):
        return "resthook_subscriber"
    if (column.table.name, column.name) == ("broadcast", "parent_id"):
        return "broadcast"
    if column.name == "external_id":  # the name that somebody else has given
        return None
    name = column.name.removeprefix("current_").removesuffix("_id")
    return name if column.name.endswith("_id") and not column.foreign_keys else None


def _point_softly(tx: Transaction, table: Table, filled: Filled) -> None:
    """Name the rows that were made after those of this table."""
    if table.name not in filled.rows or "workspace_id" not in table.c:
        return
    for column in table.c:
        parent = _soft_parent(column)
        if parent in filled.rows and getattr(filled.rows[table.name][0], column.name) is None:
            change = update(table).where(table.c.id == bindparam("row_id")).values({column: bindparam("parent_id")})
            numbered, name = enumerate(filled.rows[table.name], 1), _parents(filled, parent)
            tx.execute(change, [{"row_id": row.id, "parent_id": name(number)} for number, row in numbered])
