"""Fixtures of the handlers' tests."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from sqlalchemy.engine import make_url

HOLD_THE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def seconds_spent() -> Callable[[], float]:
    """Seconds of processor time this thread has spent since the test began."""
    began = time.thread_time()
    return lambda: time.thread_time() - began


@pytest.fixture
def locked(database_url: str) -> Callable[[], AbstractContextManager[None]]:
    """While a block runs, another process holds SQLite's write lock; PostgreSQL has no lock for all writers."""

    @contextmanager
    def hold() -> Iterator[None]:
        url = make_url(database_url)
        if url.get_backend_name() != "sqlite":
            yield
            return
        command = [sys.executable, "-c", HOLD_THE_LOCK, str(url.database)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "locked\n"
            yield
        finally:
            process.communicate("go\n")

    return hold
