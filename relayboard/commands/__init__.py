"""The commands, one module per noun of the command line."""

from collections.abc import Callable
from typing import Any

from relayboard.commands import (
    boundaries,
    campaigns,
    channels,
    classifiers,
    deliveries,
    flows,
    global_values,
    groups,
    labels,
    optins,
    phone,
    processes,
    resthooks,
    templates,
    ticketers,
    tickets,
    tokens,
    topics,
    triggers,
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
    topics.register,
    campaigns.register,
    resthooks.register,
    global_values.register,
    optins.register,
    ticketers.register,
    classifiers.register,
    templates.register,
    tickets.register,
    flows.register,
    triggers.register,
    boundaries.register,
    webhooks.register,
    deliveries.register,
    phone.register,
)
