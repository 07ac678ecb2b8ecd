"""`relayboard resthook create|subscribers|secret|switch-on`."""

import argparse

from persistence.deliveries.signers import read_subscriber_secret, rotate_subscriber_secret
from persistence.lists import read_record
from persistence.resthooks.resthooks import RESTHOOKS, ensure_resthook
from persistence.resthooks.subscribers import list_subscriber_states, switch_on_subscriber
from relayboard.commands.output import print_json, print_record, reading_in, writing_in
from relayboard.commands.parser import Commands, add_noun, whole_number, workspace_action


def register(commands: Commands) -> None:
    actions = add_noun(commands, "resthook", "resthooks and their subscribers")
    create = workspace_action(actions, "create", run_create, "a new resthook; an existing one is shown")
    create.add_argument("--slug", required=True, help="letters, digits, hyphens and underscores")
    workspace_action(
        actions, "subscribers", run_subscribers, "the subscribers, and which were switched off after failing for long"
    )
    secret = workspace_action(actions, "secret", run_secret, "show the secret that signs calls to a subscriber")
    secret.add_argument(
        "--subscriber",
        required=True,
        type=whole_number(1),
        metavar="ID",
        help="its id, as `relayboard resthook subscribers` shows it",
    )
    secret.add_argument(
        "--rotate", action="store_true", help="a new secret; for a day requests are also signed with the old one"
    )
    switch_on = workspace_action(
        actions, "switch-on", run_switch_on, "switch on a subscriber that was switched off after failing for long"
    )
    switch_on.add_argument(
        "--subscriber",
        required=True,
        type=whole_number(1),
        metavar="ID",
        help="its id in `relayboard resthook subscribers`",
    )


def run_create(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        resthook_id = ensure_resthook(tx, workspace.id, options.slug)
        record = read_record(tx, RESTHOOKS, workspace, resthook_id)
    print_record(record)


def run_subscribers(options: argparse.Namespace) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_subscriber_states(tx, workspace.id))


def run_secret(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        tell = rotate_subscriber_secret if options.rotate else read_subscriber_secret
        secret = tell(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "secret": secret})


def run_switch_on(options: argparse.Namespace) -> None:
    with writing_in(options) as (tx, workspace):
        was_off = switch_on_subscriber(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "was_off": was_off})
