"""`relayboard contact list|show` and `relayboard field access`."""

from persistence.contacts.owners import find_contacts
from persistence.contacts.records import CONTACTS
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.fields import FIELDS, require_field, set_agent_access
from persistence.lists import ListQuery, fetch_list, read_record
from persistence.workspaces import Workspace
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.usage.parts import Options


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
