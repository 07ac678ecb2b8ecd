"""`relayboard NOUN list|show|change|delete`, for records that have a name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from persistence import fields, globals
from persistence.broadcasts.v2 import BROADCASTS
from persistence.campaigns.v2 import CAMPAIGNS
from persistence.classifiers import CLASSIFIERS
from persistence.contacts.v2 import CONTACTS
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.flow_starts.v2 import STARTS
from persistence.flows.v2 import FLOWS
from persistence.groups.groups import GROUPS, delete_group, rename_group
from persistence.labels import LABELS, delete_label, rename_label
from persistence.lists import ListQuery, ListSpec, fetch_list, find_record, read_record
from persistence.messages.v2 import MESSAGES
from persistence.optins import OPTINS
from persistence.resthooks.resthooks import RESTHOOKS
from persistence.templates import TEMPLATES
from persistence.ticketers import TICKETERS
from persistence.tickets.tickets import TICKETS
from persistence.topics import TOPICS, rename_topic
from persistence.workspaces import Workspace
from relayboard.commands.output import CommandFailed, print_record, print_records, reading_in, writing_in
from relayboard.commands.printing import print_json
from relayboard.commands.secret_input import given_text
from relayboard.usage.parts import Options

Change = Callable[[Transaction, Workspace, Options], int]
"""Changes the record of the options; returns its id. Raises RecordMissing."""
Delete = Callable[[Transaction, Workspace, str], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """`key` is the attribute that names a record: its UUID, or the key of fields and globals."""

    spec: ListSpec
    key: str = "uuid"
    change: Change | None = None
    delete: Delete | None = None


def _renamed(rename: Callable[[Transaction, int, str, str], int]) -> Change:
    return lambda tx, workspace, given: rename(tx, workspace.id, given.uuid, given.name)


def _deleted(delete: Callable[[Transaction, int, str], None]) -> Delete:
    return lambda tx, workspace, key: delete(tx, workspace.id, key)


def _change_global(tx: Transaction, workspace: Workspace, given: Options) -> int:
    value = given_text(given, "value")
    present = _read(tx, workspace, "global", given.key)
    return globals.change_global(
        tx, workspace.id, given.key, str(present["value"]) if value is None else value, given.name
    )


def _change_field(tx: Transaction, workspace: Workspace, given: Options) -> int:
    present = _read(tx, workspace, "field", given.key)
    name, kind = given.name or str(present["name"]), given.type or str(present["type"])
    return fields.change_field(tx, workspace.id, given.key, name, kind)


def _read(tx: Transaction, workspace: Workspace, noun: str, key: str) -> dict[str, Any]:
    """Raises CommandFailed if there is none."""
    kind = KINDS[noun]
    record = find_record(ListQuery(tx, workspace), kind.spec, kind.key, key)
    if record is None:
        raise missing(noun, key)
    read: dict[str, Any] = orjson.loads(record)
    return read


def missing(noun: str, key: str) -> CommandFailed:
    return CommandFailed(f"there is no {noun} {key}")


KINDS = {
    "group": Kind(GROUPS, change=_renamed(rename_group), delete=_deleted(delete_group)),
    "label": Kind(LABELS, change=_renamed(rename_label), delete=_deleted(delete_label)),
    "topic": Kind(TOPICS, change=_renamed(rename_topic)),
    "global": Kind(globals.GLOBALS, "key", _change_global, _deleted(globals.delete_global)),
    "field": Kind(fields.FIELDS, "key", _change_field, fields.delete_field),
    "optin": Kind(OPTINS),
    "ticketer": Kind(TICKETERS),
    "classifier": Kind(CLASSIFIERS),
    "template": Kind(TEMPLATES),
    "resthook": Kind(RESTHOOKS),
    "ticket": Kind(TICKETS),
    "contact": Kind(CONTACTS),
    "message": Kind(MESSAGES),
    "broadcast": Kind(BROADCASTS),
    "flow": Kind(FLOWS),
    "campaign": Kind(CAMPAIGNS),
    "start": Kind(STARTS),
}


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace), KINDS[options.noun].spec, None, options.limit)
    print_records(page.records)


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        record = _read(tx, workspace, options.noun, getattr(options, KINDS[options.noun].key))
    print_json(record)


def run_change(options: Options) -> None:
    kind = KINDS[options.noun]
    assert kind.change is not None
    with writing_in(options) as (tx, workspace):
        try:
            record = read_record(tx, kind.spec, workspace, kind.change(tx, workspace, options))
        except RecordMissing as error:
            raise missing(options.noun, getattr(options, kind.key)) from error
    print_record(record)


def run_delete(options: Options) -> None:
    kind = KINDS[options.noun]
    assert kind.delete is not None
    key = getattr(options, kind.key)
    with writing_in(options) as (tx, workspace):
        try:
            kind.delete(tx, workspace, key)
        except RecordMissing as error:
            raise missing(options.noun, key) from error
    print_json({"deleted": key})
