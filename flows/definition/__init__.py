"""Flow definitions of the public format: their shape, reading with checks, and the look-up of translations."""

from flows.definition.errors import DefinitionError
from flows.definition.localization import localize
from flows.definition.model import Action, Case, Category, Exit, Flow, Node, Router, Timeout, Wait
from flows.definition.reading import load

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
]
