"""`relayboard contact ...` but for imports: shows, writes, merges, renumbers, copies and erases contacts; and
`relayboard field access`.
"""

from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from persistence.contacts.owners import find_contacts
from persistence.contacts.records import CONTACTS
from persistence.database import Database, Transaction
from persistence.errors import RecordMissing
from persistence.fields import FIELDS, require_field, set_agent_access
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.workspaces.records import Workspace
from relayboard.base.private_files import writing_private
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    opened_database,
    print_json,
    print_record,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.progress import show_progress
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

if TYPE_CHECKING:
    from persistence.contacts.writes import ContactChange
    from persistence.media.store import MediaStore

CLEARED = ("name", "language")


def run_list(options: Options) -> None:
    asked = {"query": options.query, "group": options.group}
    with reading_in(options) as (tx, workspace):
        query = ListQuery(tx, workspace, {name: value for name, value in asked.items() if value is not None})
        page = fetch_list(query, CONTACTS, None, options.limit)
    print_records(page.records)


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        record = read_record(tx, CONTACTS, workspace, contact_named(tx, workspace, options.contact))
    print_record(record)


def contact_named(tx: Transaction, workspace: Workspace, reference: str) -> int:
    return find_contacts(tx, workspace, [reference], field="contact")[0]


def run_access(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        try:
            field_id, _, _ = require_field(tx, workspace.id, options.key)
        except RecordMissing as error:
            raise CommandFailed(f"there is no field {options.key}") from error
        set_agent_access(tx, workspace.id, field_id, options.agents)
        record = read_record(tx, FIELDS, workspace, field_id)
    print_record(record)


def run_create(options: Options) -> None:
    from persistence.contacts.records import CONTACTS
    from persistence.contacts.writes import create_contact

    with writing_in(options) as (tx, workspace):
        contact_id = create_contact(tx, workspace, _read_change(tx, workspace, options))
        record = read_record(tx, CONTACTS, workspace, contact_id)
    print_record(record)


def run_change(options: Options) -> None:
    from persistence.contacts.records import CONTACTS
    from persistence.contacts.writes import change_contact

    with writing_in(options) as (tx, workspace):
        contact_id = contact_named(tx, workspace, options.contact)
        change_contact(tx, workspace, contact_id, _read_change(tx, workspace, options))
        record = read_record(tx, CONTACTS, workspace, contact_id)
    print_record(record)


def run_delete(options: Options) -> None:
    from persistence.contacts.deletion import delete_contacts  # it loads all that contacts have
    from persistence.contacts.owners import find_contacts

    with writing_in(options) as (tx, workspace):
        ids = find_contacts(tx, workspace, options.contact, field="contact")
        delete_contacts(tx, workspace.id, ids)
    print_json({"deleted": options.contact})


def run_answer(options: Options) -> None:
    from persistence.contacts.owners import find_contacts
    from persistence.messages.incoming import answer_again

    with writing_in(options) as (tx, workspace):
        answer_again(tx, workspace.id, find_contacts(tx, workspace, options.contact, field="contact"))
    print_json({"answered": options.contact})


def run_copy(options: Options) -> None:
    """Operators see everything, also in an anonymous workspace."""
    from persistence.data_requests.person import find_contact_of_person, find_person
    from persistence.data_requests.requests import write_copy
    from persistence.media.store import open_store

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
    from persistence.data_requests.person import find_contact_of_person
    from persistence.data_requests.requests import ERASE, create_request
    from persistence.media.store import open_store

    settings = load_settings()
    with opened_database(settings) as database:
        with database.writing() as tx:
            workspace = replace(workspace_named(tx, options.workspace), is_anonymous=False)
            contact_id = find_contact_of_person(tx, workspace, options.contact)
            number = create_request(tx, workspace, ERASE, contact_id, None, None)
        with show_progress("Erasing"):
            print_json(_perform(database, open_store(settings), workspace, number))


def run_renumber(options: Options) -> None:
    from persistence.contacts.merging import Renumbering, renumber
    from relayboard.commands.countries import read_country

    for prefix in (options.old, options.new):
        if not (prefix.startswith("+") and prefix[1:].isascii() and prefix[1:].isdecimal()):
            raise CommandFailed(f"{prefix} is not the beginning of a number, like +229")
    rule = Renumbering(options.old, options.new, read_country(options.country) if options.country else "")
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
        report = renumber(database, workspace.id, rule, writes=options.apply)
    print_json({"applied": options.apply, **asdict(report)})


def run_doubles(options: Options) -> None:
    from persistence.contacts.merging import DOUBLES, merge_doubles

    if not options.merge:
        with reading_in(options) as (tx, workspace):
            query = ListQuery(tx, workspace, {"kind": options.kind} if options.kind else {})
            page = fetch_list(query, DOUBLES, None, options.limit)
        print_records(page.records)
        return
    merged = 0
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
        some = partial(merge_doubles, workspace=workspace, kind=options.kind, user_id=None)
        while done := database.write(some):
            merged += done
    print_json({"merged": merged})


def _read_change(tx: Transaction, workspace: Workspace, given: Options) -> "ContactChange":
    """What is to be changed; what was not given stays, and an empty text clears."""
    from persistence.contacts.owners import read_urns
    from persistence.contacts.writes import ContactChange
    from persistence.groups.groups import find_manual_groups

    groups = [name for name in given.group if name]
    return ContactChange(
        name=given.name,
        language=given.language,
        urns=read_urns(tx, workspace, [urn for urn in given.urn if urn]) if given.urn else None,
        group_ids=find_manual_groups(tx, workspace.id, groups, field="groups") if given.group else None,
        fields=dict(_read_values(given.field)) or None,
        clears=frozenset(name for name in CLEARED if getattr(given, name) == ""),
    )


def _read_values(given: Iterable[str]) -> Iterable[tuple[str, str | None]]:
    """The values of fields, from texts like `age=27`; nothing behind the sign clears. Raises CommandFailed."""
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise CommandFailed(f"{text} is not the value of a field, like age=27")
        yield key, value or None


def _perform(database: Database, store: "MediaStore", workspace: Workspace, number: int) -> dict[str, Any]:
    from persistence.data_jobs import Performer, take
    from persistence.data_requests.requests import DATA_REQUESTS
    from persistence.tables.data_jobs import data_request

    held = database.write(lambda tx: take(tx, data_request, workspace.id, number))
    if held is not None:
        Performer(database, store, is_forced=True).perform(held)
    with database.reading() as tx:
        done: dict[str, Any] = orjson.loads(read_record(tx, DATA_REQUESTS, workspace, number))
    return done
