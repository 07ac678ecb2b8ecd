"""`relayboard workspace create|list`."""

import argparse
from typing import Any
from zoneinfo import available_timezones

from flows.languages import is_language
from persistence.workspace_setup import create_workspace
from persistence.workspaces import DATE_STYLES, Workspace, list_workspaces
from relayboard.commands.output import CommandFailed, opened_database, print_json, read_country
from relayboard.commands.parser import Commands, add_action, add_noun


def register(commands: Commands) -> None:
    actions = add_noun(commands, "workspace", "create and list workspaces")
    create = add_action(actions, "create", run_create, "a new workspace")
    create.add_argument("--name", required=True, help="its name")
    create.add_argument(
        "--country", default="", help="two letters, for example RW; default: the country of the time zone"
    )
    create.add_argument("--timezone", default="UTC", help="IANA name, for example Africa/Kigali")
    create.add_argument("--language", action="append", default=[], help="ISO 639-3 code; repeat, the default first")
    create.add_argument(
        "--date-style", choices=DATE_STYLES, default="day_first", help="how dates are written; default: day_first"
    )
    create.add_argument(
        "--anon", action="store_true", help="an anonymous workspace: hide the URNs of contacts from API clients"
    )
    actions.add_parser("list", help="all workspaces").set_defaults(run=run_list)


def show(workspace: Workspace) -> dict[str, Any]:
    return {
        "uuid": workspace.uuid,
        "id": workspace.id,
        "name": workspace.name,
        "country": workspace.country,
        "timezone": workspace.timezone,
        "languages": list(workspace.languages),
        "date_style": workspace.date_style,
        "anon": workspace.is_anonymous,
    }


def run_create(options: argparse.Namespace) -> None:
    country = read_country(options.country)
    if options.timezone not in available_timezones():
        raise CommandFailed(f"{options.timezone} is not a time zone")
    languages = [code.lower() for code in options.language]
    wrong = [code for code in languages if not is_language(code)]
    if wrong:
        raise CommandFailed(f"{wrong[0]} is not an ISO 639-3 language code")
    with opened_database() as database, database.writing() as tx:
        workspace = create_workspace(
            tx,
            options.name,
            country=country,
            timezone=options.timezone,
            languages=tuple(languages) or ("eng",),
            date_style=options.date_style,
            is_anonymous=options.anon,
        )
    print_json(show(workspace))


def run_list(_options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json([show(workspace) for workspace in list_workspaces(tx)])
