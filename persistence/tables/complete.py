"""All tables, loaded so that `metadata` is complete."""

from persistence.sql.columns import metadata
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
    "tickets",
    "triggers",
]
