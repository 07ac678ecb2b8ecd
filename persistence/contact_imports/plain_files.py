"""What every file becomes, rows in frames within limits, and how a file of plain text does: its encoding is guessed,
its rows are read one by one. Part of the process that reads files of strangers: it imports nothing of ours.
"""

import codecs
import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, BinaryIO

COLUMNS_LIMIT = 500
CELL_LENGTH = 10_000
SHORTENED = CELL_LENGTH + 1
"""A cell that is too long keeps so many characters: whoever uses it sees that it is."""
LINE_LENGTH = 8 * 1024**2
PIECE_BYTES = 1 << 18
LIFE_BYTES = 1 << 24
FRAME_BYTES = 1 << 18
DELIMITERS = ",;\t|"
SEPARATOR = re.compile(r'"?sep=(.)"?\s*\Z', re.IGNORECASE)

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


def trimmed(row: Row) -> Row:
    """Without empty cells at the end; of a row that is too wide one cell too many is left."""
    if len(row) > COLUMNS_LIMIT:
        rest = next((cell for cell in row[COLUMNS_LIMIT:] if cell), "")
        row = [*row[:COLUMNS_LIMIT], rest]
    while row and not row[-1]:
        row.pop()
    return row


def read_plain(file: BinaryIO, encoding: str | None, frames: Frames) -> Iterator[Row]:
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
            yield trimmed([cell.strip()[:SHORTENED] for cell in row])
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
    "cp1257": "ąčęėįšųūžāēģīķļņõäöüé",
    "mac_roman": "éèàâçêëîïôùûüöäßñáíóúãõ",
    "cp850": "éèàâçêëîïôùûüöäßñáíóúãõ",
}
OTHER = {
    "cp1251": "оеаинтсрвлкмдпу",
    "koi8-r": "оеаинтсрвлкмдпу",
    "iso-8859-5": "оеаинтсрвлкмдпу",
    "cp866": "оеаинтсрвлкмдпу",
    "cp1253": "αοιετσνηυρπκςάίόέή",
    "cp1255": "יוהלאתשרמבנעחדקכםןףסטפצ",
    "cp1256": "ايلمنوتربدهعسحكفقةأى",
    "cp874": "านรอกเงมยลวดทสตะปบคหจพชแ่้ิีัุ",
}
"""The letters that are usual in the languages of an encoding: they tell it from others that make letters of all."""
FINAL = "ךםןףץ"
"""Letters that only end words."""
LARGE = {
    "gb18030": (0xB0, 0xD7),
    "big5": (0xA4, 0xC6),
    "cp949": (0xB0, 0xC8),
    "cp932": (0x82, 0x97),
    "euc-jp": (0xA4, 0xCF),
}
"""Encodings with two bytes for a letter, and with which bytes the usual ones begin."""
KANA = (0xA4, 0xA5)
"""With which bytes letters begin in EUC-JP that only Japanese has: the others look like Chinese."""
GUESSED = (*LATIN, *OTHER, *LARGE)
ENCODINGS = ("utf-8", "utf-16", *GUESSED, "iso-8859-2", "iso-8859-7", "koi8-u", "cp1258")
"""Those that a person can choose: files in the last ones are rare, and would be taken for others."""
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
        for encoding in GUESSED
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
        if is_usual and encoding == "euc-jp":
            return 2.0 if code[0] in KANA else 1.2
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
