"""All tables, loaded so that `metadata` is complete."""

from sqlalchemy import text

from persistence.sql.columns import ON_POSTGRESQL, metadata
from persistence.tables import (
    accounts,
    audit,
    campaigns,
    changes,
    channels,
    contacts,
    data_jobs,
    deliveries,
    flow_starts,
    flows,
    messages,
    moves,
    runs,
    service,
    sign_ins,
    stamps,
    tickets,
    triggers,
)

__all__ = [
    "accounts",
    "audit",
    "campaigns",
    "changes",
    "channels",
    "contacts",
    "data_jobs",
    "deliveries",
    "flow_starts",
    "flows",
    "messages",
    "metadata",
    "moves",
    "runs",
    "service",
    "sign_ins",
    "stamps",
    "tickets",
    "triggers",
]

for _table in metadata.tables.values():
    for _index in _table.indexes:
        if ON_POSTGRESQL in _index.info:
            _index.dialect_kwargs["postgresql_where"] = text(_index.info[ON_POSTGRESQL])
