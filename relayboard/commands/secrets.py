"""`relayboard secrets renew`."""

import argparse

from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key, renew_secrets
from relayboard.base.settings import load_settings
from relayboard.commands.output import opened_database, print_json
from relayboard.commands.parser import Commands, add_action, add_noun


def register(commands: Commands) -> None:
    actions = add_noun(commands, "secrets", "the encrypted secrets in the database")
    renew = add_action(actions, "renew", run_renew, "encrypt all with the current RELAYBOARD_SECRET_KEY")
    renew.add_argument(
        "--drop-unreadable",
        action="store_true",
        help="delete those whose key is lost: register phones and set up webhooks and gateways again",
    )


def run_renew(options: argparse.Namespace) -> None:
    settings = load_settings()
    with opened_database(settings, confirms_key=False) as database:
        done = renew_secrets(database, KeyRing.of(settings), drops_unreadable=options.drop_unreadable)
        confirm_secret_key(database)
    print_json({"renewed": done.renewed, "dropped": done.dropped})
