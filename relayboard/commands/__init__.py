"""The commands: a module for each noun of the command line, and `creation.py` for all nouns that can only be
created."""

from collections.abc import Callable, Iterable
from importlib import import_module

from relayboard.commands.parser import Commands

MODULES = {
    "serve": "processes",
    "worker": "processes",
    "migrate": "processes",
    "status": "status",
    "doctor": "doctor",
    "backup": "backups",
    "restore": "backups",
    "copy-database": "backups",
    "demo": "demo",
    "workspace": "workspaces",
    "user": "users",
    "token": "tokens",
    "secrets": "secrets",
    "channel": "channels",
    "field": "contact_fields",
    "group": "creation",
    "label": "creation",
    "topic": "creation",
    "global": "creation",
    "optin": "creation",
    "ticketer": "creation",
    "classifier": "creation",
    "template": "creation",
    "media": "media",
    "campaign": "campaigns",
    "resthook": "resthooks",
    "ticket": "tickets",
    "flow": "flows",
    "trigger": "triggers",
    "start": "starts",
    "boundaries": "boundaries",
    "webhook": "webhooks",
    "delivery": "deliveries",
    "phone": "phone",
}
"""The module of each noun, in the order of the help text."""


def load_commands(nouns: Iterable[str]) -> list[Callable[[Commands], None]]:
    """The functions that register the commands of these nouns; only their modules are imported, because importing
    all takes a second."""
    modules = dict.fromkeys(MODULES[noun] for noun in nouns)
    return [import_module(f"relayboard.commands.{module}").register for module in modules]
