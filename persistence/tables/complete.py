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
    flows,
    messages,
    service,
)

__all__ = [
    "accounts",
    "campaigns",
    "changes",
    "channels",
    "contacts",
    "data_jobs",
    "deliveries",
    "flows",
    "messages",
    "metadata",
    "service",
]
