"""The areas to which API tokens can be limited. Each operation names its area in the YAML, as `x-area`; `x-shows` names
other areas whose records it always shows or changes, too."""

from handlers.contract.operations import OperationRules
from persistence.tokens import Areas, check_area

OPEN = "open"
"""For every token: what tells clients who and where they are, and the accounts of people."""
EACH = "each"
"""For every token, with the records whose areas the token covers; those of other areas do not exist for it."""


def check_areas(areas: Areas, rules: OperationRules) -> None:
    """Raises NotAllowed if a token that is limited to these areas, or to none, may not use an operation."""
    for area in (rules.area, *rules.shows):
        if area not in (OPEN, EACH):
            check_area(areas, area)
