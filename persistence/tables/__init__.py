"""All tables, imported so that `metadata` is complete; declarations and standing conditions without logic."""

from persistence.sql.columns import metadata
from persistence.tables import (
    accounts,
    campaigns,
    channels,
    contacts,
    deliveries,
    flow_starts,
    flows,
    messages,
    runs,
    service,
    tickets,
    triggers,
)

__all__ = [
    "accounts",
    "campaigns",
    "channels",
    "contacts",
    "deliveries",
    "flow_starts",
    "flows",
    "messages",
    "metadata",
    "runs",
    "service",
    "tickets",
    "triggers",
]
