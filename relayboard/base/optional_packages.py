"""Packages that others load whenever they are installed, whether or not they are needed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def passing_over(*packages: str) -> Iterator[None]:
    """Imports of these packages fail in the block as if they were not installed, unless they are loaded already."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None says that there is no such module
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
