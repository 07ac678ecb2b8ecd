"""The rows of a file: a workbook, of which the first visible sheet counts, or a CSV file. Cells are texts; `--` clears,
and `'--` is the text with these dashes. A process of its own reads the file (`reader.py`)."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from flows.numbers import PlainNumber
from persistence.contact_imports import reader
from persistence.contact_imports.plain_files import CELL_LENGTH, COLUMNS_LIMIT, ENCODINGS, BadFile, Row
from persistence.exports.sheets import restore_cell

__all__ = ["CELL_LENGTH", "COLUMNS_LIMIT", "ENCODINGS", "BadFile", "ReaderDied", "Row", "Rows", "opened_rows"]

PROGRAM = Path(reader.__file__)
SILENCE_SECONDS = 120.0
"""A process that says nothing for so long is stuck."""
LARGEST_FRAME = 64 * 1024**2
OURS = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""What the process gets of our environment: nothing that is secret."""
ENDED = "The process that reads the file was ended ({how}): it needs more memory or time than one file may have."


class ReaderDied(Exception):
    """The process that reads a file did not end by itself; the text is for people."""


class Rows(Iterator[Row]):
    """The rows of a file in their order; empty rows are empty lists. `encoding` is None for a workbook."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._rows: list[Any] = []
        self._place = self._empty = 0
        self._is_done = False
        about = self._read_frame()
        self.encoding: str | None = None
        if about is None:
            self._is_done = True
            return
        self.encoding = about.get("encoding")
        self._is_csv = about["kind"] == "csv"

    def __next__(self) -> Row:
        while True:
            if self._empty:
                self._empty -= 1
                return []
            if self._place < len(self._rows):
                row = self._rows[self._place]
                self._place += 1
                if isinstance(row, int):
                    self._empty = row
                    continue
                if self._is_csv:
                    return [restore_cell(cell) if cell[:1] == "'" else cell for cell in row]
                return [PlainNumber(cell[0]) if type(cell) is list else cell for cell in row]
            self._more()

    def _more(self) -> None:
        """Raises BadFile, ReaderDied, StopIteration."""
        if self._is_done:
            raise StopIteration
        frame = self._read_frame()
        if frame is None:
            self._is_done = True
            raise StopIteration
        self._rows, self._place = frame, 0

    def _read_frame(self) -> Any:
        """The next frame; None after the last row. Raises BadFile, ReaderDied."""
        size = 0
        while not size:
            size = int.from_bytes(self._read(4), "big")
        if size > LARGEST_FRAME:
            raise BadFile("Rows of this file are too large.")
        frame = orjson.loads(self._read(size))
        if isinstance(frame, dict) and "end" in frame:
            if frame["end"] is not None:
                raise BadFile(frame["end"])
            return None
        return frame

    def _read(self, size: int) -> bytes:
        found = bytearray()
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while len(found) < size:
            ready, _, _ = select.select([pipe], [], [], SILENCE_SECONDS)
            if not ready:
                raise ReaderDied(f"The process that reads the file did nothing for {SILENCE_SECONDS:.0f} seconds.")
            piece = os.read(pipe, size - len(found))
            if not piece:
                raise ReaderDied(ENDED.format(how=_how(self._process.wait())))
            found += piece
        return bytes(found)


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


@contextmanager
def opened_rows(file: BinaryIO, encoding: str | None = None) -> Iterator[Rows]:
    """The rows of a file, with the first one that is not empty as the header. Nothing of it is in the memory of this
    process but a few rows; an encoding that is not given is guessed. Raises BadFile, ReaderDied.
    """
    with _as_real_file(file) as real:
        process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM), encoding or "-"],
            stdin=real,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={name: os.environ[name] for name in OURS if name in os.environ},
        )
        try:
            yield Rows(process)
        finally:
            _end(process)


@contextmanager
def _as_real_file(file: BinaryIO) -> Iterator[BinaryIO]:
    """The file at its beginning, on a disk: another process reads it."""
    try:
        file.fileno()
    except (OSError, AttributeError):
        with tempfile.TemporaryFile() as copy:
            file.seek(0)
            shutil.copyfileobj(file, copy)
            copy.flush()
            copy.seek(0)
            yield copy
        return
    file.flush() if file.writable() else None
    file.seek(0)
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    yield file


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the process, with all that it may have begun."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
