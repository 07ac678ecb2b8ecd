"""`relayboard NOUN create`, for records that have no other command."""

from collections.abc import Callable

from persistence.classifiers import CLASSIFIERS, create_classifier
from persistence.database import Transaction
from persistence.globals import GLOBALS, create_global
from persistence.groups.groups import GROUPS, create_group
from persistence.groups.smart_groups import create_query_group
from persistence.labels import LABELS, create_label
from persistence.lists import ListSpec, read_record
from persistence.optins import OPTINS, create_optin
from persistence.templates import TEMPLATES, Translation, set_translation
from persistence.ticketers import TICKETERS, create_ticketer
from persistence.topics import TOPICS, create_topic
from persistence.workspaces import Workspace
from relayboard.commands.output import print_record, writing_in
from relayboard.commands.secret_input import given_text
from relayboard.usage.parts import Options

Create = Callable[[Transaction, Workspace, Options], int]
"""Creates the record of the options; returns its id."""


def _by_name(create: Callable[[Transaction, int, str], int]) -> Create:
    return lambda tx, workspace, given: create(tx, workspace.id, given.name)


def _create_group(tx: Transaction, workspace: Workspace, given: Options) -> int:
    if given.query is None:
        return create_group(tx, workspace.id, given.name)
    return create_query_group(tx, workspace, given.name, given.query)


def _create_global(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_global(tx, workspace.id, given.name, given_text(given, "value") or "")


def _create_ticketer(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_ticketer(tx, workspace.id, given.name, given.type)


def _create_classifier(tx: Transaction, workspace: Workspace, given: Options) -> int:
    return create_classifier(tx, workspace.id, given.name, given.type, given.intent)


def _set_translation(tx: Transaction, workspace: Workspace, given: Options) -> int:
    translation = Translation(given.channel, given.locale, given.content, given.namespace, given.status)
    return set_translation(tx, workspace.id, given.name, translation)


def _action(spec: ListSpec, create: Create) -> Callable[[Options], None]:
    def run(options: Options) -> None:
        with writing_in(options) as (tx, workspace):
            record = read_record(tx, spec, workspace, create(tx, workspace, options))
        print_record(record)

    return run


run_group = _action(GROUPS, _create_group)
run_label = _action(LABELS, _by_name(create_label))
run_topic = _action(TOPICS, _by_name(create_topic))
run_global = _action(GLOBALS, _create_global)
run_optin = _action(OPTINS, _by_name(create_optin))
run_ticketer = _action(TICKETERS, _create_ticketer)
run_classifier = _action(CLASSIFIERS, _create_classifier)
run_template = _action(TEMPLATES, _set_translation)
