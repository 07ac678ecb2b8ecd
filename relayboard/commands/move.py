"""`relayboard move`: copies a live workspace from another server, compares both sides, and tells what is left to do."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from persistence.database import Database, Transaction
from persistence.media.store import open_store
from persistence.move.moves import Move, find_move, open_move, save_state
from persistence.sql.columns import time_text
from persistence.tokens import find_credentials
from persistence.workspaces.records import Workspace
from relayboard.base.private_files import writing_private
from relayboard.base.settings import Settings, load_settings, read_environment
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.printing import as_json, shows_tables
from relayboard.commands.secret_input import read_secret
from relayboard.move.mover import Mover
from relayboard.move.progress import Progress
from relayboard.move.report import build_report, write_page, write_text
from relayboard.move.source import Source
from relayboard.move.verifying import Verifier
from relayboard.refusal import CommandFailed
from relayboard.usage.moving import TOKEN_VARIABLE
from relayboard.usage.parts import Options


def run_move(options: Options) -> None:
    settings = load_settings()
    token = _read_token(options)
    with opened_database(settings) as database:
        move = _open_move(database, settings, options, token)
        if not options.status:
            source = Source(move.source, token, tell=_tell)
            try:
                if options.verify:
                    Verifier(database, source, move, _tell).run()
                else:
                    move = _copy(database, settings, source, move, options)
            except KeyboardInterrupt:
                raise CommandFailed("interrupted; run the command again to go on where it was") from None
            finally:
                source.close()
        report = _report(database, options, move)
    if report["is_equal"] is False and options.verify:
        raise CommandFailed("both sides differ: see the report")


def _open_move(database: Database, settings: Settings, options: Options, token: str) -> Move:
    """The move from the given server, otherwise the last one of the workspace. Raises CommandFailed."""
    with database.reading() as tx:
        workspace = workspace_named(tx, options.workspace)
        if not options.status:
            _refuse_itself(tx, settings, workspace, token)
        given = Source(options.source, "") if options.source else None
        url = None if given is None else given.url
        found = find_move(tx, workspace, url)
        other = find_move(tx, workspace)
    if found is None and given is not None and other is not None and other.state and given.is_same(other.source):
        found = other
    if found is not None:
        return found
    if other is not None and other.state:
        raise CommandFailed(
            f"this workspace is moved from {other.source}, and a move has one source: leave out --from, or create"
            " another workspace for the other one"
        )
    if options.status:
        return Move(0, workspace, url or "", {})
    if url is None:
        raise CommandFailed("--from says which server to copy")
    if options.verify:
        raise CommandFailed(f"nothing was copied from {url} yet")
    return Move(0, workspace, url, {})


def _refuse_itself(tx: Transaction, settings: Settings, workspace: Workspace, token: str) -> None:
    """A workspace that is copied into itself has everything twice. Its UUID does not tell: one that was imported has
    that of its origin. Raises CommandFailed."""
    own = find_credentials(tx, token, settings.secret_key, settings.secret_key_fallbacks)
    if own is not None and own.workspace.id == workspace.id:
        raise CommandFailed("the token is one of this workspace itself: give --from and a token of the old server")


def _read_token(options: Options) -> str:
    if options.token_file:
        return read_secret(options.token_file)
    token = read_environment().get(TOKEN_VARIABLE, "").strip()
    if not token and not options.status:
        raise CommandFailed(f"the token of the other server is read from --token-file, or from {TOKEN_VARIABLE}")
    return token


def _copy(database: Database, settings: Settings, source: Source, move: Move, options: Options) -> Move:
    store = open_store(settings)
    if not move.id:
        # An address that nobody answers at, or a token that is not accepted, is not remembered.
        source.read_workspace()
        move = database.write(partial(open_move, workspace=move.workspace, source=source.url))
    mover = Mover(database, store, source, move, Progress(_tell), reads_all=options.all)
    mover.run()
    if options.finish:
        Mover(database, store, source.again(), move, Progress(_tell)).bring_campaigns()
        move.state["switched_on"] = time_text(source.now)
        database.write(partial(save_state, move=move))
    return move


def _tell(text: str) -> None:
    """Progress, for people and for logs; what programs read is on stdout."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


WRITERS: dict[str, Callable[[Any], str]] = {
    ".html": write_page,
    ".json": lambda report: as_json(report) + "\n",
    ".txt": write_text,
}


def _report(database: Database, options: Options, move: Move) -> dict[str, Any]:
    with database.reading() as tx:
        report = build_report(tx, move)
    for path in options.report:
        _write(path, WRITERS[path.suffix.lower()](report))
    if shows_tables():
        sys.stdout.write(write_text(report))
    else:
        print_json(report)
    return report


def _write(path: Path, text: str) -> None:
    try:
        with writing_private(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror}") from error
