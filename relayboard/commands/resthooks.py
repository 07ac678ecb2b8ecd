"""`relayboard resthook create|subscribers|secret|switch-on`."""

import argparse
from typing import Any

import orjson

from persistence.deliveries.signers import read_subscriber_secret, rotate_subscriber_secret
from persistence.lists import read_record
from persistence.resthooks.resthooks import RESTHOOKS, ensure_resthook
from persistence.resthooks.subscribers import list_subscriber_states, switch_on_subscriber
from relayboard.commands.output import opened_database, print_json, workspace_named
from relayboard.commands.parser import add_workspace, whole_number


def register(commands: Any) -> None:
    parser = commands.add_parser("resthook", help="resthooks and their subscribers")
    actions = parser.add_subparsers(dest="action", required=True)
    create = actions.add_parser("create", help="a new resthook; one that exists is shown")
    add_workspace(create)
    create.add_argument("--slug", required=True, help="letters, digits, hyphens and underscores")
    create.set_defaults(run=run_create)
    listing = actions.add_parser("subscribers", help="who is called, and who was switched off after failing for long")
    add_workspace(listing)
    listing.set_defaults(run=run_subscribers)
    secret = actions.add_parser("secret", help="what calls to a subscriber are signed with")
    add_workspace(secret)
    secret.add_argument(
        "--subscriber", required=True, type=whole_number(1), metavar="ID", help="its number, as `subscribers` shows it"
    )
    secret.add_argument("--rotate", action="store_true", help="a new secret; the old one signs too for a day")
    secret.set_defaults(run=run_secret)
    switch_on = actions.add_parser("switch-on", help="call a subscriber again that failed for long")
    add_workspace(switch_on)
    switch_on.add_argument(
        "--subscriber",
        required=True,
        type=whole_number(1),
        metavar="ID",
        help="its number in `relayboard resthook subscribers`",
    )
    switch_on.set_defaults(run=run_switch_on)


def run_create(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        resthook_id = ensure_resthook(tx, workspace.id, options.slug)
        record = read_record(tx, RESTHOOKS, workspace, resthook_id)
    print_json(orjson.loads(record))


def run_subscribers(options: argparse.Namespace) -> None:
    with opened_database() as database, database.reading() as tx:
        print_json(list_subscriber_states(tx, workspace_named(tx, options.workspace).id))


def run_secret(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        tell = rotate_subscriber_secret if options.rotate else read_subscriber_secret
        secret = tell(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "secret": secret})


def run_switch_on(options: argparse.Namespace) -> None:
    with opened_database() as database, database.writing() as tx:
        workspace = workspace_named(tx, options.workspace)
        was_off = switch_on_subscriber(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "was_off": was_off})
