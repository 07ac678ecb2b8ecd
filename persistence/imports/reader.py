"""The process that reads a file of a stranger: a program of its own, which imports nothing of ours. It has limits of
memory, time and files, and no secrets in its environment; what a file does to it, it does to nobody else.

`python -I reader.py ENCODING`, with the file as standard input and `-` for an encoding that is guessed. It writes
frames: four bytes with a length, then JSON; an empty frame is a sign of life. The first frame says what the file is,
each other one has rows: lists of texts, with a text in a list for a number that has a point, and a number for so many
empty rows. The last one says why reading ended.

Rows of CSV and XLSX are read one by one; texts that a workbook shares are kept in a temporary file. Of XLS, XLSB and
ODS the sheet is in memory, within the limit.
"""

import codecs
import contextlib
import csv
import io
import json
import os
import re
import resource
import sys
import tempfile
import unicodedata
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, BinaryIO, NoReturn
from xml.parsers import expat

MEMORY_BYTES = 512 * 1024**2
CPU_SECONDS = 600
LARGEST_TEMPORARY_BYTES = 4 * 1024**3
LARGEST_PART_BYTES = 4 * 1024**3
SMALL_PART_BYTES = 32 * 1024**2
"""So large the parts of a workbook may be that say what its sheets and styles are."""
ROWS_LIMIT = 1_048_576
COLUMNS_LIMIT = 500
CELL_LENGTH = 10_000
SHORTENED = CELL_LENGTH + 1
"""A cell that is too long keeps so many characters: whoever uses it sees that it is."""
LINE_LENGTH = 8 * 1024**2
PIECE_BYTES = 1 << 18
LIFE_BYTES = 1 << 24
FRAME_BYTES = 1 << 18
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
DELIMITERS = ",;\t|"
SEPARATOR = re.compile(r'"?sep=(.)"?\s*\Z', re.IGNORECASE)
NOT_A_WORKBOOK = "This is not a workbook that can be read."

NO_TABLES = {
    **dict.fromkeys((b"<html", b"<!doctype html", b"<table"), "a web page"),
    **dict.fromkeys((b"<?xml", b"<workbook"), "an XML file"),
    **dict.fromkeys((b"%pdf-",), "a PDF file"),
    **dict.fromkeys((b"{\\rtf",), "a text document"),
    **dict.fromkeys((b"\x89png", b"gif8", b"\xff\xd8\xff"), "a picture"),
}
"""How files begin that some systems name .xls or .csv."""

Row = list[str]


class Number(str):
    """A cell that is a number with decimals: it has a point, whatever people of the workspace write."""


class BadFile(ValueError):
    """A file that cannot be read; the text is for people."""


