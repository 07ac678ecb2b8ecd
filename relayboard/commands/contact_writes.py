"""`relayboard contact create|change|delete|answer`."""

from collections.abc import Iterable

from persistence.contacts.owners import find_contacts, read_urns
from persistence.contacts.records import CONTACTS
from persistence.contacts.writes import ContactChange, change_contact, create_contact
from persistence.database import Transaction
from persistence.groups.groups import find_manual_groups
from persistence.lists import read_record
from persistence.messages.incoming import answer_again
from persistence.workspaces import Workspace
from relayboard.commands.contacts import contact_named
from relayboard.commands.output import print_json, print_record, writing_in
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

CLEARED = ("name", "language")


def run_create(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        contact_id = create_contact(tx, workspace, _read_change(tx, workspace, options))
        record = read_record(tx, CONTACTS, workspace, contact_id)
    print_record(record)


def run_change(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        contact_id = contact_named(tx, workspace, options.contact)
        change_contact(tx, workspace, contact_id, _read_change(tx, workspace, options))
        record = read_record(tx, CONTACTS, workspace, contact_id)
    print_record(record)


def run_delete(options: Options) -> None:
    from persistence.contacts.deletion import delete_contacts  # noqa: PLC0415  # it loads all that contacts have

    with writing_in(options) as (tx, workspace):
        ids = find_contacts(tx, workspace, options.contact, field="contact")
        delete_contacts(tx, workspace.id, ids)
    print_json({"deleted": options.contact})


def run_answer(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        answer_again(tx, workspace.id, find_contacts(tx, workspace, options.contact, field="contact"))
    print_json({"answered": options.contact})


def _read_change(tx: Transaction, workspace: Workspace, given: Options) -> ContactChange:
    """What is to be changed; what was not given stays, and an empty text clears."""
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
