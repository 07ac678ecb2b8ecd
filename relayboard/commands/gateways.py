"""`relayboard channel create`."""

from persistence.channels.settings import add_gateway, callback_path
from relayboard.base.settings import load_settings
from relayboard.commands.channels import read_settings
from relayboard.commands.countries import read_country
from relayboard.commands.output import print_json, writing_in
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    new = {name: getattr(options, name) for name in ("type", "name", "address", "scheme", "messages_per_second")}
    new |= {"country": read_country(options.country), "settings": read_settings(options, options.type)}
    new |= {"allow_international": options.allow_international}
    networks = load_settings().webhook_allowed_networks
    with writing_in(options) as (tx, workspace):
        uuid, secret = add_gateway(tx, workspace.id, new, networks)
    path = callback_path(options.type, uuid, secret)
    print_json({"uuid": uuid, "name": options.name.strip(), "receive_path": f"{path}receive", "callback_path": path})
