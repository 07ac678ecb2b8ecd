"""Flow definitions of the public format: model, migrations, reading with checks, translations, inspection."""

from flows.definition.base_language import change_base_language
from flows.definition.errors import DefinitionError
from flows.definition.issues import Dependency, Finding, Inspection, Issue, inspect, list_findings, list_findings_of
from flows.definition.localization import localize
from flows.definition.migrating import migrate
from flows.definition.model import Action, Case, Category, Exit, Flow, Node, Pause, Router, Timeout, Wait
from flows.definition.reading import load
from flows.definition.references import KnownAssets, Reference, ResultSpec

__all__ = ["Action", "Case", "Category", "DefinitionError", "Dependency", "Exit", "Finding", "Flow"]
__all__ += ["Inspection", "Issue", "KnownAssets", "Node", "Reference", "ResultSpec", "Router", "Timeout"]
__all__ += [
    "Pause",
    "Wait",
    "change_base_language",
    "inspect",
    "list_findings",
    "list_findings_of",
    "load",
    "localize",
    "migrate",
]
