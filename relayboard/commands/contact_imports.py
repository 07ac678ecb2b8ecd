"""`relayboard contact import|imports|cancel-import|take-back-import`."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from persistence.contact_imports.columns import (
    IGNORE,
    OURS,
    URN,
    Choice,
    Column,
    add_unread,
    choose_targets,
    make_fields,
)
from persistence.contact_imports.contact_imports import (
    CONTACT_IMPORTS,
    cancel_import,
    create_import,
    read_columns,
    show_columns,
    start_read,
)
from persistence.contact_imports.reading import BadFile, ReaderDied, Rows, opened_rows
from persistence.contact_imports.running import CHUNK_ROWS, Looked, look_at, try_rows
from persistence.contacts.bulk import REJECTED, Outcome
from persistence.data_jobs import Held, Performer, take
from persistence.database import Database
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.media.store import MediaStore, open_store, place_of_import
from persistence.sql.columns import new_uuid
from persistence.tables.data_jobs import contact_import
from persistence.workspaces.records import Workspace
from relayboard.base.private_files import writing_private
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options, confirm

SHOWN_REASONS = 20


def run_import(options: Options) -> None:
    settings = load_settings()
    if options.output is not None:
        _check_output(options.output, options.file)
    try:
        with opened_database(settings) as database:
            with database.reading() as tx:
                workspace = workspace_named(tx, options.workspace)
            if options.dry_run:
                print_json(_try(database, workspace, options))
                return
            print_json(_import(database, open_store(settings), workspace, options))
    except (BadFile, ReaderDied) as error:
        raise CommandFailed(f"{options.file}: {error}") from error


def batched(outcomes: Iterator[Outcome]) -> Iterator[list[Outcome]]:
    while some := list(islice(outcomes, CHUNK_ROWS)):
        yield some


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), CONTACT_IMPORTS, None, options.limit)
    print_json([_shown(record) for record in page.records])


def run_cancel(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        number = cancel_import(tx, workspace, options.uuid)
        record = read_record(tx, CONTACT_IMPORTS, workspace, number)
    print_json(_shown(record))


def run_take_back(options: Options) -> None:
    from persistence.contact_imports.taking_back import count_taking_back, take_back  # it loads deletions

    if options.dry_run or not options.yes:
        with reading_in(options) as (tx, workspace):
            counts = count_taking_back(tx, workspace, options.uuid)[1]
        if options.dry_run:
            print_json(counts)
            return
        confirm("{removed} contacts are deleted, {restored} get back what they had, {kept} are kept".format(**counts))
    settings = load_settings()
    with opened_database(settings) as database:
        with database.writing() as tx:
            workspace = workspace_named(tx, options.workspace)
            number = take_back(tx, workspace, options.uuid)
            held = take(tx, contact_import, workspace.id, number)
        if held is not None:
            with show_progress("Taking back") as note:
                Performer(database, open_store(settings), note=note).perform(held)
        with database.reading() as tx:
            shown = _shown(read_record(tx, CONTACT_IMPORTS, workspace, number))
    if shown["error"] is not None:
        raise CommandFailed(shown["error"])
    print_json(shown)


def _check_output(output: Path, source: Path) -> None:
    """Whether rejected rows can be written; changes nothing. Raises CommandFailed."""
    if output.is_dir():
        raise CommandFailed(f"{output} is a folder")
    if output.exists():
        if source.exists() and output.samefile(source):
            raise CommandFailed(f"{output} is the file to import: give --output another file")
        can_be_written = os.access(output, os.W_OK)
    else:
        folder = output.absolute().parent
        can_be_written = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    if not can_be_written:
        raise CommandFailed(f"{output} cannot be written: give --output a file in a folder that is there and yours")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file to import. Raises CommandFailed."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror or error}") from error
    with file:
        if not file.seekable():
            raise CommandFailed(f"{path} is a pipe, and an import reads its file several times: give a file")
        yield file


@contextmanager
def _opened_rows(options: Options) -> Iterator[Rows]:
    with _opened(options.file) as file, opened_rows(file, options.encoding) as rows:
        yield rows


def _look(database: Database, workspace: Workspace, options: Options) -> Looked:
    """The columns of the file as they will be used, and how it is read. Raises BadFile, InvalidInput."""
    names = ("encoding", "date_style", "decimal_sign", "unread")
    said = {name: value for name in names if (value := getattr(options, name)) is not None}
    looked = look_at(database, workspace, partial(_opened_rows, options), said)
    chosen = [_read_target(text) for text in options.targets]
    columns = choose_targets(looked.columns, chosen)
    if options.new_fields:
        columns = [_made_new(each, chosen) for each in columns]
    return replace(looked, columns=columns)


def _read_target(text: str) -> Choice:
    """A column and its target. Raises CommandFailed."""
    header, sign, target = text.rpartition("=")
    if not sign:
        raise CommandFailed(f"{text} does not say what a column means, like Mobile=urn:tel or '#3=urn:tel'")
    if header.startswith("#") and header[1:].isdecimal() and len(header) < 10:
        return Choice(target, place=int(header[1:]))
    return Choice(target, header)


def _made_new(column: Column, chosen: list[Choice]) -> Column:
    """A column that nobody knows as a new field."""
    is_chosen = any(each.place == column.place or each.header == column.header for each in chosen)
    is_ours = " ".join(column.header.lower().split()) in OURS or column.header.lower().startswith(f"{URN}:")
    if column.target != IGNORE or is_chosen or is_ours or column.suggested is None:
        return column
    return replace(column, target=column.suggested)


def _left_out(columns: Sequence[Column]) -> list[str]:
    return [each.title for each in columns if each.target == IGNORE and (each.header or each.filled)]


def _try(database: Database, workspace: Workspace, options: Options) -> dict[str, Any]:
    looked = _look(database, workspace, options)
    columns = [replace(each, unread=0, unread_examples=()) for each in looked.columns]
    counts: Counter[str] = Counter()
    shown: list[Outcome] = []
    with _opened_rows(options) as rows:
        for some in batched(try_rows(database, workspace, columns, rows, looked.reading)):
            columns = add_unread(columns, some)
            for each in some:
                counts[each.result] += 1
                if each.result == REJECTED and len(shown) < SHOWN_REASONS:
                    shown.append(each)
    reasons = [{"row": each.number, "reason": each.reason} for each in shown]
    found = {"columns": show_columns(columns), "reading": looked.reading, "left_out": _left_out(columns)}
    return {**found, "rows": looked.count, **_all(counts), "first_rejected": reasons}


def _all(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in ("created", "updated", "rejected")}


def _import(database: Database, store: MediaStore, workspace: Workspace, options: Options) -> dict[str, Any]:
    held = _start(database, store, workspace, options)
    with show_progress("Importing") as note:
        Performer(database, store, note=note).perform(held)
    with database.reading() as tx:
        done: dict[str, Any] = orjson.loads(read_record(tx, CONTACT_IMPORTS, workspace, held.row.id))
    if done["error"] is not None:
        raise CommandFailed(done["error"])
    rejects = done.pop("rejects_url")
    done["left_out"] = _left_out(read_columns(done["columns"]))
    if options.output is not None:
        _copy_rejects(store, rejects, options.output)
    return done


def _start(database: Database, store: MediaStore, workspace: Workspace, options: Options) -> Held:
    """Stores the file, so that a worker can continue, and starts its import. As of an upload, nothing is kept of it if
    it cannot be imported; what a killed process leaves is for the workers' trimming.
    """
    file_uuid = new_uuid()
    place = place_of_import(file_uuid)
    try:
        with _opened(options.file) as file, store.receiving(file_uuid) as copy:
            shutil.copyfileobj(file, copy)
        looked = _look(database, workspace, options)
        with database.writing() as tx:
            number = create_import(tx, workspace, options.file.name, place, None)
            columns = make_fields(tx, workspace, looked.columns)
            start_read(tx, workspace, number, columns, looked.count, options.group, looked.reading)
            held = take(tx, contact_import, workspace.id, number)
    except BaseException:
        store.discard(file_uuid)
        raise
    store.accept(file_uuid, place)
    assert held is not None
    return held


def _copy_rejects(store: MediaStore, name: str | None, path: Path) -> None:
    """Raises CommandFailed."""
    stored = None if name is None else store.open(name)
    try:
        with writing_private(path) as file:
            if stored is not None:
                with stored.stream:
                    shutil.copyfileobj(stored.stream, file)
    except OSError as error:
        kept = "" if name is None else f"; {store.place} has the rejected rows in {name}"
        reason = error.strerror or error
        raise CommandFailed(f"the import is done, but {path} cannot be written: {reason}{kept}") from error


def _shown(record: str) -> dict[str, Any]:
    """An import without the place of its file."""
    document: dict[str, Any] = orjson.loads(record)
    del document["rejects_url"]
    return document