class Frames:
    """Writes frames to the parent."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._rows: list[list[str | list[str]] | int] = []
        self._size = self._read = 0

    def tell(self, **values: Any) -> None:
        self.flush()
        self._write(json.dumps(values).encode())

    def live(self, size: int) -> None:
        """Notes that so many bytes were read, and shows now and then that this process is at work."""
        self._read += size
        if self._read >= LIFE_BYTES:
            self._read = 0
            self._write(b"")

    def row(self, row: Row) -> None:
        if row:
            self._rows.append([[cell] if type(cell) is Number else cell for cell in row])
            self._size += 8 * len(row) + sum(map(len, row))
        elif self._rows and isinstance(self._rows[-1], int):
            self._rows[-1] += 1
        else:
            self._rows.append(1)
        if self._size >= FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self._write(json.dumps(self._rows, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
            self._rows, self._size, self._read = [], 0, 0

    def _write(self, data: bytes) -> None:
        self._out.write(len(data).to_bytes(4, "big") + data)
        self._out.flush()


def main() -> None:
    _limit()
    frames = Frames(os.fdopen(os.dup(1), "wb"))
    encoding = sys.argv[1]
    try:
        with os.fdopen(0, "rb") as file:
            for row in _rows_of(file, None if encoding == "-" else encoding, frames):
                frames.row(row)
        frames.tell(end=None)
    except BadFile as error:
        frames.tell(end=str(error))
    except MemoryError:
        frames.tell(end=f"Reading this file takes more than the {MEMORY_BYTES // 1024**2} MiB that one file may take.")
    except UnicodeDecodeError as error:
        frames.tell(end=f"This CSV file is not in {error.encoding}: choose another encoding.")
    except BrokenPipeError:
        _leave()


def _leave() -> NoReturn:
    """The parent wants no more."""
    os._exit(0)


def _limit() -> None:
    """Whatever the file makes this process do, it stays within these limits, and is the first to go when memory is
    short."""
    limits = [
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, LARGEST_TEMPORARY_BYTES),
        (resource.RLIMIT_CORE, 0),
    ]
    for kind, limit in limits:
        _, hard = resource.getrlimit(kind)
        least = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):  # a system that knows no such limit; the parent's clock remains
            resource.setrlimit(kind, (least, least))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")


def _rows_of(file: BinaryIO, encoding: str | None, frames: Frames) -> Iterator[Row]:
    beginning = file.read(4)
    file.seek(0)
    if beginning == OLE:
        frames.tell(kind="workbook")
        return _sheet_rows(file)
    if beginning != ZIP:
        _check_text(file)
        return _csv_rows(file, encoding, frames)
    frames.tell(kind="workbook")
    return _packed_rows(file, frames)


def _check_text(file: BinaryIO) -> None:
    """Raises BadFile for what is neither a workbook nor a CSV file, whatever its name says."""
    beginning = file.read(1024).removeprefix(codecs.BOM_UTF8).lstrip().lower()
    file.seek(0)
    kind = next((kind for mark, kind in NO_TABLES.items() if beginning.startswith(mark)), None)
    if kind is not None:
        raise BadFile(f"This is {kind}: open it and save it as a workbook (XLSX) or as CSV.")


def _packed_rows(file: BinaryIO, frames: Frames) -> Iterator[Row]:
    try:
        with zipfile.ZipFile(file) as packed:
            book = Workbook.find(packed, frames)
            if book is not None:
                yield from book.rows()
                return
            _check_sizes(packed)
        file.seek(0)
        yield from _sheet_rows(file)
    except (zipfile.BadZipFile, zlib.error, expat.ExpatError, EOFError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise BadFile(NOT_A_WORKBOOK) from error
    except (KeyError, ValueError, IndexError, OverflowError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, BadFile):
            raise
        # What a spoiled directory makes of names, sizes, methods and flags (a password, for example).
        raise BadFile(NOT_A_WORKBOOK) from error


def _check_sizes(packed: zipfile.ZipFile) -> None:
    if sum(each.file_size for each in packed.infolist()) > MEMORY_BYTES:
        raise BadFile(f"Unpacked, a workbook of this kind may have {MEMORY_BYTES // 1024**2} MiB: save it as XLSX.")


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse_entities(*_: Any) -> None:
    raise BadFile("A workbook may not declare types of documents or entities.")


class Workbook:
    """An XLSX file: where its first visible sheet is, which styles are dates, and the texts that its cells share."""

    def __init__(self, packed: zipfile.ZipFile, path: str, frames: Frames) -> None:
        self._packed, self._frames = packed, frames
        folder = path.rpartition("/")[0]
        self._is_1904 = False
        sheets = self._list_sheets(path)
        targets = self._list_targets(path, folder)
        first = next((target for kind, target in (targets.get(each, ("", "")) for each in sheets) if "sheet" in kind
                      and "chartsheet" not in kind), None)  # fmt: skip
        if first is None:
            raise BadFile("This workbook has no sheet.")
        self._sheet = first
        of_kind = {kind.rpartition("/")[2]: target for kind, target in targets.values()}
        self._dates = self._find_dates(of_kind.get("styles"))
        self._texts = self._read_texts(of_kind.get("sharedStrings"))

    @classmethod
    def find(cls, packed: zipfile.ZipFile, frames: Frames) -> "Workbook | None":
        """None for a file that is a workbook of another kind. Raises BadFile for one that is none."""
        names = set(packed.namelist())
        if "xl/workbook.bin" in names or "mimetype" in names or "content.xml" in names:
            return None
        path = "xl/workbook.xml"
        if "_rels/.rels" in names:
            found: list[str] = []

            def start(name: str, attrs: dict[str, str]) -> None:
                if _local(name) == "Relationship" and attrs.get("Type", "").endswith("/officeDocument"):
                    found.append(attrs["Target"].lstrip("/"))

            _parse(packed, "_rels/.rels", frames, start, limit=SMALL_PART_BYTES)
            path = found[0] if found else path
        if path not in names:
            raise BadFile(NOT_A_WORKBOOK)
        return cls(packed, path, frames)

    def _list_sheets(self, path: str) -> list[str]:
        """The relations of the sheets that people see, in their order."""
        seen: list[str] = []

        def start(name: str, attrs: dict[str, str]) -> None:
            kind = _local(name)
            if kind == "workbookPr":
                self._is_1904 = attrs.get("date1904", "0") in ("1", "true")
            elif kind == "sheet" and attrs.get("state", "visible") == "visible":
                seen.extend(value for key, value in attrs.items() if key != "id" and _local(key) == "id")

        _parse(self._packed, path, self._frames, start, limit=SMALL_PART_BYTES)
        return seen

    def _list_targets(self, path: str, folder: str) -> dict[str, tuple[str, str]]:
        """Kind and path of each relation of the workbook."""
        found: dict[str, tuple[str, str]] = {}

        def start(name: str, attrs: dict[str, str]) -> None:
            if _local(name) == "Relationship":
                target = attrs["Target"]
                whole = target.lstrip("/") if target.startswith("/") else os.path.normpath(f"{folder}/{target}")
                found[attrs["Id"]] = (attrs.get("Type", ""), whole)

        base = path.rpartition("/")[2]
        _parse(self._packed, f"{folder}/_rels/{base}.rels", self._frames, start, limit=SMALL_PART_BYTES)
        return found

    def _find_dates(self, path: str | None) -> dict[str, str]:
        """The styles of cells that are shown as times: `date` or `duration` by the number of the style."""
        if path is None or path not in self._packed.namelist():
            return {}
        codes: dict[str, str] = {}
        formats: list[str] = []
        places: list[str] = []

        def start(name: str, attrs: dict[str, str]) -> None:
            kind = _local(name)
            places.append(kind)
            if kind == "numFmt":
                codes[attrs.get("numFmtId", "")] = attrs.get("formatCode", "")
            elif kind == "xf" and "cellXfs" in places:
                formats.append(attrs.get("numFmtId", "0"))

        def end(_name: str) -> None:
            places.pop()

        _parse(self._packed, path, self._frames, start, end, limit=SMALL_PART_BYTES)
        found = {str(place): _time_format(number, codes) for place, number in enumerate(formats)}
        return {place: kind for place, kind in found.items() if kind}

    def _read_texts(self, path: str | None) -> "Texts":
        texts = Texts()
        if path is None or path not in self._packed.namelist():
            return texts
        pieces: list[str] = []
        state = {"text": False, "spoken": 0, "length": 0}

        def start(name: str, _attrs: dict[str, str]) -> None:
            kind = _local(name)
            if kind == "t":
                state["text"] = not state["spoken"]
            elif kind == "rPh":
                state["spoken"] += 1
            elif kind == "si":
                pieces.clear()
                state["length"] = 0

        def end(name: str) -> None:
            kind = _local(name)
            if kind == "t":
                state["text"] = False
            elif kind == "rPh":
                state["spoken"] -= 1
            elif kind == "si":
                texts.add("".join(pieces)[:SHORTENED])
                pieces.clear()

        def data(text: str) -> None:
            if state["text"] and state["length"] < SHORTENED:
                pieces.append(text)
                state["length"] += len(text)

        _parse(self._packed, path, self._frames, start, end, data)
        texts.finish()
        return texts

    def rows(self) -> Iterator[Row]:
        """The rows of the sheet, those that are missing as empty ones."""
        sheet = SheetParser(self._texts, self._dates, is_1904=self._is_1904)
        last = 0
        with self._packed.open(self._sheet) as part:
            for piece in _pieces(part, LARGEST_PART_BYTES, self._frames):
                sheet.feed(piece)
                for number, row in sheet.take():
                    for _ in range(last + 1, number):
                        yield []
                    yield row
                    last = number
            sheet.feed(b"", is_last=True)
        for number, row in sheet.take():
            for _ in range(last + 1, number):
                yield []
            yield row
            last = number


class SheetParser:
    """Makes rows of the XML of a sheet, while it arrives."""

    def __init__(self, texts: "Texts", dates: dict[str, str], *, is_1904: bool) -> None:
        self._texts, self._dates = texts, dates
        self._epoch = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = _refuse_entities
        self._done: list[tuple[int, Row]] = []
        self._cells: Row = []
        self._row = self._column = self._length = self._size = 0
        self._kind = self._style = ""
        self._pieces: list[str] = []
        self._is_in_row = self._is_text = False

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        self._size += len(data)
        _feed(self._parser, data, self._size, is_last=is_last)

    def take(self) -> list[tuple[int, Row]]:
        done, self._done = self._done, []
        return done

    def _start(self, name: str, attrs: dict[str, str]) -> None:
        if name == "c" or (":" in name and _local(name) == "c"):
            reference = attrs.get("r")
            self._column = self._column + 1 if reference is None else _column_of(reference)
            self._kind = attrs.get("t", "n")
            self._style = attrs.get("s", "")
            self._pieces, self._length = [], 0
        elif name in ("v", "t") or (":" in name and _local(name) in ("v", "t")):
            self._is_text = self._is_in_row
        elif _local(name) == "row":
            number = int(attrs.get("r", self._row + 1))
            if not self._row < number <= ROWS_LIMIT:
                raise BadFile(f"Row {str(number)[:12]} of the sheet is at no place where a row can be.")
            self._row, self._column, self._cells, self._is_in_row = number, 0, [], True
        elif _local(name) == "rPh":
            self._kind = "spoken" if self._kind == "inlineStr" else self._kind

    def _data(self, text: str) -> None:
        if self._is_text and self._length < SHORTENED and self._kind != "spoken":
            self._pieces.append(text)
            self._length += len(text)

    def _end(self, name: str) -> None:
        if name == "v" or name == "t" or (":" in name and _local(name) in ("v", "t")):
            self._is_text = False
        elif name == "c" or (":" in name and _local(name) == "c"):
            if self._pieces:
                self._put(self._value("".join(self._pieces)[:SHORTENED]))
        elif _local(name) == "row":
            self._is_in_row = False
            if self._cells:
                self._done.append((self._row, self._cells))
                self._cells = []
        elif _local(name) == "rPh" and self._kind == "spoken":
            self._kind = "inlineStr"

    def _put(self, text: str) -> None:
        if not text:
            return
        place = min(self._column, COLUMNS_LIMIT + 1)
        missing = place - len(self._cells)
        if missing > 1:
            self._cells.extend([""] * (missing - 1))
        if missing > 0:
            self._cells.append(text)
        else:
            self._cells[place - 1] = text

    def _value(self, text: str) -> str:
        if self._kind == "s":
            return self._texts.get(int(text)).strip()
        if self._kind in ("str", "inlineStr", "spoken", "e"):
            return text.strip()
        if self._kind == "b":
            return "true" if text.strip() == "1" else "false"
        if self._kind == "d":
            return text.strip().replace("T", " ")
        shown = self._dates.get(self._style)
        return _number(text.strip()) if shown is None else _moment(text.strip(), self._epoch, shown)


def _column_of(reference: str) -> int:
    column = 0
    for letter in reference:
        if not "A" <= letter <= "Z":
            break
        column = column * 26 + ord(letter) - 64
    if not column or len(reference) > 12:
        raise BadFile(f"The sheet has a cell at no place: {reference[:12]}.")
    return column


def _number(text: str) -> str:
    """Whole numbers without a decimal point."""
    if text.isdigit() and len(text) < 16:
        return text if text == "0" or text[0] != "0" else str(int(text))
    try:
        return _plain(float(text))
    except ValueError:
        return text


def _plain(number: float) -> str:
    is_whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if is_whole else Number(f"{Decimal(repr(number)):f}")


def _moment(text: str, epoch: datetime, shown: str) -> str:
    """A date or time in ISO 8601, or a number with zeros before it; a number that cannot be a time stays a number."""
    try:
        days = float(text)
        if shown == "duration":
            return _duration(timedelta(seconds=round(days * 86400)))
        if shown.startswith("0"):
            return _number(text).zfill(len(shown)) if text.isdigit() else _number(text)
        if 0 <= days < 1:
            return str((datetime.min + timedelta(seconds=round(days * 86400))).time())
        if epoch.year == 1899 and days < 60:
            days += 1  # this calendar has a 29 February 1900
        found = epoch + timedelta(days=int(days), seconds=round((days - int(days)) * 86400))
    except (ValueError, OverflowError):
        return _number(text)
    return found.date().isoformat() if found.time() == time() else found.isoformat(sep=" ")


def _duration(long: timedelta) -> str:
    """Hours, minutes and seconds, as sheets show them: 36:00:00 and not 1 day, 12:00:00."""
    minutes, seconds = divmod(round(abs(long).total_seconds()), 60)
    return f"{'-' if long < timedelta() else ''}{minutes // 60}:{minutes % 60:02}:{seconds:02}"


PADDED = re.compile("0{2,}")
"""A format that shows zeros before a number: of phones and codes of places."""
TIME_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
ASIDE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)


def _time_format(number: str, codes: dict[str, str]) -> str:
    code = codes.get(number)
    if code is None:
        return "duration" if number == "46" else "date" if number.isdigit() and int(number) in TIME_FORMATS else ""
    bare = ASIDE.sub("", code.split(";")[0]).casefold()
    if re.search(r"\[[hms]+\]", bare):
        return "duration"
    if PADDED.fullmatch(bare):
        return bare
    return "date" if re.search("[dmyhs]", bare.replace("general", "")) else ""


class Texts:
    """The texts that cells share: the first ones in memory, the others in a temporary file, which are mostly asked for
    in their order."""

    IN_MEMORY = 4 * 1024**2
    BLOCK = 1 << 18

    def __init__(self) -> None:
        self._first: list[str] = []
        self._size = 0
        self._file: Any = None
        self._starts = array("Q")
        self._end = 0
        self._block, self._block_start = b"", 0

    def add(self, text: str) -> None:
        if self._file is None and self._size < self.IN_MEMORY:
            self._first.append(text)
            self._size += len(text) + 64
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # open for as long as the process lives
        data = text.encode("utf-8", "replace")
        self._starts.append(self._end)
        self._file.write(data)
        self._end += len(data)

    def finish(self) -> None:
        if self._file is not None:
            self._file.flush()
            self._starts.append(self._end)

    def get(self, place: int) -> str:
        """Raises BadFile."""
        if 0 <= place < len(self._first):
            return self._first[place]
        later = place - len(self._first)
        if not 0 <= later < len(self._starts) - 1:
            raise BadFile("A cell of the sheet has a text that is not in the workbook.")
        start, end = self._starts[later], self._starts[later + 1]
        if not (self._block_start <= start and end <= self._block_start + len(self._block)):
            size = max(self.BLOCK, end - start)
            self._block, self._block_start = os.pread(self._file.fileno(), size, start), start
        return self._block[start - self._block_start : end - self._block_start].decode()


def _parse(
    packed: zipfile.ZipFile, path: str, frames: Frames, start: Any, end: Any = None, data: Any = None,
    *, limit: int = LARGEST_PART_BYTES,
) -> None:  # fmt: skip
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = _refuse_entities
    with packed.open(path) as part:
        size = 0
        for piece in _pieces(part, limit, frames):
            size += len(piece)
            _feed(parser, piece, size)
        _feed(parser, b"", size, is_last=True)


def _feed(parser: Any, data: bytes, size: int, *, is_last: bool = False) -> None:
    """A tag that never ends would be read again with each piece."""
    parser.Parse(data, is_last)
    if size - parser.CurrentByteIndex > LINE_LENGTH:
        raise BadFile(NOT_A_WORKBOOK)


def _pieces(part: Any, limit: int, frames: Frames) -> Iterator[bytes]:
    """Counts what comes out, whatever the directory of the file says."""
    size = 0
    while piece := part.read(PIECE_BYTES):
        size += len(piece)
        if size > limit:
            raise BadFile(f"Unpacked, a part of this workbook has more than {limit // 1024**2} MiB.")
        frames.live(len(piece))
        yield piece


def _sheet_rows(file: BinaryIO) -> Iterator[Row]:
    """XLS, XLSB and ODS: the sheet is in memory."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum  # noqa: PLC0415  # rarely needed

    try:
        with CalamineWorkbook.from_filelike(file) as workbook:
            seen = [each.name for each in workbook.sheets_metadata if each.visible == SheetVisibleEnum.Visible]
            if not seen:
                raise BadFile("This workbook has no sheet.")
            sheet = workbook.get_sheet_by_name(seen[0])
            for _ in range(0 if sheet.start is None else sheet.start[0]):
                yield []
            left = 0 if sheet.start is None else sheet.start[1]
            for row in sheet.iter_rows():
                yield _trimmed([*[""] * left, *map(_text_of, row)])
    except CalamineError as error:
        raise BadFile(NOT_A_WORKBOOK) from error


