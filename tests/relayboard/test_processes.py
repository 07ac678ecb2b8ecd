"""The supervisor and its children."""

import itertools
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from relayboard import api_server, processes
from relayboard.base.collection import settle_collection
from relayboard.processes import (
    BEGIN,
    CANNOT_START,
    ENDS_IN_A_ROW,
    METRICS_FOLDER,
    Child,
    Supervisor,
    stopped_by_signals,
    wait_for_begin,
)
from testbed.forked import fork, run_api
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.tokens import SECRET_KEY
from tests.console_script import make_environment

BARE = (sys.executable, "-I", "-S", "-c")
"""Python for children that need nothing of the program, which start faster without looking for it."""
TELL_FOLDER = f"""
import os, signal, sys
os.write(int(sys.argv[1]), (os.environ["{METRICS_FOLDER}"] + "\\n").encode())
signal.pause()
"""

WAITS_TO_BEGIN = """
import os, signal, sys
from relayboard.processes import wait_for_begin
os.write(int(sys.argv[1]), b"loaded\\n")
os.write(int(sys.argv[1]), b"began\\n" if wait_for_begin() else b"gave up\\n")
signal.pause()
"""


@pytest.fixture
def told() -> Iterator[tuple[TextIO, int]]:
    """A pipe on which children tell something: the end to read, the descriptor to write to."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        yield stream, writing
    os.close(writing)


def test_early_children_are_loaded_meanwhile_and_begin_when_what_they_need_is_there(told):
    stream, writing = told
    command = [sys.executable, "-c", WAITS_TO_BEGIN, str(writing)]
    early = [Child(name, command, (writing,), is_early=True) for name in ("one", "two")]
    late = Child("late", [*BARE, f"import os; os.write({writing}, b'late\\n')"], (writing,))
    supervisor = Supervisor([*early, late], first_pause_seconds=60)
    seen = []

    def prepare() -> None:
        seen.extend(stream.readline() for _ in early)

    with supervisor.opened():
        supervisor.begin(prepare)
        first = [child.process for child in early]
        thread = threading.Thread(target=supervisor.run)
        thread.start()
        after = {stream.readline() for _ in range(3)}
        supervisor.stop()
        thread.join()

    assert seen == ["loaded\n", "loaded\n"]
    assert after == {"began\n", "late\n"}
    assert [process.poll() for process in first] == [-signal.SIGTERM] * 2


def test_early_children_end_when_what_they_need_cannot_be_had(told):
    stream, writing = told
    early = Child("one", [sys.executable, "-c", WAITS_TO_BEGIN, str(writing)], (writing,), is_early=True)
    supervisor = Supervisor([early])
    started = []

    def prepare() -> None:
        assert stream.readline() == "loaded\n"
        started.append(early.process)
        raise LookupError

    with pytest.raises(LookupError), supervisor.opened():
        supervisor.begin(prepare)

    assert [process.poll() for process in started] == [-signal.SIGTERM]


def test_an_early_child_gives_up_when_its_supervisor_is_gone(monkeypatch):
    reading, telling = os.pipe()
    os.close(telling)
    monkeypatch.setenv(BEGIN, str(reading))
    assert not wait_for_begin()
    assert wait_for_begin()  # nobody told it to wait any more


def test_children_share_a_folder_of_metrics_that_goes_with_them(told, monkeypatch):
    monkeypatch.delenv(METRICS_FOLDER, raising=False)
    stream, writing = told
    command = [*BARE, TELL_FOLDER, str(writing)]
    supervisor = Supervisor([Child(name, command, (writing,)) for name in ("one", "two")])
    thread = threading.Thread(target=supervisor.run)

    thread.start()
    folders = {stream.readline().strip(), stream.readline().strip()}
    existed = [Path(folder).is_dir() for folder in folders]
    supervisor.stop()
    thread.join()

    assert existed == [True]
    assert not Path(folders.pop()).exists()


def test_what_a_dead_process_had_in_use_is_in_use_no_more(told, tmp_path, monkeypatch):
    """Another process of the same folder keeps its gauges, and the dead one what it has counted."""
    monkeypatch.setenv(METRICS_FOLDER, str(tmp_path))
    stream, writing = told
    program = "import os, sys; os.write(int(sys.argv[1]), f'{os.getpid()}\\n'.encode()); sys.stdin.read()"
    child = Child("one", [*BARE, program, str(writing)], (writing,))
    supervisor = Supervisor([child], first_pause_seconds=60)
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    pid = int(stream.readline())
    kept = [tmp_path / name for name in (f"counter_{pid}.db", "gauge_livesum_1.db")]
    gone = tmp_path / f"gauge_livesum_{pid}.db"
    for file in (*kept, gone):
        file.touch()

    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not gone.exists(), "the gauges to go")
    supervisor.stop()
    thread.join()

    assert all(file.exists() for file in kept)


TELL_AND_END = """
import os, sys
os.write(int(sys.argv[1]), b"begun\\n")
sys.exit(int(sys.argv[2]))
"""
WORK_AND_BE_KILLED = """
import os, signal, sys
from relayboard.processes import tell_ready
tell_ready()
os.write(int(sys.argv[1]), b"begun\\n")
os.kill(os.getpid(), signal.SIGKILL)
"""
NO_PAUSE = 0.0001


def begun(told: tuple[TextIO, int], status: int) -> tuple[int, int]:
    """What the supervisor of a child that ends with this status returns, and how often the child was begun."""
    stream, writing = told
    command = [*BARE, TELL_AND_END, str(writing), str(status)]
    supervisor = Supervisor([Child("worker", command, (writing,))], first_pause_seconds=NO_PAUSE)
    returned = supervisor.run()
    os.write(writing, b"end\n")
    return returned, len(list(iter(stream.readline, "end\n")))


def test_a_child_that_ends_again_and_again_is_given_up_after_growing_pauses_and_the_parent_ends_with_1(told, caplog):
    assert begun(told, 3) == (1, ENDS_IN_A_ROW)

    assert "worker ended 8 times in a row, the last time with status 3; everything stops" in caplog.text
    pauses = [float(record.args[2]) for record in caplog.records if len(record.args) == 3 and "again in" in record.msg]
    assert pauses == [NO_PAUSE * 2**count for count in range(ENDS_IN_A_ROW - 1)]


def test_a_child_that_said_why_it_cannot_start_is_not_started_again(told):
    assert begun(told, CANNOT_START) == (1, 1)


def test_a_child_that_worked_and_was_killed_from_outside_always_comes_back(told):
    stream, writing = told
    command = [sys.executable, "-c", WORK_AND_BE_KILLED, str(writing)]
    supervisor = Supervisor([Child("worker", command, (writing,))], first_pause_seconds=NO_PAUSE)
    thread = threading.Thread(target=supervisor.run)
    thread.start()

    for _ in range(ENDS_IN_A_ROW + 2):
        assert stream.readline() == "begun\n"

    assert thread.is_alive()
    supervisor.stop()
    thread.join()


TELL_AND_WAIT = """
import os, signal, sys
from relayboard.processes import tell_ready
tell_ready()
os.write(int(sys.argv[1]), b"begun\\n")
signal.pause()
"""


def test_everything_ends_with_the_main_child_and_with_its_status(told):
    stream, writing = told
    other = Child("other", [sys.executable, "-c", TELL_AND_WAIT, str(writing)], (writing,))
    waiting, ending = os.pipe()
    wait_and_end = f"import os; os.read({waiting}, 1); os._exit(7)"
    main = Child("main", [*BARE, wait_and_end], (waiting,), is_main=True)
    returned = []
    supervisor = Supervisor([main, other])
    thread = threading.Thread(target=lambda: returned.append(supervisor.run()))
    thread.start()
    assert stream.readline() == "begun\n"

    os.write(ending, b"!")
    thread.join()

    assert returned == [7]
    assert other.process.poll() is not None
    os.close(waiting)
    os.close(ending)


def test_a_signal_stops_it_at_any_moment_of_its_waiting(monkeypatch):
    """Also at one in which its thread holds a lock: a handler that wanted it would wait for ever."""
    monkeypatch.setattr(processes, "SHORT_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(processes, "LOOK_SECONDS", 0.01)

    def give_up(_number, _frame):
        raise AssertionError("it waits for itself")

    def stop_at(moment):
        """Whether there was so late a moment."""
        supervisor, passed = Supervisor([]), 0

        def trace(_frame, _event, _argument):
            nonlocal passed
            passed += 1
            if passed == moment:
                signal.raise_signal(signal.SIGUSR1)
            return trace

        def wait():
            sys.settrace(trace)
            try:
                return unwatched(supervisor)
            finally:
                sys.settrace(None)
                rounds.append(passed)
                if len(rounds) > 1:
                    supervisor.stop()

        rounds = []
        monkeypatch.setattr(Supervisor, "_wait", lambda _self: wait())
        with stopped_by_signals(supervisor, [signal.SIGUSR1]):
            assert supervisor.run() == 0
        return rounds[0] >= moment

    unwatched = Supervisor._wait
    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(int(PATIENCE_SECONDS))
    try:
        moments = itertools.takewhile(stop_at, itertools.count(1))
        assert len(list(moments)) > 5
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def test_a_child_waits_for_the_one_before_it_and_then_all_are_ready(told):
    stream, writing = told
    first = Child("first", [sys.executable, "-c", TELL_AND_WAIT, str(writing)], (writing,))
    second = Child("second", [sys.executable, "-c", TELL_AND_WAIT, str(writing)], (writing,), after=first)
    ready = threading.Event()
    supervisor = Supervisor([second, first], on_ready=ready.set)
    thread = threading.Thread(target=supervisor.run)
    thread.start()

    assert [stream.readline(), stream.readline()] == ["begun\n"] * 2
    assert ready.wait(PATIENCE_SECONDS)
    supervisor.stop()
    thread.join()

    assert first.ready_since < second.ready_since


def run_api_that_is_told_to_stop(listener):
    def told():
        os.kill(os.getpid(), signal.SIGTERM)
        settle_collection()

    pytest.MonkeyPatch().setattr(api_server, "settle_collection", told)
    return run_api(listener)


def test_an_api_process_that_is_told_to_stop_before_it_listens_stops(sqlite_template, tmp_path):
    (tmp_path / "relayboard.db").write_bytes(sqlite_template.read_bytes())
    settings = {"DATABASE_URL": f"sqlite:///{tmp_path / 'relayboard.db'}", "SECRET_KEY": SECRET_KEY}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        process = fork(run_api_that_is_told_to_stop, listening, environment=make_environment(**settings))
        try:
            assert process.wait(PATIENCE_SECONDS) == 0
        finally:
            process.kill()
