"""`relayboard webhook listen`."""

import argparse
import contextlib
import sys
from typing import Any

from relayboard.commands.output import CommandFailed, print_json
from relayboard.webhook_listener import WebhookListener


def register(commands: Any) -> None:
    parser = commands.add_parser("webhook", help="a small receiver that prints and verifies what it gets")
    actions = parser.add_subparsers(dest="action", required=True)
    listen = actions.add_parser("listen", help="print each event as a line of JSON until interrupted")
    listen.add_argument("--port", type=int, default=8090)
    listen.add_argument("--secret", help="check signatures with this secret (whsec_...)")
    listen.add_argument("--reply", metavar="TEXT", help="answer each incoming message with this text")
    listen.set_defaults(run=run_listen)


def run_listen(options: argparse.Namespace) -> None:
    def reply(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"text": options.reply} if options.reply and event.get("event") == "mo_sms" else None

    try:
        listener = WebhookListener(options.port, print_json, secret=options.secret, reply=reply)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {options.port}: {error.strerror}") from error
    print(f"Waiting for webhooks at {listener.url}", file=sys.stderr)
    with contextlib.suppress(KeyboardInterrupt):
        listener.serve()
