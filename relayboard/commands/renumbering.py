"""`relayboard contact renumber|doubles`."""

from dataclasses import asdict
from functools import partial

from persistence.contacts.merging import DOUBLES, Renumbering, merge_doubles, renumber
from persistence.lists import ListQuery, fetch_list
from relayboard.commands.countries import read_country
from relayboard.commands.output import opened_database, print_json, print_records, reading_in, workspace_named
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options


def run_renumber(options: Options) -> None:
    for prefix in (options.old, options.new):
        if not (prefix.startswith("+") and prefix[1:].isascii() and prefix[1:].isdecimal()):
            raise CommandFailed(f"{prefix} is not the beginning of a number, like +229")
    rule = Renumbering(options.old, options.new, read_country(options.country) if options.country else "")
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
        report = renumber(database, workspace.id, rule, writes=options.apply)
    print_json({"applied": options.apply, **asdict(report)})


def run_doubles(options: Options) -> None:
    if not options.merge:
        with reading_in(options) as (tx, workspace):
            query = ListQuery(tx, workspace, {"kind": options.kind} if options.kind else {})
            page = fetch_list(query, DOUBLES, None, options.limit)
        print_records(page.records)
        return
    merged = 0
    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
        some = partial(merge_doubles, workspace=workspace, kind=options.kind, user_id=None)
        while done := database.write(some):
            merged += done
    print_json({"merged": merged})
