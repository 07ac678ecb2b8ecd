"""The functions of the expression language, including router tests (flow format, functions). Every file here declares
some, see `registry`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
