"""`relayboard secrets renew`."""

from persistence.secrets.encryption import KeyRing
from persistence.secrets.renewal import confirm_secret_key, renew_secrets
from relayboard.base.settings import load_settings
from relayboard.commands.output import opened_database, print_json
from relayboard.usage.parts import Options


def run_renew(options: Options) -> None:
    settings = load_settings()
    with opened_database(settings, confirms_key=False) as database:
        done = renew_secrets(database, KeyRing.of(settings), drops_unreadable=options.drop_unreadable)
        confirm_secret_key(database)
    print_json({"renewed": done.renewed, "dropped": done.dropped})
