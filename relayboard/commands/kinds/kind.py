"""What the commands of one kind of record do: the table of the kinds, and the parts of their writes."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from persistence.database import Transaction
from persistence.lists import ListSpec
from persistence.workspaces import Workspace
from relayboard.usage.parts import Options

Write = Callable[[Transaction, Workspace, Options], int]
"""Creates or changes the record of the options; returns its id. Raises RecordMissing for one that is not there."""
Delete = Callable[[Transaction, Workspace, str], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """`key` is the attribute that names a record: its UUID, or the key of fields and globals."""

    spec: ListSpec
    key: str = "uuid"


@dataclass(frozen=True, slots=True)
class Listed:
    """Where the list of a kind of record is declared, and what names a record."""

    module: str
    name: str
    key: str = "uuid"


KINDS = {
    "broadcast": Listed("persistence.broadcasts.records", "BROADCASTS"),
    "campaign": Listed("persistence.campaigns.records", "CAMPAIGNS"),
    "classifier": Listed("persistence.classifiers", "CLASSIFIERS"),
    "contact": Listed("persistence.contacts.v2", "CONTACTS"),
    "field": Listed("persistence.fields", "FIELDS", "key"),
    "flow": Listed("persistence.flows.records", "FLOWS"),
    "global": Listed("persistence.globals", "GLOBALS", "key"),
    "group": Listed("persistence.groups.v2", "GROUPS"),
    "label": Listed("persistence.labels", "LABELS"),
    "message": Listed("persistence.messages.v2", "MESSAGES"),
    "optin": Listed("persistence.optins", "OPTINS"),
    "resthook": Listed("persistence.resthooks.resthooks", "RESTHOOKS", "slug"),
    "start": Listed("persistence.flow_starts.v2", "STARTS"),
    "template": Listed("persistence.templates", "TEMPLATES"),
    "ticketer": Listed("persistence.ticketers", "TICKETERS"),
    "ticket": Listed("persistence.tickets.tickets", "TICKETS"),
    "topic": Listed("persistence.topics", "TOPICS"),
    "trigger": Listed("persistence.triggers.triggers", "TRIGGERS"),
}


def kind_of(noun: str) -> Kind:
    """The kind of the records of a noun; loads nothing of the others."""
    listed = KINDS[noun]
    return Kind(getattr(import_module(listed.module), listed.name), listed.key)


@dataclass(frozen=True, slots=True)
class Writes:
    """What can be done with a kind of record beside reading it."""

    create: Write | None = None
    change: Write | None = None
    delete: Delete | None = None


def created(create: Callable[[Transaction, int, str], int]) -> Write:
    """Records that begin with a name and nothing else."""
    return lambda tx, workspace, given: create(tx, workspace.id, given.name)


def renamed(rename: Callable[[Transaction, int, str, str], int]) -> Write:
    return lambda tx, workspace, given: rename(tx, workspace.id, given.uuid, given.name)


def deleted(delete: Callable[[Transaction, int, str], None]) -> Delete:
    return lambda tx, workspace, key: delete(tx, workspace.id, key)
