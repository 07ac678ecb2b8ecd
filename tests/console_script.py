"""The real console script, as a person or an operator's machine runs it."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from relayboard import cli
from testbed.forked import fork

SCRIPT = Path(sys.executable).parent / "relayboard"
PATIENCE_SECONDS = 300
"""For a machine that has much else to do."""
LAST_WORDS_SECONDS = 10
"""To read what a process wrote before it ended, although what it started may still hold its output open."""


def make_environment(**settings: str) -> dict[str, str]:
    """The environment of this process without settings of its own, and these."""
    rest = {name: value for name, value in os.environ.items() if not name.startswith("RELAYBOARD_")}
    return {**rest, **{f"RELAYBOARD_{name}": value for name, value in settings.items()}}


def call(
    *arguments: str, folder: Path, typed: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [str(SCRIPT), *arguments],
        cwd=folder,
        env=dict(make_environment() if environment is None else environment),
        input=typed,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def call_forked(
    *arguments: str, folder: Path, typed: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The same in a process that has the program loaded already, which saves most of its time: for commands that other
    tests run by their names."""
    with TemporaryDirectory() as place:
        read, out, err = Path(place, "in"), Path(place, "out"), Path(place, "err")
        read.write_text(typed)
        given = dict(make_environment() if environment is None else environment)
        process = fork(_command, arguments, folder, read, out, err, environment=given)
        try:
            status = process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
        return subprocess.CompletedProcess(arguments, status, out.read_text(), err.read_text())


def _command(arguments: Sequence[str], folder: Path, read: Path, out: Path, err: Path) -> int:
    os.chdir(folder)
    os.dup2(os.open(read, os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # open until the process ends
    for descriptor, path in ((1, out), (2, err)):
        written = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(written, descriptor)
    return cli.main(arguments)


@dataclass(slots=True)
class Started:
    """A running command, with its output so far."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    is_silent: bool = False

    def read(self, stream: object) -> None:
        for line in stream:  # type: ignore[attr-defined]
            with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
        with self.changed:
            self.is_silent = True
            self.changed.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match in a line on stdout or stderr; fails when the process has ended without it."""
        deadline = time.monotonic() + PATIENCE_SECONDS

        def find() -> re.Match[str] | None:
            return next((found for line in list(self.lines) if (found := re.search(pattern, line))), None)

        with self.changed:
            while not (find() or self.is_silent) and time.monotonic() < deadline:
                self.changed.wait(0.2)
                if self.process.poll() is not None:
                    deadline = min(deadline, time.monotonic() + LAST_WORDS_SECONDS)
                    self.changed.wait_for(lambda: find() or self.is_silent, deadline - time.monotonic())
        found = find()
        assert found is not None, f"{pattern!r} was not written:\n{self.text}"
        return found

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)

    @property
    def text(self) -> str:
        return "".join(self.lines)


@contextlib.contextmanager
def started(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None, command: list[str] | None = None
) -> Iterator[Started]:
    """A running command; at the end it is stopped, with everything that it started."""
    process = subprocess.Popen(
        [*(command or [str(SCRIPT)]), *arguments],
        cwd=folder,
        env=dict(make_environment() if environment is None else environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    running = Started(process)
    reader = threading.Thread(target=running.read, args=(process.stdout,), daemon=True)
    reader.start()
    try:
        yield running
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(PATIENCE_SECONDS)
        if process.stdout is not None and not reader.is_alive():
            process.stdout.close()