def _text_of(cell: object) -> str:
    """A cell as people would have typed it: whole numbers without a decimal point, dates in ISO 8601."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return _plain(cell)
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, timedelta):
        return _duration(cell)
    if isinstance(cell, (date, time)):
        return str(cell)
    return str(cell).strip()[:SHORTENED]


def _trimmed(row: Row) -> Row:
    """Without empty cells at the end; of a row that is too wide one cell too many is left."""
    if len(row) > COLUMNS_LIMIT:
        rest = next((cell for cell in row[COLUMNS_LIMIT:] if cell), "")
        row = [*row[:COLUMNS_LIMIT], rest]
    while row and not row[-1]:
        row.pop()
    return row


def _csv_rows(file: BinaryIO, encoding: str | None, frames: Frames) -> Iterator[Row]:
    from_beginning = file.read(1 << 16)
    file.seek(0)
    encoding = encoding or _guess_encoding(file, from_beginning, frames)
    if encoding == "utf-8" and from_beginning.startswith(codecs.BOM_UTF8):
        encoding = "utf-8-sig"
    file.seek(0)
    lines = Lines(io.TextIOWrapper(file, encoding, newline=""), frames)
    delimiter = lines.find_delimiter()
    frames.tell(kind="csv", encoding=encoding.removesuffix("-sig"), delimiter=delimiter)
    csv.field_size_limit(LINE_LENGTH)
    reader = csv.reader(lines, delimiter=delimiter)
    if lines.is_declared:
        yield []
    try:
        for row in reader:
            if lines.is_at_end and lines.ends_in_quotes(delimiter):
                raise BadFile(f'The row that begins in line {lines.begun} has a quotation mark (") that never ends.')
            lines.begin_row()
            yield _trimmed([cell.strip()[:SHORTENED] for cell in row])
    except csv.Error as error:
        raise BadFile(f"This is not a CSV file: line {reader.line_num}: {error}.") from error


class Lines:
    """The lines of a CSV file, of which none may be endless."""

    def __init__(self, text: io.TextIOWrapper, frames: Frames) -> None:
        self._text, self._frames = text, frames
        self._first: list[str] = []
        self.number = 0
        self.begun = 1
        self.is_at_end = self.is_declared = False
        self._row: list[str] = []
        self._ready: Iterator[str] = iter(())
        self._rest = ""

    def find_delimiter(self) -> str:
        """What the first line names (`sep=;`), or has most often outside of quotes."""
        line = self._read()
        declared = SEPARATOR.match(line)
        if declared is not None:
            self.is_declared, self.number, self.begun = True, 1, 2
            return declared[1]
        self._first.append(line)
        while not line.strip() and line:
            line = self._read()
            self._first.append(line)
        bare = "".join(line.split('"')[::2])
        return max(DELIMITERS, key=bare.count)

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._first.pop(0) if self._first else self._read()
        if not line:
            self.is_at_end = True
            raise StopIteration
        self.number += 1
        self._row.append(line)
        self._frames.live(len(line))
        return line

    def begin_row(self) -> None:
        self.begun = self.number + 1
        self._row.clear()

    def ends_in_quotes(self, delimiter: str) -> bool:
        """Whether the last row ended because the file did: a reader that is told so refuses it."""
        try:
            list(csv.reader(["".join(self._row)], delimiter=delimiter, strict=True))
        except csv.Error as error:
            return "unexpected end" in str(error)
        return False

    def _read(self) -> str:
        """The next line with its end; an empty text after the last one. Raises BadFile."""
        while (line := next(self._ready, None)) is None:
            if not self._fill():
                line, self._rest = self._rest, ""
                return line
        return line

    def _fill(self) -> bool:
        """Reads more lines; whether there was anything. The last one may go on in the next piece."""
        pieces = [self._rest]
        size = len(self._rest)
        while True:
            piece = self._text.read(PIECE_BYTES)
            if piece.endswith("\r"):
                piece += self._text.read(1)
            pieces.append(piece)
            size += len(piece)
            if not piece or "\n" in piece or "\r" in piece:
                break
            if size > LINE_LENGTH:
                raise BadFile(f"Line {self.number + 1} has more than {LINE_LENGTH // 1024**2} million characters.")
        lines = list(io.StringIO("".join(pieces), newline=""))
        if not piece:
            self._rest = ""
            self._ready = iter(lines)
            return bool(lines)
        self._rest = lines.pop() if lines[-1][-1] not in "\r\n" else ""
        self._ready = iter(lines)
        return True


MARKS = (
    *((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
LATIN = {
    "cp1252": "éèàâçêëîïôùûüöäßñáíóúãõåæø",
    "cp1250": "ąęłńóśźżčšžřěůýáíéúőűăţşâîćđ",
    "cp1254": "ışğçöüİŞâÇÖÜ",
    "mac_roman": "éèàâçêëîïôùûüöäßñáíóúãõ",
    "cp850": "éèàâçêëîïôùûüöäßñáíóúãõ",
}
OTHER = {
    "cp1251": "оеаинтсрвлкмдпу",
    "koi8-r": "оеаинтсрвлкмдпу",
    "cp866": "оеаинтсрвлкмдпу",
    "cp1253": "αοιετσνηυρπκςάίόέή",
    "cp1255": "יוהלאתשרמבנעחדקכםןףסטפצ",
    "cp1256": "ايلمنوتربدهعسحكفقةأى",
    "cp874": "านรอกเงมยลวดทสตะปบคหจพชแ่้ิีัุ",
}
"""The letters that are usual in the languages of an encoding: they tell it from others that make letters of all."""
FINAL = "ךםןףץ"
"""Letters that only end words."""
LARGE = {"gb18030": (0xB0, 0xD7), "big5": (0xA4, 0xC6), "cp949": (0xB0, 0xC8), "cp932": (0x82, 0x97)}
"""Encodings with two bytes for a letter, and with which bytes the usual ones begin."""
ENCODINGS = ("utf-8", "utf-16", *LATIN, *OTHER, *LARGE)
SAMPLE_BYTES = 1 << 17
WORD = re.compile(rb"[A-Za-z\x80-\xff]{1,64}")
LARGE_WORD = re.compile(rb"[\x40-\x7e\x80-\xff]+")
"""The second of two bytes may be a sign of ASCII."""
MOST_BROKEN = 0.02


def _guess_encoding(file: BinaryIO, beginning: bytes, frames: Frames) -> str:
    """By a mark, by UTF-8, of which the whole file is, or by which encoding makes words of the bytes."""
    marked = next((encoding for mark, encoding in MARKS if beginning.startswith(mark)), None)
    if marked is not None:
        return marked
    zeros = beginning.count(0)
    if zeros > len(beginning) // 5:
        return "utf-16-le" if beginning[1::2].count(0) > zeros // 2 else "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    sample, large_sample = bytearray(), bytearray()
    is_utf8 = True
    while piece := file.read(PIECE_BYTES):
        frames.live(len(piece))
        if is_utf8:
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                is_utf8 = False
        if len(sample) < SAMPLE_BYTES:
            for kind, found in ((WORD, sample), (LARGE_WORD, large_sample)) if not piece.isascii() else ():
                for word in kind.findall(piece):
                    found += b"" if word.isascii() else word + b" "
    try:
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        is_utf8 = False
    if is_utf8:
        return "utf-8"
    scores = {
        encoding: _score(bytes((large_sample if encoding in LARGE else sample)[:SAMPLE_BYTES]), encoding)
        for encoding in ENCODINGS[2:]
    }
    best = max(scores, key=lambda encoding: scores[encoding])
    return best if scores[best] > float("-inf") else "cp1252"


def _score(sample: bytes, encoding: str) -> float:
    """How much these words look like those of people who use an encoding, for each letter."""
    try:
        # The pieces of a file and the sample may end between two bytes.
        text = sample.decode(encoding, "replace" if encoding in LARGE else "strict")
    except UnicodeDecodeError:
        return float("-inf")
    if text.count("\ufffd") > max(len(text) * MOST_BROKEN, len(sample) == SAMPLE_BYTES):
        return float("-inf")
    text = text.replace("\ufffd", "")
    score, count = 0.0, 0
    before = " "
    for letter in text:
        if letter > "\x7f":
            count += 1
            score += _score_letter(letter, before, encoding)
        elif before > "\x7f" and letter.isalpha() and encoding not in LATIN:
            score -= 1
        if encoding == "cp1255" and before in FINAL and letter.isalpha():
            score -= 2
        before = letter
    return score / count if count else 0.0


def _score_letter(letter: str, before: str, encoding: str) -> float:
    if encoding in LARGE:
        low, high = LARGE[encoding]
        code = letter.encode(encoding)
        is_usual = len(code) == 2 and low <= code[0] <= high and (encoding != "gb18030" or code[1] > 0xA0)
        return (1.5 if encoding == "gb18030" else 1.7) if is_usual else -1.0
    category = unicodedata.category(letter)
    if category[0] not in "LM":
        return -0.2 if category in ("Pi", "Pf", "Pd", "Po", "Zs", "Sc") and before in " \x00" else -1.0
    is_usual = letter in LATIN.get(encoding, "") or letter.lower() in (LATIN | OTHER)[encoding]
    score = 1.0 if is_usual else -0.4 if encoding in LATIN else 0.1
    if before.islower() and letter.isupper():
        score -= 1.5
    if encoding in LATIN:
        return score - 0.8 if before > "\x7f" else score
    return score - 1.0 if before.isascii() and before.isalpha() else score


if __name__ == "__main__":
    main()
