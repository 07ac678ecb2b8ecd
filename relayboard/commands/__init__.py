"""The commands, one module per noun of the command line."""

import argparse
from collections.abc import Callable
from typing import Any

from relayboard.commands import (
    channels,
    groups,
    labels,
    processes,
    tokens,
    users,
    webhooks,
    workspaces,
)

Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

COMMANDS: tuple[Callable[[Any], None], ...] = (
    processes.register,
    workspaces.register,
    users.register,
    tokens.register,
    channels.register,
    groups.register,
    labels.register,
    webhooks.register,
)
