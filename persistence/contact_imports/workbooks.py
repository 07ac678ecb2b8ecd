"""The rows of workbooks. Those of XLSX are read one by one, each by what the sheet says of its place, and texts that
cells share are kept in a temporary file. Of XLS, XLSB and ODS the sheet is in memory, within the limit. Part of the
process that reads files of strangers: it imports nothing of ours but how rows are told.
"""

import os
import re
import tempfile
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, BinaryIO
from xml.parsers import expat

from persistence.contact_imports.plain_files import (
    COLUMNS_LIMIT,
    LINE_LENGTH,
    PIECE_BYTES,
    SHORTENED,
    BadFile,
    Frames,
    Number,
    Row,
    trimmed,
)

LARGEST_PART_BYTES = 4 * 1024**3
LARGEST_WHOLE = 512 * 1024**2
SMALL_PART_BYTES = 32 * 1024**2
"""So large the parts of a workbook may be that say what its sheets and styles are."""
ROWS_LIMIT = 1_048_576
NOT_A_WORKBOOK = "This is not a workbook that can be read."


def read_packed(file: BinaryIO, frames: Frames) -> Iterator[Row]:
    try:
        with zipfile.ZipFile(file) as packed:
            book = Workbook.find(packed, frames)
            if book is not None:
                yield from book.rows()
                return
            _check_sizes(packed)
        file.seek(0)
        yield from read_in_memory(file)
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
    if sum(each.file_size for each in packed.infolist()) > LARGEST_WHOLE:
        raise BadFile(f"Unpacked, a workbook of this kind may have {LARGEST_WHOLE // 1024**2} MiB: save it as XLSX.")


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
    if text.isdecimal() and len(text) < 16:
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
            return _number(text).zfill(len(shown)) if text.isdecimal() else _number(text)
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
TIME_FORMATS = {str(each) for each in (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))}
ASIDE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)


def _time_format(number: str, codes: dict[str, str]) -> str:
    code = codes.get(number)
    if code is None:
        return "duration" if number == "46" else "date" if number in TIME_FORMATS else ""
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


def read_in_memory(file: BinaryIO) -> Iterator[Row]:
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
                yield trimmed([*[""] * left, *map(_text_of, row)])
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
