"""`relayboard message list` and `resend`."""

from persistence.broadcasts.v2 import BROADCASTS
from persistence.contacts.v2 import CONTACTS
from persistence.lists import ListQuery, fetch_list, find_record
from persistence.messages.actions import resend_messages
from persistence.messages.v2 import MESSAGES
from relayboard.commands.output import CommandFailed, print_json, print_records, reading_in, writing_in
from relayboard.usage.parts import Options

ASKED = ("folder", "contact", "broadcast")
REFERRED = {"contact": CONTACTS, "broadcast": BROADCASTS}


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
