"""How a workspace is moved here."""

from pathlib import Path
from typing import Any

import click

from relayboard.usage.parts import Action, OneOf, flag, option, workspace

TOKEN_VARIABLE = "RELAYBOARD_MOVE_TOKEN"
FORMS = (".html", ".json", ".txt")


class ReportFile(click.Path):
    """A file whose ending says the form of the report."""

    name = "file"

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = super().convert(value, param, ctx)
        if Path(str(path)).suffix.lower() not in FORMS:
            self.fail(f"{value} ends in none of {', '.join(FORMS)}", param, ctx)
        return path


MOVE = Action(
    "move",
    "move.run_move",
    "copy a live workspace from another server, and keep up with it",
    workspace(),
    option(
        "--from",
        "the other server, RapidPro, TextIt or Relayboard; default: that of the last move",
        into="source",
        metavar="URL",
    ),
    option(
        "--token-file",
        f"a file with an administrator's API token there, or - for standard input; default: {TOKEN_VARIABLE}",
        metavar="FILE",
    ),
    OneOf(
        flag("--verify", "compare both sides and change nothing; the exit status is 1 if they differ"),
        flag("--status", "show the report and what is left to do, without asking the other server"),
        flag("--finish", "the last pass, once the other side starts nothing new: also brings the campaigns"),
    ),
    flag("--all", "read everything again, not only what changed since the last pass"),
    option(
        "--report",
        "write the report there too, as .html, .json or .txt",
        kind=ReportFile(),
        several=True,
        metavar="PATH",
    ),
    more="It can be interrupted at any time and run again: it goes on where it was, and afterward brings what changed "
    "since. Nothing is sent, no flow starts and no webhook is called because of it. The token is a secret and "
    "therefore no argument.",
    secret_from=f"use --token-file or {TOKEN_VARIABLE}",
    examples=(
        "--workspace 9b1f0c52-5a4e-4c1b-8a7e-2d6f3c1b0a99 --from https://rapidpro.example.org --token-file token.txt",
        "--workspace 9b1f0c52-5a4e-4c1b-8a7e-2d6f3c1b0a99 --verify --report report.html",
        "--workspace 9b1f0c52-5a4e-4c1b-8a7e-2d6f3c1b0a99 --status",
    ),
)
ALL = (MOVE,)
