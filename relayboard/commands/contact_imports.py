"""`relayboard contact import`."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from persistence.contacts.bulk import REJECTED, Outcome
from persistence.data_jobs import Held, take
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput
from persistence.field_writes import check_field_name
from persistence.imports.columns import IGNORE, NEW, URN, Column, choose_targets, guess_columns, make_fields
from persistence.imports.contact_imports import CONTACT_IMPORTS, create_import, show_columns, start_read
from persistence.imports.reading import BadFile, opened_rows
from persistence.imports.running import read_beginning, try_rows
from persistence.lists import read_record
from persistence.media.media import place_of_import
from persistence.media.opening import open_store
from persistence.media.store import MediaStore
from persistence.performing import Performer
from persistence.sql.columns import new_uuid
from persistence.tables.data_jobs import contact_import
from persistence.workspaces import Workspace
from relayboard.base.private_files import writing_private
from relayboard.base.settings import load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options

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
    except BadFile as error:
        raise CommandFailed(f"{options.file}: {error}") from error


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


def _read_columns(tx: Transaction, workspace: Workspace, options: Options) -> tuple[list[Column], int]:
    """The columns of the file as they will be used, and the number of its rows. Raises BadFile, InvalidInput."""
    with _opened(options.file) as file, opened_rows(file) as rows:
        header, first, count = read_beginning(rows)
    guessed = guess_columns(tx, workspace, header, first)
    chosen = dict(_read_target(text) for text in options.targets)
    columns = choose_targets(guessed, chosen)
    return [_made_new(each, chosen) for each in columns] if options.new_fields else columns, count


def _read_target(text: str) -> tuple[str, str]:
    """A header and its target. Raises CommandFailed."""
    header, sign, target = text.rpartition("=")
    if not sign:
        raise CommandFailed(f"{text} does not say what a column means, like Mobile=urn:tel")
    return header, target


def _made_new(column: Column, chosen: dict[str, str]) -> Column:
    """A column that nobody knows as a new field, if its header can be the name of one."""
    if column.target != IGNORE or column.header in chosen or column.header.lower().startswith(f"{URN}:"):
        return column
    try:
        return replace(column, target=f"{NEW}:{check_field_name(column.header)}")
    except InvalidInput:
        return column


def _try(database: Database, workspace: Workspace, options: Options) -> dict[str, Any]:
    with database.reading() as tx:
        columns, count = _read_columns(tx, workspace, options)
    with _opened(options.file) as file, opened_rows(file) as rows:
        outcomes = try_rows(database, workspace, columns, rows)
        counts: Counter[str] = Counter()
        shown: list[Outcome] = []
        for each in outcomes:
            counts[each.result] += 1
            if each.result == REJECTED and len(shown) < SHOWN_REASONS:
                shown.append(each)
    reasons = [{"row": each.number, "reason": each.reason} for each in shown]
    return {"columns": show_columns(columns), "rows": count, **_all(counts), "first_rejected": reasons}


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
        with database.writing() as tx:
            columns, count = _read_columns(tx, workspace, options)
            number = create_import(tx, workspace, options.file.name, place, None)
            start_read(tx, workspace, number, make_fields(tx, workspace, columns), count, options.group)
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
