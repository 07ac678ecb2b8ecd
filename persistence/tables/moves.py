from datetime import datetime
from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Named, String, Text, UniqueConstraint

from persistence.policies import policy
from persistence.sql.columns import (
    BigId,
    Json,
    LinkColumns,
    OwnedColumns,
    UtcDateTime,
    numbered_table,
    partial_index,
    table_of,
)


class WorkspaceMoveColumns(OwnedColumns):
    source: Named[str] = Column(String(255))
    state: Named[Any] = Column(Json, nullable=False)
    created_on: Named[datetime] = Column(UtcDateTime)
    modified_on: Named[datetime] = Column(UtcDateTime)


workspace_move = numbered_table(
    "workspace_move",
    WorkspaceMoveColumns,
    UniqueConstraint("workspace_id", "source"),
    info=policy("a row for each server that a workspace came from", is_carried=False),
)
"""The server (URL) from which a workspace is copied. `state` is what `persistence.move.moves` reads and writes: how far
each kind has been read, and what people have done."""


class MovedRecordColumns(LinkColumns):
    move_id: Named[int] = Column(BigId, ForeignKey("workspace_move.id"), primary_key=True)
    kind: Named[str] = Column(String(20), primary_key=True)
    reference: Named[str] = Column(String(80), primary_key=True)
    record: Named[int | None] = Column(BigId)
    name: Named[str | None] = Column(String(128))
    note: Named[str | None] = Column(Text)


moved_record = table_of(
    "moved_record",
    MovedRecordColumns,
    Index("ix_moved_record_record", "move_id", "kind", "record"),
    partial_index("ix_moved_record_note", "move_id", "kind", "reference", where="note IS NOT NULL"),
    info=policy(
        "what a record of another server became here; as many as were moved in", erased="apart", is_carried=False
    ),
)
"""What a record of the other server (`reference`: its UUID, key or number there) became: the id of the `record` here,
null if it could not be carried. `note` says what was lost, of the record called `name`."""
