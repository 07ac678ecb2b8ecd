"""`relayboard message send|list|resend`, `relayboard broadcast create|change`."""

import threading
from typing import Any

import orjson

from persistence.broadcasts.records import BROADCASTS, COMPLETED, FAILED
from persistence.contacts.owners import find_contacts
from persistence.contacts.records import CONTACTS
from persistence.database import Database
from persistence.errors import InvalidInput, RecordMissing
from persistence.lists import ListQuery, fetch_list, find_record, read_record
from persistence.media.store import find_attachments
from persistence.messages.actions import resend_messages
from persistence.messages.outgoing import Draft, create_shown
from persistence.messages.records import MESSAGES
from persistence.workspaces.records import Workspace
from relayboard.commands.output import (
    CommandFailed,
    opened_database,
    print_json,
    print_record,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.progress import show_progress
from relayboard.usage.parts import Options

LOOK_SECONDS = 0.5

ASKED = ("folder", "contact", "broadcast")
OPTIONS = {"scheduled_on": "at", "repeat_until": "until", "repeat_times": "times"}
REFERRED = {"contact": CONTACTS, "broadcast": BROADCASTS}


def run_send(options: Options) -> None:
    if not options.text and not options.attachment:
        raise CommandFailed("give a --text or an --attachment")
    with writing_in(options) as (tx, workspace):
        contact_id = find_contacts(tx, workspace, [options.contact], field="contact")[0]
        files = tuple(find_attachments(tx, workspace.id, options.attachment))
        draft = Draft(contact_id, text=options.text or "", attachments=files)
        record = create_shown(tx, workspace, draft)
    print_record(record)


def run_broadcast(options: Options) -> int:
    """Returns 1 if it was waited for, and failed."""
    if not options.text.strip():
        raise CommandFailed("the text is empty")
    if options.wait and options.at:
        raise CommandFailed("give --at or --wait: what waits for its time creates no messages before")
    if options.wait and options.draft:
        raise CommandFailed("give --draft or --wait: a draft creates no messages")
    body = _content(options) | {"draft": options.draft}
    from persistence.broadcasts.forms import create_from_form  # it loads the expressions of flows

    with opened_database() as database:
        with database.writing() as tx:
            workspace = workspace_named(tx, options.workspace)
            try:
                record = orjson.loads(create_from_form(tx, workspace, body | _schedule(options, workspace)))
            except InvalidInput as error:
                raise _of_options(error) from error
        if options.wait:
            record = _wait(database, workspace, record["id"])
    print_json(record)
    return 1 if options.wait and record["status"] == FAILED else 0


def run_change_broadcast(options: Options) -> None:
    from persistence.broadcasts.forms import change_from_form  # as above

    with writing_in(options) as (tx, workspace):
        body = _content(options) | _schedule(options, workspace)
        if options.send or options.draft:
            body["draft"] = options.draft
        if not body:
            raise CommandFailed("nothing to change was given")
        try:
            broadcast_id = change_from_form(tx, workspace, options.uuid, body)
        except RecordMissing as error:
            raise CommandFailed(f"there is no broadcast {options.uuid}") from error
        except InvalidInput as error:
            raise _of_options(error) from error
        record = read_record(tx, BROADCASTS, workspace, broadcast_id)
    print_record(record)


def pause() -> None:
    threading.Event().wait(LOOK_SECONDS)


def run_list(options: Options) -> None:
    asked = {name: getattr(options, name) for name in ASKED if getattr(options, name) is not None}
    with reading_in(options) as (tx, workspace):
        for name, spec in REFERRED.items():
            if name in asked and find_record(ListQuery(tx, workspace), spec, "uuid", asked[name]) is None:
                raise CommandFailed(f"there is no {name} {asked[name]}")
        page = fetch_list(ListQuery(tx, workspace, asked), MESSAGES, None, options.limit)
    print_records(page.records)


def run_resend(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        missing = resend_messages(tx, workspace.id, options.message)
        if missing:
            raise CommandFailed(f"there is no message {missing[0]}")
    print_json({"resent": len(set(options.message))})


def _content(options: Options) -> dict[str, Any]:
    """What it says and to whom, as a request has it."""
    given = {"text": options.text, "contacts": options.contact, "groups": options.group, "urns": options.urn}
    return {name: value for name, value in (given | {"query": options.query}).items() if value}


def _schedule(options: Options, workspace: Workspace) -> dict[str, Any]:
    """The times that were given, as a request has them."""
    given: dict[str, Any] = {"repeat": options.repeat, "days": options.days, "repeat_times": options.times}
    given = {name: value for name, value in given.items() if value is not None}
    if options.until is not None:
        given["repeat_until"] = options.until.date().isoformat()
    if options.at is not None:
        moment = options.at if options.at.tzinfo else options.at.replace(tzinfo=workspace.zone)
        given["scheduled_on"] = moment.isoformat()
    return given


def _of_options(error: InvalidInput) -> InvalidInput:
    """The same about the option in place of the field, which has another name."""
    return InvalidInput({OPTIONS.get(name, name): said for name, said in error.errors.items()})


def _wait(database: Database, workspace: Workspace, broadcast_id: int) -> dict[str, Any]:
    """The broadcast once a worker has created all its messages."""
    with show_progress("Creating messages") as note:
        while True:
            with database.reading() as tx:
                record: dict[str, Any] = orjson.loads(read_record(tx, BROADCASTS, workspace, broadcast_id))
            note(record["progress"]["started"], record["progress"]["total"])
            if record["status"] in (COMPLETED, FAILED):
                return record
            pause()
