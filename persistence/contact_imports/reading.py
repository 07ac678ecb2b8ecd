"""Reads the rows of a file, which is a CSV file or a workbook, of which the first visible sheet counts, and finds out
what its columns could be and how numbers and dates are written in them. Cells are texts; `--` clears, and `'--` is the
text with these dashes. A process of its own reads the file (`reader.py`).
"""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from flows.dates import find_short_year, parse_datetime
from flows.environment import Environment, NumberFormat
from flows.numbers import NumberError, PlainNumber, parse_decimal
from flows.phones import parse_phone
from persistence.contact_imports import reader
from persistence.contact_imports.plain_files import CELL_LENGTH, COLUMNS_LIMIT, ENCODINGS, BadFile, Row
from persistence.contacts.urns import DATE_FORMATS, FixedClock, environment_of
from persistence.exports.kinds import restore_cell
from persistence.sql.columns import is_uuid
from persistence.workspaces.records import DATE_STYLES, Workspace

__all__ = ["CELL_LENGTH", "COLUMNS_LIMIT", "ENCODINGS", "BadFile", "ReaderDied", "Row", "Rows", "opened_rows"]

PROGRAM = Path(reader.__file__)
SILENCE_SECONDS = 120.0
"""A process that says nothing for so long is stuck."""
LARGEST_FRAME = 64 * 1024**2
OURS = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""What the process gets of our environment: nothing that is secret."""
ENDED = "The process that reads the file was ended ({how}): it needs more memory or time than one file may have."

EXAMPLES, EXAMPLE_LENGTH = 3, 200
SAMPLE = 200
"""So many values of a column say whether it has numbers, dates, phone numbers or UUIDs; the others are only looked at
for what the first ones were."""
SAMPLE_LENGTH = 500
MOSTLY = 0.8
DECIMAL_SIGNS = (".", ",")
DATE_LENGTH = 40
COMMA = re.compile(r"[+-]?(?:\d+,\d{1,2}|\d+,\d{4,}|\d{1,3}(?:[.'\u2019 \u00a0\u202f]\d{3})+,\d+)\Z")
POINT = re.compile(r"[+-]?(?:\d+\.\d{1,2}|\d+\.\d{4,}|\d{1,3}(?:[,'\u2019 \u00a0\u202f]\d{3})+\.\d+)\Z")
GROUPED = re.compile(r"[+-]?\d{1,3}(?P<sign>[.,'\u2019 \u00a0\u202f])\d{3}(?:(?P=sign)\d{3})*(?P<more>[.,]\d+)?\Z")
SPELLINGS = {"\u2019": "'", "\u00a0": " ", "\u202f": " "}
"""Of signs between groups of digits, as number formats name them."""


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


@contextmanager
def opened_rows(file: BinaryIO, encoding: str | None = None, *, cpu_seconds: int | None = None) -> Iterator[Rows]:
    """The rows of a file, with the first one that is not empty as the header. Nothing of it is in the memory of this
    process but a few rows; an encoding that is not given is guessed. The process that reads it computes for
    `cpu_seconds` at most, or for as long as a large import may take. Raises BadFile, ReaderDied.
    """
    with _as_real_file(file) as real:
        process = subprocess.Popen(
            [sys.executable, "-I", str(PROGRAM), encoding or "-", *([] if cpu_seconds is None else [str(cpu_seconds)])],
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


@dataclass(frozen=True, slots=True)
class Formats:
    """How the values of a file are read: the order of days and months, the decimal sign, and the sign between groups of
    digits; without one, that of the workspace if it has this decimal sign."""

    date_style: str
    decimal_sign: str
    grouping: str | None = None

    def environment_of(self, workspace: Workspace) -> Environment:
        read = environment_of(replace(workspace, date_style=self.date_style))
        own = read.number_format
        grouping = own.digit_grouping_symbol if own.decimal_symbol == self.decimal_sign else usual(self.decimal_sign)
        if self.grouping not in (None, self.decimal_sign):
            grouping = self.grouping
        return replace(read, number_format=NumberFormat(self.decimal_sign, grouping))


def usual(decimal_sign: str) -> str:
    """The sign between groups of digits that goes with a decimal sign, if nothing says which."""
    return "." if decimal_sign == "," else ","


def formats_of(workspace: Workspace) -> Formats:
    return Formats(workspace.date_style, environment_of(workspace).number_format.decimal_symbol)


@dataclass(slots=True)
class Values:
    """The values of a column. `numbers` counts those that are one with each decimal sign, `dates` those that are
    one in each order, `signs` and `groupings` those with which a decimal sign, or one between groups, is clear.
    `short_years` counts the dates of each order whose year has two digits, `short` shows some and the year."""

    filled: int = 0
    sample: list[str] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)
    dates: Counter[str] = field(default_factory=Counter)
    signs: Counter[str] = field(default_factory=Counter)
    groupings: Counter[str] = field(default_factory=Counter)
    short_years: Counter[str] = field(default_factory=Counter)
    short: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def share(self, is_such: Callable[[str], bool]) -> float:
        return sum(map(is_such, self.sample)) / len(self.sample) if self.sample else 0.0


class Survey:
    """Looks at all rows of a file."""

    def __init__(self, workspace: Workspace, now: datetime) -> None:
        self.columns: list[Values] = []
        self._country = workspace.country
        clock = FixedClock(now)
        orders = {style: replace(environment_of(workspace), date_format=form) for style, form in DATE_FORMATS.items()}

        @lru_cache(maxsize=50_000)
        def find_dates(text: str) -> tuple[tuple[str, str], ...]:
            """The orders in which the text is a date, each with the year as which two digits are read then."""
            found = ((style, each, parse_datetime(each, clock, text)) for style, each in orders.items())
            return tuple(
                (style, f"{text} = {moment.year}" if find_short_year(each, text, moment.year) else "")
                for style, each, moment in found
                if moment is not None
            )

        self._find_dates = find_dates

    def look(self, row: Row) -> None:
        for place, cell in enumerate(row[:COLUMNS_LIMIT]):
            if not cell:
                continue
            while place >= len(self.columns):
                self.columns.append(Values())
            self._look_at(self.columns[place], cell)

    def _look_at(self, values: Values, cell: str) -> None:
        values.filled += 1
        if len(values.sample) < SAMPLE:
            values.sample.append(cell[:SAMPLE_LENGTH])
        is_sampled = values.filled <= SAMPLE
        if not any(letter.isdigit() for letter in cell):
            return
        if is_sampled or values.numbers:
            values.numbers.update(sign for sign in DECIMAL_SIGNS if is_number(cell, sign))
            if isinstance(cell, PlainNumber):
                return
            if POINT.match(cell):
                values.signs["."] += 1
            elif COMMA.match(cell):
                values.signs[","] += 1
            grouped = GROUPED.match(cell)
            if grouped is not None and (grouped["more"] or grouped["sign"] not in DECIMAL_SIGNS):
                values.groupings[SPELLINGS.get(grouped["sign"], grouped["sign"])] += 1
        if (is_sampled or values.dates) and 5 < len(cell) <= DATE_LENGTH and not cell.isdigit():
            for style, short in self._find_dates(cell):
                values.dates[style] += 1
                if short:
                    values.short_years[style] += 1
                    if len(values.short.get(style, ())) < EXAMPLES:
                        values.short[style] = give_examples((*values.short.get(style, ()), short))

    def suggest_formats(self, own: Formats) -> Formats:
        """What the values themselves say; those of the workspace if they say nothing."""
        dated = [each for each in self.columns if is_mostly(each, most(each.dates))]
        orders = Counter({style: sum(each.dates[style] for each in dated) for style in DATE_STYLES})
        best = max(orders.values(), default=0)
        style = own.date_style if orders[own.date_style] == best else next(s for s in DATE_STYLES if orders[s] == best)
        signs: Counter[str] = Counter()
        groupings: Counter[str] = Counter()
        for each in self.columns:
            if is_mostly(each, most(each.numbers)):
                signs.update(each.signs)
                groupings.update(each.groupings)
        clear = max(DECIMAL_SIGNS, key=lambda sign: signs[sign])
        sign = own.decimal_sign if signs["."] == signs[","] else clear
        del groupings[sign]
        return Formats(style, sign, max(groupings, key=lambda each: groupings[each], default=None))

    def looks_like_phones(self, values: Values) -> bool:
        return values.share(lambda cell: is_phone(cell, self._country)) >= MOSTLY

    def looks_like_uuids(self, values: Values) -> bool:
        return values.share(is_uuid) >= MOSTLY

    def suggest_type(self, values: Values) -> str:
        """The type of a field for these values."""
        if is_mostly(values, most(values.dates)):
            return "datetime"
        if is_mostly(values, most(values.numbers)) and values.share(is_code) < 1 - MOSTLY:
            return "number"
        return "text"


def is_mostly(values: Values, count: int) -> bool:
    return values.filled > 0 and count / values.filled >= MOSTLY


def most(counts: Counter[str]) -> int:
    return max(counts.values(), default=0)


@lru_cache(maxsize=50_000, typed=True)
def is_number(text: str, sign: str) -> bool:
    """Whether a text is a number with this decimal sign, and clearly none with the other one."""
    if isinstance(text, PlainNumber):
        return True
    if (COMMA if sign == "." else POINT).match(text):
        return False
    try:
        grouped = GROUPED.match(text)
        grouping = usual(sign) if grouped is None else SPELLINGS.get(grouped["sign"], grouped["sign"])
        parse_decimal(text, NumberFormat(sign, grouping if grouping != sign else usual(sign)))
    except NumberError:
        return False
    return True


def is_code(text: str) -> bool:
    """Whether digits name something, as those of phones and cards do: nobody calculates with them."""
    return text.isdigit() and (len(text) > 9 or (len(text) > 1 and text[0] == "0"))


def is_phone(text: str, country: str) -> bool:
    if sum(letter.isdigit() for letter in text) < 7 or re.search(r"[^\W\d]", text.removeprefix("tel:")):
        return False
    number = text.removeprefix("tel:")
    return bool(parse_phone(number, country) or (number.isdigit() and parse_phone(f"+{number}")))


def give_examples(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each[:EXAMPLE_LENGTH] for each in texts))[:EXAMPLES]


def _how(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


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
