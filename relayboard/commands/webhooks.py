"""`relayboard webhook listen`."""

import contextlib
import signal
import sys
from typing import Any

from relayboard.commands.printing import print_line
from relayboard.commands.secret_input import read_secret
from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options
from relayboard.webhook_listener import WebhookListener


def run_listen(options: Options) -> None:
    secret = None if options.secret_file is None else read_secret(options.secret_file)

    def reply(event: dict[str, Any]) -> dict[str, Any] | None:
        return {"text": options.reply} if options.reply and event.get("event") == "mo_sms" else None

    try:
        listener = WebhookListener(options.port, print_line, secret=secret, reply=reply)
    except OSError as error:
        raise CommandFailed(f"cannot listen on port {options.port}: {error.strerror}") from error
    with contextlib.suppress(KeyboardInterrupt):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        print(f"Waiting for webhooks at {listener.url}", file=sys.stderr)
        listener.serve()
