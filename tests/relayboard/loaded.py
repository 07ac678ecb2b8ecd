"""What a process has loaded that is forked from one with the whole program (`testbed.forked`): nothing of tests is
imported here, which would be found."""

import importlib
import sys


def count_loaded(*names: str) -> int:
    """How many modules are loaded that have one of these names or are parts of them."""
    return sum(each in names or each.startswith(tuple(f"{name}." for name in names)) for each in sys.modules)


def load_afterwards(*names: str) -> int:
    for name in names:
        importlib.import_module(name)
    return 0
