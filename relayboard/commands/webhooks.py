"""`relayboard webhook listen`."""

import argparse
import contextlib
import signal
import sys
from typing import Any

from relayboard.commands.output import CommandFailed, print_json
from relayboard.commands.parser import Commands, add_action, add_noun, port_number
from relayboard.commands.secret_input import read_secret
from relayboard.webhook_listener import WebhookListener


def register(commands: Commands) -> None:
    actions = add_noun(commands, "webhook", "a small receiver that prints and verifies events")
    listen = add_action(actions, "listen", run_listen, "print each event as a line of JSON until interrupted")
    listen.add_argument("--port", type=port_number, default=8090, help="0 for any free port; default: 8090")
    listen.add_argument(
        "--secret-file",
        metavar="FILE",
        help="check signatures with the secret (whsec_...) in this file; - reads it from standard input",
    )
    listen.add_argument("--reply", metavar="TEXT", help="answer each incoming message with this text")


def run_listen(options: argparse.Namespace) -> None:
    secret = None if options.secret_file is None else read_secret(options.secret_file)

    def reply(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"text": options.reply} if options.reply and event.get("event") == "mo_sms" else None

    try:
        listener = WebhookListener(options.port, print_json, secret=secret, reply=reply)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {options.port}: {error.strerror}") from error
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"Waiting for webhooks at {listener.url}", file=sys.stderr)
        listener.serve()
