"""The commands, one module per noun of the command line."""

from collections.abc import Callable
from typing import Any

from relayboard.commands import (
    channels,
    deliveries,
    groups,
    labels,
    phone,
    processes,
    tokens,
    users,
    webhooks,
    workspaces,
)

COMMANDS: tuple[Callable[[Any], None], ...] = (
    processes.register,
    workspaces.register,
    users.register,
    tokens.register,
    channels.register,
    groups.register,
    labels.register,
    webhooks.register,
    deliveries.register,
    phone.register,
)
