"""Which tables are in a file of a workspace, how rows refer to each other, and how values are written."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from sqlalchemy import Column, Date, ForeignKey, Table, Time

from persistence.sql.columns import UtcDateTime, time_text
from persistence.tables.complete import metadata

FORMAT = "relayboard-workspace"
VERSION = 1
OWNER = "workspace_id"

LEFT_OUT = {
    *("api_token", "idempotency_answer", "rate_window", "invitation"),
    *("contact_import", "rejected_row", "imported_contact", "export"),
    *("workspace_move", "moved_record", "gateway_call"),
}
"""Tokens and invitations belong to an installation, and the rest is of the moment."""
EMPTIED = {"data_request": ("location", "size", "leased_until")}
"""Columns that have no meaning elsewhere: files of copies are not carried."""

SOFT: Mapping[tuple[str, str], str] = {
    ("campaign_event", "scheduling_after_id"): "contact",
    ("channel", "parted_from_id"): "channel",
    ("contact", "current_flow_id"): "flow",
    ("contact", "merged_into_id"): "contact",
    ("contact_group", "evaluated_after_id"): "contact",
    ("contact_urn", "former_contact_id"): "contact",
    ("conversation", "message_id"): "message",
    ("conversation", "read_id"): "message",
    ("broadcast", "last_contact_id"): "contact",
    ("data_request", "contact_id"): "contact",
    ("delivery", "subscriber_id"): "resthook_subscriber",
    ("flow_start", "last_contact_id"): "contact",
    ("media", "former_contact_id"): "contact",
    ("message", "broadcast_id"): "broadcast",
    ("message", "flow_id"): "flow",
    ("parked_sprint", "batch_id"): "flow_start_batch",
    ("webhook_receiver", "channel_id"): "channel",
    ("webhook_receiver", "subscriber_id"): "resthook_subscriber",
    ("webhook_trouble", "channel_id"): "channel",
    ("webhook_trouble", "subscriber_id"): "resthook_subscriber",
    ("flow_start_batch", "contact_ids"): "contact",
    ("day_count", "subject"): "channel",
}
"""Columns with ids of another table that are not foreign keys; 0 means none. `contact_ids` is a list."""
BY_KIND: Mapping[tuple[str, str], str] = {
    ("record_stamp", "record"): "kind",
    ("archive", "last_record_id"): "archive_type",
}
"""Columns with ids of the table that another column of the row names."""
KINDS = {"run": "flow_run"}


def list_tables() -> list[Table]:
    """The tables of a file, those that others refer to first."""
    return [each for each in metadata.sorted_tables if OWNER in each.c and each.name not in LEFT_OUT]


def list_columns(table: Table) -> list[Column[Any]]:
    """The columns that are stored."""
    return [each for each in table.c if each.computed is None]


def target_of(table: Table, column: Column[Any]) -> str | None:
    """The table that a column refers to."""
    key: ForeignKey | None = next(iter(column.foreign_keys), None)
    return key.column.table.name if key is not None else SOFT.get((table.name, column.name))


def own_references(table: Table) -> list[Column[Any]]:
    """The columns that refer to other rows of the same table."""
    return [each for each in table.c if any(key.column.table is table for key in each.foreign_keys)]


def show(value: Any) -> Any:
    """A value as JSON: times as in the API, days and hours in ISO 8601, documents as they are."""
    if isinstance(value, datetime):
        return time_text(value)
    return value.isoformat() if isinstance(value, (date, time)) else value


def reader_of(column: Column[Any]) -> Callable[[Any], Any] | None:
    """What makes a value of a column from its JSON; None if it is the same."""
    if isinstance(column.type, UtcDateTime):
        return datetime.fromisoformat
    if isinstance(column.type, Date):
        return date.fromisoformat
    if isinstance(column.type, Time):
        return time.fromisoformat
    return None
