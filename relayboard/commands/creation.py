"""`relayboard NOUN create`, for records that have no other command."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from persistence import classifiers, ticketers
from persistence.classifiers import CLASSIFIERS, create_classifier
from persistence.database import Transaction
from persistence.globals import GLOBALS, create_global
from persistence.groups.groups import GROUPS, create_group
from persistence.groups.smart_groups import create_query_group
from persistence.labels import LABELS, create_label
from persistence.lists import ListSpec, read_record
from persistence.optins import OPTINS, create_optin
from persistence.templates import STATUSES, TEMPLATES, Translation, set_translation
from persistence.ticketers import TICKETERS, create_ticketer
from persistence.topics import TOPICS, create_topic
from persistence.workspaces import Workspace
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.parser import Commands, add_noun, workspace_action
from relayboard.commands.secret_input import add_text, given_text

Option = Callable[[argparse.ArgumentParser], object]
Create = Callable[[Transaction, Workspace, argparse.Namespace], int]
"""Creates the record of the options; returns its id."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The help texts of the noun and its action, and the functions that create and show a record."""

    noun: str
    about: str
    action: str
    spec: ListSpec
    create: Create
    options: Sequence[Option]


def option(flag: str, text: str, **settings: Any) -> Option:
    return lambda parser: parser.add_argument(flag, help=text, **settings)


def named(text: str) -> Option:
    return option("--name", text, required=True)


def typed(kinds: Sequence[str]) -> Option:
    return option("--type", "the service behind it", required=True, choices=kinds)


def by_name(create: Callable[[Transaction, int, str], int]) -> Create:
    return lambda tx, workspace, given: create(tx, workspace.id, given.name)


def _create_group(tx: Transaction, workspace: Workspace, given: argparse.Namespace) -> int:
    if given.query is None:
        return create_group(tx, workspace.id, given.name)
    return create_query_group(tx, workspace, given.name, given.query)


def _create_global(tx: Transaction, workspace: Workspace, given: argparse.Namespace) -> int:
    return create_global(tx, workspace.id, given.name, given_text(given, "value") or "")


def _create_ticketer(tx: Transaction, workspace: Workspace, given: argparse.Namespace) -> int:
    return create_ticketer(tx, workspace.id, given.name, given.type)


def _create_classifier(tx: Transaction, workspace: Workspace, given: argparse.Namespace) -> int:
    return create_classifier(tx, workspace.id, given.name, given.type, given.intent)


def _set_translation(tx: Transaction, workspace: Workspace, given: argparse.Namespace) -> int:
    translation = Translation(given.channel, given.locale, given.content, given.namespace, given.status)
    return set_translation(tx, workspace.id, given.name, translation)


LABEL = [named("the name of the label")]
TOPIC = [named("the name of the topic")]
OPTIN = [named("the name of the opt-in")]
TICKETER = [named("the name of the ticketer"), typed(ticketers.TYPES)]
CLASSIFIER = [
    named("the name of the classifier"),
    typed(classifiers.TYPES),
    option("--intent", "repeat for each intent that it knows", action="append", default=[]),
]
GROUP = [
    named("the name of the group"),
    option("--query", "a query for its members, which a worker finds: 'fields.age >= 18'", metavar="Q"),
]
GLOBAL: list[Option] = [
    named("the name; in flows it is @globals. followed by the name in lower case"),
    partial(add_text, name="--value", required=True, help="the value that flows insert"),
]
TEMPLATE = [
    named("its name at the gateway"),
    option("--channel", "the channel for which it is approved", required=True, metavar="UUID"),
    option("--locale", "language and country, for example swa-KE", required=True),
    option("--content", "text with variables {{1}}, {{2}}, ...", required=True),
    option("--namespace", "its namespace at the gateway, if there is one", default=""),
    option("--status", f"default: {STATUSES[0]}", choices=STATUSES, default=STATUSES[0]),
]

KINDS = (
    Kind("group", "create groups", "a new group", GROUPS, _create_group, GROUP),
    Kind("label", "create labels", "a new label", LABELS, by_name(create_label), LABEL),
    Kind("topic", "create topics of tickets", "a new topic", TOPICS, by_name(create_topic), TOPIC),
    Kind("global", "create values that flows share", "a new global", GLOBALS, _create_global, GLOBAL),
    Kind(
        "optin",
        "create subjects that contacts can agree to hear about",
        "a new opt-in",
        OPTINS,
        by_name(create_optin),
        OPTIN,
    ),
    Kind("ticketer", "create places where tickets are kept", "a new ticketer", TICKETERS, _create_ticketer, TICKETER),
    Kind(
        "classifier",
        "create services that find intents",
        "a new classifier",
        CLASSIFIERS,
        _create_classifier,
        CLASSIFIER,
    ),
    Kind(
        "template",
        "texts that a gateway approved in advance",
        "a new template, or another translation of an existing one",
        TEMPLATES,
        _set_translation,
        TEMPLATE,
    ),
)


def register(commands: Commands) -> None:
    for kind in KINDS:
        actions = add_noun(commands, kind.noun, kind.about)
        parser = workspace_action(actions, "create", partial(_create, kind), kind.action)
        for add in kind.options:
            add(parser)


def _create(kind: Kind, options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        record = read_record(tx, kind.spec, workspace, kind.create(tx, workspace, options))
    print_record(record)
