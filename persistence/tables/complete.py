"""All tables, loaded so that `metadata` is complete."""

from persistence.sql.columns import metadata
from persistence.tables import (
    accounts,
    campaigns,
    changes,
    channels,
    contacts,
    data_jobs,
    deliveries,
    flow_starts,
    flows,
    messages,
    runs,
    service,
    sign_ins,
    tickets,
    triggers,
)

__all__ = [
    "accounts",
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
    "runs",
    "service",
    "sign_ins",
    "tickets",
    "triggers",
]
