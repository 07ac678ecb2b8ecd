"""How hard the tests with drawn values try, and how long anything may take."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

from tests.thinned import EVERY_CASE

EXAMPLES = 60 if EVERY_CASE else 20
SECONDS_MOST = 5.0

Test = TypeVar("Test", bound=Callable[..., Any])


def tried(test: Test) -> Test:
    """Draws as many examples as these tests take."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=checks)(test)


@contextmanager
def within_seconds() -> Iterator[None]:
    """Fails if what is done takes longer than SECONDS_MOST of the processor's time.

    The garbage of the examples drawn so far is left for later, as tidying it up can take longer than that.
    """
    gc.disable()
    began = time.thread_time()
    try:
        yield
        seconds = time.thread_time() - began
    finally:
        gc.enable()
    assert seconds < SECONDS_MOST
