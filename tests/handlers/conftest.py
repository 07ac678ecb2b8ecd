"""Fixtures of the handlers' tests."""

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def seconds_spent() -> Callable[[], float]:
    """Seconds of processor time this thread has spent since the test began."""
    began = time.thread_time()
    return lambda: time.thread_time() - began
