"""`relayboard resthook create|subscribers|secret|switch-on`."""

from persistence.deliveries.receivers import read_subscriber_secret, rotate_subscriber_secret
from persistence.lists import read_record
from persistence.resthooks import RESTHOOKS, ensure_resthook, list_subscriber_states, switch_on_subscriber
from relayboard.commands.output import print_json, print_record, reading_in, writing_in
from relayboard.usage.parts import Options


def run_create(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        resthook_id = ensure_resthook(tx, workspace.id, options.slug)
        record = read_record(tx, RESTHOOKS, workspace, resthook_id)
    print_record(record)


def run_subscribers(options: Options) -> None:
    with reading_in(options) as (tx, workspace):
        print_json(list_subscriber_states(tx, workspace.id))


def run_secret(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        tell = rotate_subscriber_secret if options.rotate else read_subscriber_secret
        secret = tell(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "secret": secret})


def run_switch_on(options: Options) -> None:
    with writing_in(options) as (tx, workspace):
        was_off = switch_on_subscriber(tx, workspace.id, options.subscriber)
    print_json({"subscriber": options.subscriber, "was_off": was_off})
