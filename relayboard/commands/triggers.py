"""`relayboard trigger create|list|archive`."""

import argparse

from persistence.lists import ListQuery, read_list, read_record
from persistence.tables.triggers import FIRST_WORD
from persistence.triggers.form import TriggerForm, read_trigger_form
from persistence.triggers.schedules import NEVER, REPEATS
from persistence.triggers.triggers import KEYWORD_MATCHES, TRIGGERS, TYPES
from persistence.triggers.writes import archive_trigger, create_trigger
from relayboard.commands.output import print_record, print_records, reading_in, writing_in
from relayboard.commands.parser import Commands, add_noun, moment, workspace_action


def register(commands: Commands) -> None:
    actions = add_noun(commands, "trigger", "create, list and archive what starts flows")
    create = workspace_action(actions, "create", run_create, "a new trigger")
    create.add_argument("--type", required=True, choices=TYPES, help="the type of event that starts the flow")
    create.add_argument("--flow", required=True, metavar="UUID", help="the flow to start")
    create.add_argument("--keyword", action="append", default=[], metavar="K", help="a word that starts the flow")
    create.add_argument(
        "--match",
        choices=tuple(KEYWORD_MATCHES),
        default=FIRST_WORD,
        help="whether it must be the first or the only word",
    )
    create.add_argument("--channel", metavar="UUID", help="only for messages and calls through this channel")
    _add_contacts(create)
    create.add_argument("--at", type=moment, metavar="TIME", help="first time of a schedule, like 2026-05-04T08:00")
    create.add_argument("--repeat", choices=REPEATS, default=NEVER, help="how often a schedule repeats")
    create.add_argument("--days", default="", help="weekdays of a weekly schedule, letters of MTWRFSU")
    workspace_action(actions, "list", run_list, "the triggers of a workspace")
    archive = workspace_action(actions, "archive", run_archive, "archive a trigger")
    archive.add_argument(
        "--trigger", required=True, metavar="UUID", help="the trigger, as `relayboard trigger list` names it"
    )


def _add_contacts(create: argparse.ArgumentParser) -> None:
    for name, meaning in (
        ("--group", "only for contacts of this group; a schedule starts its contacts"),
        ("--exclude-group", "not for contacts of this group"),
        ("--contact", "another contact that a schedule starts"),
    ):
        create.add_argument(name, action="append", default=[], metavar="UUID", help=meaning)


def run_create(options: argparse.Namespace) -> None:
    form = TriggerForm(
        type=options.type,
        flow=options.flow,
        keywords=options.keyword,
        match=options.match,
        channel=options.channel,
        groups=options.group,
        excluded_groups=options.exclude_group,
        contacts=options.contact,
        at=options.at,
        repeat=options.repeat,
        days=options.days,
    )
    with writing_in(options) as (tx, workspace):
        trigger_id = create_trigger(tx, workspace.id, read_trigger_form(tx, workspace, form))
        record = read_record(tx, TRIGGERS, workspace, trigger_id)
    print_record(record)


def run_list(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        records = read_list(ListQuery(tx, workspace), TRIGGERS)
    print_records(records)


def run_archive(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        trigger_id = archive_trigger(tx, workspace.id, options.trigger)
        record = read_record(tx, TRIGGERS, workspace, trigger_id)
    print_record(record)
