"""`relayboard workspace create|list`."""

from typing import Any
from zoneinfo import available_timezones

from flows.languages import is_language
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace, list_workspaces
from relayboard.commands.countries import read_country
from relayboard.commands.output import CommandFailed, opened_database, print_json
from relayboard.usage.parts import Options


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


def run_create(options: Options) -> None:
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


def run_list(_options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json([show(workspace) for workspace in list_workspaces(tx)])
