"""`relayboard flow draw`: a picture of a flow of a file."""

import sys

from relayboard.commands.output import CommandFailed
from relayboard.flow_tools.drawing import draw_flow
from relayboard.flow_tools.files import as_export, choose_flow, read_document
from relayboard.usage.parts import Options


def run(options: Options) -> None:
    """Draws one flow."""
    drawing = draw_flow(choose_flow(as_export(read_document(options.file)), options.flow)) + "\n"
    if options.output is None:
        sys.stdout.write(drawing)
        return
    try:
        options.output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{options.output} cannot be written: {error.strerror}") from error
