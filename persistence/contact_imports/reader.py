"""The process that reads a file of a stranger: a program of its own, which imports nothing of ours but the two rooms of
the formats (`plain_files.py`, `workbooks.py`). It has limits of memory, time and files, and no secrets in its
environment; what a file does to it, it does to nobody else.

`python -I reader.py ENCODING [CPU_SECONDS]`, with the file as standard input and `-` for an encoding that is guessed.
It writes frames: four bytes with a length, then JSON; an empty frame is a sign of life. The first frame says what the
file is, each other one has rows: lists of texts, with a text in a list for a number that has a point, and a number for
so many empty rows. The last one says why reading ended.
"""

import codecs
import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from persistence.contact_imports.plain_files import BadFile, Frames, Row, read_plain
from persistence.contact_imports.workbooks import read_in_memory, read_packed

MEMORY_BYTES = 512 * 1024**2
CPU_SECONDS = 600
LARGEST_TEMPORARY_BYTES = 4 * 1024**3
ZIP, OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
NO_TABLES = {
    **dict.fromkeys((b"<html", b"<!doctype html", b"<table"), "a web page"),
    **dict.fromkeys((b"<?xml", b"<workbook"), "an XML file"),
    **dict.fromkeys((b"%pdf-",), "a PDF file"),
    **dict.fromkeys((b"{\\rtf",), "a text document"),
    **dict.fromkeys((b"\x89png", b"gif8", b"\xff\xd8\xff"), "a picture"),
}
"""How files begin that some systems name .xls or .csv."""


def main() -> None:
    _limit(int(sys.argv[2]) if len(sys.argv) > 2 else CPU_SECONDS)
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


def _limit(cpu_seconds: int) -> None:
    """Whatever the file makes this process do, it stays within these limits, and is the first to go when memory is
    short."""
    limits = [
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, cpu_seconds),
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
        return read_in_memory(file)
    if beginning != ZIP:
        _check_text(file)
        return read_plain(file, encoding, frames)
    frames.tell(kind="workbook")
    return read_packed(file, frames)


def _check_text(file: BinaryIO) -> None:
    """Raises BadFile for what is neither a workbook nor a CSV file, whatever its name says."""
    beginning = file.read(1024).removeprefix(codecs.BOM_UTF8).lstrip().lower()
    file.seek(0)
    kind = next((kind for mark, kind in NO_TABLES.items() if beginning.startswith(mark)), None)
    if kind is not None:
        raise BadFile(f"This is {kind}: open it and save it as a workbook (XLSX) or as CSV.")


if __name__ == "__main__":
    main()
