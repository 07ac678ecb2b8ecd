"""`relayboard workspace create|list|show|change`."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import available_timezones

from persistence.database import Transaction
from persistence.workspaces.records import BY_COUNTRY, Workspace, list_origins, list_workspaces, show_workspace
from relayboard.commands.countries import read_country
from relayboard.commands.output import CommandFailed, opened_database, print_json, reading_in, writing_in
from relayboard.usage.parts import Options


def show(tx: Transaction, workspace: Workspace) -> dict[str, Any]:
    record = show_workspace(workspace)
    del record["primary_language"]
    return {"uuid": record.pop("uuid"), "id": workspace.id, **record, "origins": list_origins(tx, workspace.id)}


def run_create(options: Options) -> None:
    from persistence.workspaces.writes import create_workspace  # the other commands need none of it

    country = read_country(options.country)
    timezone, languages = _read_timezone(options.timezone), _read_languages(options.language)
    with opened_database() as database, database.writing() as tx:
        workspace = create_workspace(
            tx,
            options.name,
            country=country,
            timezone=timezone,
            languages=tuple(languages) or ("eng",),
            date_style=options.date_style,
            number_format=None if options.number_format == BY_COUNTRY else options.number_format,
            is_anonymous=options.anon,
        )
        record = show(tx, workspace)
    print_json(record)


def run_list(_options: Options) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json([show(tx, workspace) for workspace in list_workspaces(tx)])


def run_show(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(show(tx, workspace))


def run_change(options: Options) -> None:
    from persistence.workspaces.writes import change_workspace, read_origins  # see above

    given = {
        "name": options.name,
        "country": None if options.country is None else read_country(options.country),
        "timezone": None if options.timezone is None else _read_timezone(options.timezone),
        "languages": _read_languages(options.language) or None,
        "date_style": options.date_style,
        "number_format": options.number_format,
        "is_anonymous": None if options.anon is None else options.anon == "yes",
        "answer_limit": options.answer_limit,
        "origins": read_origins([each for each in options.origin if each]) if options.origin else None,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if changes.get("number_format") == BY_COUNTRY:
        changes["number_format"] = None
    if not changes:
        raise CommandFailed("nothing was given that is to change: see `relayboard workspace change --help`")
    with writing_in(options) as (tx, workspace):
        record = show(tx, change_workspace(tx, workspace, changes))
    print_json(record)


def _read_timezone(text: str) -> str:
    if text not in available_timezones():
        raise CommandFailed(f"{text} is not a time zone")
    return text


def _read_languages(given: Sequence[str]) -> list[str]:
    if not given:
        return []
    from flows.languages import is_language  # it loads a list of all languages

    languages = [code.lower() for code in given]
    wrong = [code for code in languages if not is_language(code)]
    if wrong:
        raise CommandFailed(f"{wrong[0]} is not an ISO 639-3 language code")
    return languages
