"""`relayboard secrets renew`."""

import argparse
from typing import Any

from persistence.secrets.encryption import KeyRing
from persistence.secrets.key_check import confirm_secret_key
from persistence.secrets.renewal import renew_secrets
from relayboard.base.settings import load_settings
from relayboard.commands.output import opened_database, print_json


def register(commands: Any) -> None:
    parser = commands.add_parser("secrets", help="the secrets that the database holds encrypted")
    actions = parser.add_subparsers(dest="action", required=True)
    renew = actions.add_parser("renew", help="encrypt all under the present RELAYBOARD_SECRET_KEY")
    renew.add_argument(
        "--drop-unreadable",
        action="store_true",
        help="empty those whose key is lost: phones register again, webhooks and gateways are set up again",
    )
    renew.set_defaults(run=run_renew)


def run_renew(options: argparse.Namespace) -> None:
    settings = load_settings()
    with opened_database(settings, confirms_key=False) as database:
        done = renew_secrets(database, KeyRing.of(settings), drops_unreadable=options.drop_unreadable)
        confirm_secret_key(database)
    print_json({"renewed": done.renewed, "dropped": done.dropped})
