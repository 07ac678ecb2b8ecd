"""The supervisor and its children."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from relayboard.processes import METRICS_FOLDER, Child, Supervisor

TELL_FOLDER = f"""
import os, signal, sys
os.write(int(sys.argv[1]), (os.environ["{METRICS_FOLDER}"] + "\\n").encode())
signal.pause()
"""


@pytest.fixture
def told() -> Iterator[tuple[TextIO, int]]:
    """A pipe on which children tell something: the end to read, the descriptor to write to."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        yield stream, writing
    os.close(writing)


def test_children_share_a_folder_of_metrics_that_goes_with_them(told, monkeypatch):
    monkeypatch.delenv(METRICS_FOLDER, raising=False)
    stream, writing = told
    command = [sys.executable, "-c", TELL_FOLDER, str(writing)]
    supervisor = Supervisor([Child(name, command, (writing,)) for name in ("one", "two")])
    thread = threading.Thread(target=supervisor.run)

    thread.start()
    folders = {stream.readline().strip(), stream.readline().strip()}
    existed = [Path(folder).is_dir() for folder in folders]
    supervisor.stop()
    thread.join()

    assert existed == [True]
    assert not Path(folders.pop()).exists()
