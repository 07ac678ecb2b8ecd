"""`relayboard flow ...`: lists, changes, labels, archives, imports, exports, checks, draws and plays flows."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from persistence.database import Transaction
from persistence.flows.records import (
    FLOWS,
    add_flow_label,
    find_flow,
    list_all_flows,
    remove_flow_label,
    set_ignores_triggers,
)
from persistence.lists import read_record
from persistence.sql.columns import is_uuid
from persistence.workspaces.records import Workspace
from relayboard.base.settings import load_settings
from relayboard.commands.output import (
    opened_database,
    print_json,
    print_record,
    print_records,
    reading_in,
    workspace_named,
    writing_in,
)
from relayboard.commands.printing import print_line
from relayboard.commands.progress import show_progress
from relayboard.commands.secret_input import read_object
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

if TYPE_CHECKING:
    from flows.definition import Finding
    from flows.engine.state import Event
    from persistence.definitions.checking import FoundInFlow
    from relayboard.flow_tools.play import Lent

QUIT = "/quit"
PROMPT = "> "


def run_list(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        records = list_all_flows(tx, workspace)
    print_records(records)


def run_change(options: Options) -> None:
    ignores_triggers = options.ignore_triggers == "yes"
    with writing_in(options) as (tx, workspace):
        flow_id = flow_named(tx, workspace, options.flow)
        set_ignores_triggers(tx, workspace.id, flow_id, ignores_triggers=ignores_triggers)
        record = orjson.loads(read_record(tx, FLOWS, workspace, flow_id))
    print_json(record | {"ignores_triggers": ignores_triggers})


def run_label(options: Options) -> None:
    change = remove_flow_label if options.remove else add_flow_label
    with writing_in(options) as (tx, workspace):
        flow_id = flow_named(tx, workspace, options.flow)
        change(tx, workspace.id, flow_id, options.name)
        record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def flow_named(tx: Transaction, workspace: Workspace, uuid: str) -> int:
    """The id of a flow. Raises CommandFailed."""
    flow_id = find_flow(tx, workspace.id, uuid) if is_uuid(uuid) else None
    if flow_id is None:
        raise CommandFailed(f"there is no flow {uuid}")
    return flow_id


def run_archive(options: Options) -> None:
    from persistence.flows.records import FLOWS, archive_flow

    with opened_database() as database:
        with database.reading() as tx:
            workspace = workspace_named(tx, options.workspace)
            flow_id = flow_named(tx, workspace, options.flow)
        archive_flow(database, workspace.id, flow_id)
        with database.reading() as tx:
            record = read_record(tx, FLOWS, workspace, flow_id)
    print_record(record)


def run_check(options: Options) -> int:
    """Prints each issue with its place; returns 1 if there are any. What other programs do not know is only told."""
    from relayboard.flow_tools.files import as_export, read_document, tell_pauses

    document = read_document(options.file)
    found = _check(options, document)
    if not any(each.finding.is_fatal for each in found):
        for told in tell_pauses(as_export(document)):
            print(f"relayboard: {options.file}: {told}", file=sys.stderr)
    if options.json:
        print_line([each.to_json() for each in found])
    else:
        for each in found:
            print(f"{options.file}: {_describe(each)}")
    return 1 if found else 0


def run_draw(options: Options) -> None:
    """Draws one flow."""
    from relayboard.flow_tools.drawing import draw_flow
    from relayboard.flow_tools.files import as_export, choose_flow, read_document

    drawing = draw_flow(choose_flow(as_export(read_document(options.file)), options.flow)) + "\n"
    if options.output is None:
        sys.stdout.write(drawing)
        return
    try:
        options.output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error


def run_texts(options: Options) -> None:
    from relayboard.flow_tools.files import as_export, choose_flow, read_document
    from relayboard.flow_tools.translating import write_file

    flow = choose_flow(as_export(read_document(options.file)), options.flow)
    suffix = ".po" if options.output is None else options.output.suffix
    _write(options.output, write_file(flow, options.language, suffix))


def run_translate(options: Options) -> int:
    """Prints what changes; returns 1 if something of the file was left out."""
    from relayboard.flow_tools.files import as_export, choose_flow, read_document
    from relayboard.flow_tools.translating import describe_change, put_in, read_file, translate

    document = read_document(options.file)
    content = as_export(document)
    flow = choose_flow(content, options.flow)
    changes, definition = translate(flow, options.language, read_file(options.translations))
    for each in changes:
        print(describe_change(each))
    if options.output is not None:
        _write(options.output, orjson.dumps(put_in(document, content, definition), option=orjson.OPT_INDENT_2))
    return 1 if any(each.problem for each in changes) else 0


def _write(path: Path | None, content: bytes) -> None:
    if path is None:
        sys.stdout.write(content.decode())
        return
    try:
        path.write_bytes(content)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error


def run_import(options: Options) -> None:
    from persistence.definitions.importing import ImportReport, import_definitions
    from relayboard.flow_tools.files import read_document

    document = read_document(options.file)

    def bring_in(tx: Transaction) -> ImportReport:
        workspace = workspace_named(tx, options.workspace)
        networks = load_settings().webhook_allowed_networks
        return import_definitions(tx, workspace, document, media_url=options.media_url, networks=networks)

    with opened_database() as database, show_progress("Importing"):
        report = database.write(bring_in)
    print_json(asdict(report))


def run_export(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings) as database, database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        written = _export(tx, workspace, options, settings.base_url)
    if options.folder is not None:
        from relayboard.flow_tools.files import write_folder

        print_json(write_folder(Path(options.folder), orjson.loads(written)))
        return
    if options.output is None:
        print_line(orjson.Fragment(written))
        return
    try:
        options.output.write_bytes(written + b"\n")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error


def run_run(options: Options) -> int:
    """Runs until the session or the input ends; returns 1 if the flow failed."""
    from flows import EngineError, SystemClock
    from flows.engine import ResumeError
    from flows.simulation import Simulation, make_contact
    from relayboard.flow_tools.files import as_export, choose_flow, read_document
    from relayboard.flow_tools.play import answer_line, make_assets

    content = as_export(read_document(options.file))
    clock = SystemClock()
    flow = choose_flow(content, options.flow)
    lent = None if options.workspace is None else _borrow(options.workspace)
    assets = make_assets(content, clock, None if lent is None else lent.assets)
    try:
        contact = make_contact(read_object(options.contact, "--contact"), flow, assets, clock)
        params = read_object(options.params, "--params")
        play, events = Simulation.begin(
            assets, flow, contact, params, clock, None if lent is None else lent.environment
        )
    except EngineError as error:
        raise CommandFailed(str(error)) from error
    _show(events, is_json=options.json)
    for line in _read_lines(PROMPT if sys.stdin.isatty() and not options.json else ""):
        if not play.session.is_waiting or line.strip().lower() == QUIT:
            break
        try:
            _show(answer_line(play, line), is_json=options.json)
        except ResumeError as error:
            print(f"relayboard: {error}", file=sys.stderr)
        if not play.session.is_waiting:
            break
    if not options.json:
        print(f"  · {play.session.status}")
    return 1 if play.session.status == "failed" else 0


def run_test(options: Options) -> int:
    """Plays the tests of flows; returns 1 if one fails. Raises CommandFailed, also if there are none."""
    from relayboard.flow_tools.files import as_export, read_document
    from relayboard.flow_tools.play import play_tests

    contents = {str(path): as_export(read_document(path)) for path in options.files}
    if not contents and options.workspace is None:
        raise CommandFailed("name a file, a folder or a workspace")
    lent = None if options.workspace is None else _borrow(options.workspace)
    if not contents:
        contents = {options.workspace: as_export(_export_all(options.workspace))}
    played = [each for source, content in contents.items() for each in play_tests(source, content, lent)]
    if not played:
        raise CommandFailed("there are no tests")
    if options.json:
        print_line([asdict(each) for each in played])
    else:
        for each in played:
            print(
                "\n        ".join(
                    [f"{'FAILED' if each.failures else 'ok':6}  {each.flow}: {each.test}", *each.failures]
                )
            )
    return 1 if any(each.failures for each in played) else 0


def _check(options: Options, document: object) -> "Sequence[FoundInFlow]":
    from relayboard.flow_tools.trial import empty_database, open_new_workspace, try_import

    if options.workspace is None:
        with empty_database() as database:
            return try_import(database, open_new_workspace, document)
    with opened_database() as database:
        return try_import(database, lambda tx: workspace_named(tx, options.workspace), document)


def _describe(found: "FoundInFlow") -> str:
    place = ", ".join(part for part in (found.flow_name, *_list_place(found.finding)) if part)
    message = f"{found.finding.message} ({found.finding.type})"
    return f"{place}: {message}" if place else message


def _list_place(finding: "Finding") -> Iterator[str]:
    place = finding.place
    yield f"node {place.node_uuid}" if place.node_uuid else ""
    yield f"action {place.action_uuid}" if place.action_uuid else ""
    yield place.field
    yield f"translation {place.language}" if place.language else ""


def _export(tx: Transaction, workspace: Workspace, options: Options, site: str) -> bytes:
    from flows.definition.exports import Dependencies
    from persistence.campaigns.records import find_campaign
    from persistence.definitions.exporting import export_definitions, export_workspace

    if not options.flow and not options.campaign:
        return export_workspace(tx, workspace, site=site)
    for uuid in options.flow:
        flow_named(tx, workspace, uuid)
    for uuid in options.campaign:
        if not is_uuid(uuid) or find_campaign(tx, workspace.id, uuid) is None:
            raise CommandFailed(f"there is no campaign {uuid}")
    dependencies = Dependencies(options.dependencies)
    return export_definitions(tx, workspace, options.flow, options.campaign, dependencies=dependencies, site=site)


def _export_all(workspace_uuid: str) -> object:
    from persistence.definitions.exporting import export_workspace

    with opened_database() as database, database.reading() as tx:
        return orjson.loads(export_workspace(tx, workspace_named(tx, workspace_uuid), site=""))


def _borrow(workspace_uuid: str) -> "Lent":
    from relayboard.flow_tools.play import lend

    with opened_database() as database, database.reading() as tx:
        return lend(tx, workspace_named(tx, workspace_uuid))


def _read_lines(prompt: str) -> Iterator[str]:
    while True:
        try:
            yield input(prompt)
        except (EOFError, KeyboardInterrupt):
            return


def _show(events: "Sequence[Event]", *, is_json: bool) -> None:
    from relayboard.flow_tools.play import describe_events

    if is_json:
        for event in events:
            print_line(event)
        return
    for line in describe_events(events):
        print(line, flush=True)
