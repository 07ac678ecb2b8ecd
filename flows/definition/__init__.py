"""Flow definitions of the public format: shape, migrations, reading with checks, look-up of translations."""

from flows.definition.errors import DefinitionError
from flows.definition.loading import load
from flows.definition.localization import localize
from flows.definition.migrating import migrate
from flows.definition.model import Action, Case, Category, Exit, Flow, Node, Router, Timeout, Wait

__all__ = [
    "Action",
    "Case",
    "Category",
    "DefinitionError",
    "Exit",
    "Flow",
    "Node",
    "Router",
    "Timeout",
    "Wait",
    "load",
    "localize",
    "migrate",
]
