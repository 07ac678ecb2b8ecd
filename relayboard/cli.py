"""The `relayboard` command line.

Commands that create or show something print JSON on stdout and nothing else there, or tables on a terminal. Errors go
to stderr, one sentence each, with exit status 1; wrong usage with 2.
"""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from relayboard.doctor.packages import check_packages
from relayboard.usage.parts import COMPLETING, NAME
from relayboard.usage.program import build_program

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit status of the process. Raises SystemExit for wrong usage."""
    _fill_streams()
    given = sys.argv[1:] if arguments is None else list(arguments)
    hidden = list(check_packages())
    if hidden:  # nothing else can be loaded then
        if given[:1] == ["doctor"]:
            from relayboard.doctor.findings import report  # noqa: PLC0415  # only now is it needed

            return report(hidden, as_json="--json" in given)
        print(f"relayboard: {hidden[0].sentence}", file=sys.stderr)
        return 1
    try:
        status = _run(given)
        sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        _say_usage(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _leave_stdout()
        return 1
    except Exception as error:
        from relayboard.failures import say_failure  # noqa: PLC0415  # they load packages that may be hidden
        from relayboard.processes import CANNOT_START, is_supervised  # noqa: PLC0415

        say_failure(error)
        return CANNOT_START if is_supervised() else 1
    return status if isinstance(status, int) else 0


def _fill_streams() -> None:
    """Lets a process that was started without standard streams (`>&-`) say nothing; its first files would get their
    numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8", errors="replace")  # noqa: SIM115  # open until the end
            setattr(sys, name, nowhere)


def _run(given: list[str]) -> object:
    program = build_program()
    if COMPLETING in os.environ:
        return program.main(given, prog_name=NAME)
    if not all(_is_text(argument) for argument in given):
        raise click.UsageError("an argument is not UTF-8", click.Context(program, info_name=NAME))
    with program.make_context(NAME, given) as context:
        return program.invoke(context)


def _say_usage(error: click.UsageError) -> NoReturn:
    """Says how the command is called and what is wrong, or everything about a command that lacks its verb."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or error.ctx is None:
        print(error.format_message(), file=sys.stderr)
    else:
        usage = error.ctx.get_usage().removeprefix("Usage: ")
        message = " ".join(error.format_message().split())
        print(f"usage: {usage}\n{error.ctx.command_path}: error: {message}", file=sys.stderr)
    raise SystemExit(error.exit_code)


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leave_stdout() -> None:
    """The reader of our output has gone; otherwise the interpreter would report an error when it flushes the rest at
    its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
