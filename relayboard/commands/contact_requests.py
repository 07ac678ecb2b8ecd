"""`relayboard contact copy|erase`."""

from dataclasses import replace
from typing import Any

import orjson

from persistence.data_jobs import Performer, take
from persistence.data_requests.person import find_contact_of_person, find_person
from persistence.data_requests.requests import DATA_REQUESTS, ERASE, create_request, write_copy
from persistence.database import Database
from persistence.lists import read_record
from persistence.media.store import MediaStore, open_store
from persistence.tables.data_jobs import data_request
from persistence.workspaces import Workspace
from relayboard.base.private_files import writing_private
from relayboard.base.settings import load_settings
from relayboard.commands.output import CommandFailed, opened_database, print_json, workspace_named
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options


def run_copy(options: Options) -> None:
    """Operators see everything, also in an anonymous workspace."""
    settings = load_settings()
    with opened_database(settings) as database:
        with database.reading() as tx:
            workspace = replace(workspace_named(tx, options.workspace), is_anonymous=False)
            contact_id = find_contact_of_person(tx, workspace, options.contact)
            person = find_person(tx, workspace.id, contact_id)
        try:
            with writing_private(options.output) as file, show_progress("Copying"):
                counts = write_copy(database, open_store(settings), workspace, person, file)
        except OSError as error:
            raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error
    print_json({"contact": person.uuid, "file": str(options.output), **counts})


def run_erase(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database:
        with database.writing() as tx:
            workspace = replace(workspace_named(tx, options.workspace), is_anonymous=False)
            contact_id = find_contact_of_person(tx, workspace, options.contact)
            number = create_request(tx, workspace, ERASE, contact_id, None, None)
        with show_progress("Erasing"):
            print_json(_perform(database, open_store(settings), workspace, number))


def _perform(database: Database, store: MediaStore, workspace: Workspace, number: int) -> dict[str, Any]:
    held = database.write(lambda tx: take(tx, data_request, workspace.id, number))
    if held is not None:
        Performer(database, store, is_forced=True).perform(held)
    with database.reading() as tx:
        done: dict[str, Any] = orjson.loads(read_record(tx, DATA_REQUESTS, workspace, number))
    return done
