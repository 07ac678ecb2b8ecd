"""The garbage collector of a process of the service: idle while the process starts, and seldom busy afterwards."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 50)
"""New containers before the youngest generation is examined, then how often before the next ones. A page of 250 records
makes a few thousand containers, so a collection comes about every tenth page instead of several times in each.
"""


@contextmanager
def loading() -> Iterator[None]:
    """Imports in the block are not interrupted by collections, which would take a fifth of the time. What is loaded
    stays, so no later collection visits it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def postpone_collection() -> None:
    """Nothing that is made while a process starts becomes garbage worth looking for."""
    gc.disable()


def settle_collection() -> None:
    """Leaves everything that has been loaded out of all later collections, which otherwise visit a million objects
    each time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
