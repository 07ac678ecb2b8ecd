"""One API process: uvicorn on a listening socket it inherits (`python -m relayboard.api_process FD`)."""

import logging
import signal
import socket
import sys

import uvicorn

from handlers.app import create_app
from relayboard.logs import configure_logging
from relayboard.processes import follow_lifeline
from relayboard.settings import load_settings
from worker.wake import make_wake

GRACE_SECONDS = 20


def main(arguments: list[str]) -> int:
    """Serve requests until SIGINT or SIGTERM; running requests are finished first."""
    settings = load_settings()
    configure_logging(settings.log_format)
    follow_lifeline()
    app = create_app(settings, wake=make_wake(settings))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
    )
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    for number in (signal.SIGINT, signal.SIGTERM):
        # uvicorn raises the signal again once it has stopped; a stop that was asked for is no failure.
        signal.signal(number, lambda *_: None)
    server = uvicorn.Server(config)
    # uvicorn takes an inherited descriptor for a UNIX socket and then leaves Nagle's delay on.
    server.run(sockets=[socket.socket(fileno=int(arguments[0]))])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
