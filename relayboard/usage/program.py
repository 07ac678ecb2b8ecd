"""The whole command line."""

import click

from relayboard.base.version import program_version
from relayboard.usage import data, flows, messaging, moving, people, records, services, tools
from relayboard.usage.parts import HELP, NAME, LaterNoun, Listing

EPILOG = """`relayboard COMMAND --help` tells more. Settings come from the environment or a file .env. On a terminal
commands show tables, in a pipe or with --json they write JSON."""


def build_program() -> click.Group:
    channel = LaterNoun("channel", "phones and gateways", "relayboard.usage.channels")
    nouns = [*services.ALL, *people.ALL, channel, *messaging.ALL, *records.ALL, *flows.ALL]
    nouns += [*data.ALL, *moving.ALL, *tools.ALL]
    return Listing(
        NAME,
        {each.name or "": each for each in nouns},
        context_settings=HELP,
        help="A self-hosted messaging workspace service.",
        epilog=EPILOG,
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_version,
                help="show the version, and end",
            )
        ],
    )


def _show_version(context: click.Context, _param: click.Parameter, is_given: bool) -> None:
    if is_given and not context.resilient_parsing:
        click.echo(f"{NAME} {program_version()}")
        context.exit()
