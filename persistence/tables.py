"""All tables, imported so that `metadata` is complete; for migrations and tests."""

from persistence import (
    channel_alarms,
    channel_events,
    channels,
    contacts,
    deliveries,
    fields,
    groups,
    idempotency,
    labels,
    media,
    message_records,
    messages,
    phone_sync,
    rate_limits,
    tokens,
    users,
    workspaces,
)
from persistence.columns import metadata

MODULES = (
    channel_alarms,
    channel_events,
    channels,
    contacts,
    deliveries,
    fields,
    groups,
    idempotency,
    labels,
    media,
    message_records,
    messages,
    phone_sync,
    rate_limits,
    tokens,
    users,
    workspaces,
)

__all__ = ["MODULES", "metadata"]
