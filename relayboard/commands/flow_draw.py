"""`relayboard flow draw`: a picture of a flow of a file."""

import argparse
import sys
from pathlib import Path

from relayboard.commands.output import CommandFailed
from relayboard.commands.parser import Commands, add_action
from relayboard.flow_tools.drawing import draw_flow
from relayboard.flow_tools.files import as_export, choose_flow, read_document


def register(actions: Commands) -> None:
    parser = add_action(actions, "draw", run, "draw a flow of a file as SVG")
    parser.add_argument("file", type=Path, metavar="FILE", help="a definition or an export file")
    parser.add_argument("--flow", metavar="NAME", help="name or UUID of the flow; default: the first flow of the file")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.svg", help="file to write; default: stdout")


def run(options: argparse.Namespace) -> None:
    """Draws one flow."""
    drawing = draw_flow(choose_flow(as_export(read_document(options.file)), options.flow)) + "\n"
    if options.output is None:
        sys.stdout.write(drawing)
        return
    try:
        options.output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error
