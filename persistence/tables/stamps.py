"""When records last changed."""

from datetime import datetime

from sqlalchemy import Column, ForeignKey, Index, Integer, Named, String

from persistence.policies import policy
from persistence.sql.columns import BigId, LinkColumns, UtcDateTime, table_of


class RecordStampColumns(LinkColumns):
    kind: Named[str] = Column(String(9), primary_key=True)
    record: Named[int] = Column(BigId, primary_key=True)
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    stamped_on: Named[datetime] = Column(UtcDateTime)


record_stamp = table_of(
    "record_stamp",
    RecordStampColumns,
    Index("ix_record_stamp_page", "workspace_id", "kind", "stamped_on", "record"),
    info=policy("goes with its record", refers_by={"record": "kind"}),
)
"""When a message, broadcast or channel (`kind`) last changed, by the clock of its workspace: in the order in which
changes become visible. The records have no such time themselves, because to write it a second time before the commit
would lock the rows that they refer to."""
