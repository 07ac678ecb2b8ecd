"""`relayboard flow run`: runs a flow of a file in the terminal."""

import sys
from collections.abc import Iterator, Sequence

from flows import EngineError, SystemClock
from flows.engine import ResumeError
from flows.engine.events import Event
from relayboard.commands.output import CommandFailed, opened_database, workspace_named
from relayboard.commands.printing import print_line
from relayboard.commands.secret_input import read_object
from relayboard.flow_tools.files import as_export, choose_flow, read_document
from relayboard.flow_tools.play import Lent, Play, describe_events, lend, make_assets, make_contact
from relayboard.usage.parts import Options

QUIT = "/quit"
PROMPT = "> "


def run(options: Options) -> int:
    """Runs until the session or the input ends; returns 1 if the flow failed."""
    content = as_export(read_document(options.file))
    clock = SystemClock()
    flow = choose_flow(content, options.flow)
    lent = None if options.workspace is None else _borrow(options.workspace)
    assets = make_assets(content, clock, None if lent is None else lent.assets)
    try:
        contact = make_contact(read_object(options.contact, "--contact"), flow, assets, clock)
        params = read_object(options.params, "--params")
        play, events = Play.begin(assets, flow, contact, params, clock, None if lent is None else lent.environment)
    except EngineError as error:
        raise CommandFailed(str(error)) from error
    _show(events, is_json=options.json)
    for line in _read_lines(PROMPT if sys.stdin.isatty() and not options.json else ""):
        if not play.session.is_waiting or line.strip().lower() == QUIT:
            break
        try:
            _show(play.answer(line), is_json=options.json)
        except ResumeError as error:
            print(f"relayboard: {error}", file=sys.stderr)
        if not play.session.is_waiting:
            break
    if not options.json:
        print(f"  · {play.session.status}")
    return 1 if play.session.status == "failed" else 0


def _borrow(workspace_uuid: str) -> Lent:
    with opened_database() as database, database.reading() as tx:
        return lend(tx, workspace_named(tx, workspace_uuid))


def _read_lines(prompt: str) -> Iterator[str]:
    while True:
        try:
            yield input(prompt)
        except (EOFError, KeyboardInterrupt):
            return


def _show(events: Sequence[Event], *, is_json: bool) -> None:
    if is_json:
        for event in events:
            print_line(event)
        return
    for line in describe_events(events):
        print(line, flush=True)
