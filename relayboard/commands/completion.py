"""`relayboard completion`: the scripts that shells evaluate."""

import click
from click.shell_completion import get_completion_class

from relayboard.usage.parts import COMPLETING, NAME, Options


def run_completion(options: Options) -> None:
    shell = get_completion_class(options.shell)
    assert shell is not None
    program = click.get_current_context().find_root().command
    print(shell(program, {}, NAME, COMPLETING).source())
