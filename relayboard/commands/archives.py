"""`relayboard archive import`."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from persistence.database import Database
from persistence.move.moves import MESSAGE, RUN
from persistence.move.runs import Archived, write_archived
from persistence.workspaces.records import Workspace
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.progress import Note, show_progress
from relayboard.move import reading
from relayboard.usage.parts import Options

RECORDS_AT_ONCE = 500
LINE_BYTES = 64 * 1024 * 1024
"""What is longer is no record, but perhaps a bomb of gzip: the line is cut, and is no JSON."""
Raw = Mapping[str, Any]


def run_import(options: Options) -> None:
    with opened_database() as database:
        database.witness = None  # what comes in was told where it happened
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
        with show_progress("Importing") as note:
            done = [_import(database, workspace, path, note) for path in options.file]
    print_json(done)


def _import(database: Database, workspace: Workspace, path: Path, note: Note) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for records in _read_chunks(path):
        stored = database.write(partial(write_archived, workspace=workspace, chunk=_read(records)))
        counts.update({"new": stored.new, "present": stored.present, "lost": stored.lost})
        note(counts.total(), 0)
    return {"file": str(path), **{name: counts[name] for name in ("new", "present", "lost")}}


def _read_chunks(path: Path) -> Iterator[list[Raw]]:
    """The records of a file, a number at a time. Raises CommandFailed."""
    try:
        with gzip.open(path) as file:
            some: list[Raw] = []
            for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES), b""), 1):
                some.append(_read_line(path, number, line))
                if len(some) == RECORDS_AT_ONCE:
                    yield some
                    some = []
            if some:
                yield some
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CommandFailed(f"{path} is not a whole file of gzip") from error
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error


def _read_line(path: Path, number: int, line: bytes) -> Raw:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{path}, line {number}: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("contact"), dict):
        raise CommandFailed(f"{path}, line {number}: this is neither a message nor a run")
    return record


def _read(records: list[Raw]) -> Archived:
    """Messages have a direction, runs have none."""
    is_message = "direction" in records[0]
    read = reading.read_message if is_message else reading.read_run
    found = [{**record, "reference": record["uuid"] or record["reference"]} for record in map(read, records)]
    people = [reading.read_contact(_person(each)) for each in records]
    labels = {each["uuid"]: each for record in records for each in record.get("labels") or () if each.get("uuid")}
    return Archived(
        MESSAGE if is_message else RUN, found, people, [reading.read_named(each) for each in labels.values()]
    )


def _person(record: Raw) -> dict[str, Any]:
    """What a record says of its contact, in the form of a contact."""
    about = record["contact"]
    urn = about.get("urn") or record.get("urn")
    urns = [urn] if isinstance(urn, str) and "*" not in urn else []
    return {"uuid": about.get("uuid"), "name": about.get("name"), "urns": urns, "created_on": record.get("created_on")}
