"""The commands, one module per noun of the command line."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

MODULES = {
    "serve": "processes",
    "worker": "processes",
    "migrate": "processes",
    "demo": "demo",
    "workspace": "workspaces",
    "user": "users",
    "token": "tokens",
    "secrets": "secrets",
    "channel": "channels",
    "group": "groups",
    "field": "contact_fields",
    "label": "labels",
    "media": "media",
    "topic": "topics",
    "campaign": "campaigns",
    "resthook": "resthooks",
    "global": "global_values",
    "optin": "optins",
    "ticketer": "ticketers",
    "classifier": "classifiers",
    "template": "templates",
    "ticket": "tickets",
    "flow": "flows",
    "trigger": "triggers",
    "start": "starts",
    "boundaries": "boundaries",
    "webhook": "webhooks",
    "delivery": "deliveries",
    "phone": "phone",
}
"""The module of each noun, in the order of the help."""


def load_commands(nouns: Iterable[str]) -> list[Callable[[Any], None]]:
    """What registers the commands of these nouns; only their modules are imported, for all together take a second."""
    modules = dict.fromkeys(MODULES[noun] for noun in nouns)
    return [import_module(f"relayboard.commands.{module}").register for module in modules]
