"""The functions of the expression language, including router tests (flow format, functions). Every file here declares
some, see `registry`.
"""

from importlib import import_module
from pkgutil import iter_modules

from flows.expressions.functions.registry import FUNCTIONS
from flows.expressions.values import XFunction

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")


def find_function(name: str) -> XFunction | None:
    """The function with this name, ignoring case."""
    return FUNCTIONS.get(name.lower())
