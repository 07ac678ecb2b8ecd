"""One API process (`python -m relayboard.api_process FD`)."""

import sys

from relayboard.base.collection import loading


def main(arguments: list[str]) -> int:
    """Serve requests until SIGINT or SIGTERM; running requests are finished first."""
    # Here and not above, because the collector would take a fifth of the time in which these are loaded.
    with loading():
        from relayboard.api_server import serve  # noqa: PLC0415
        from relayboard.failures import EXPECTED, say_failure  # noqa: PLC0415
        from relayboard.processes import CANNOT_START  # noqa: PLC0415

    try:
        return serve(int(arguments[0]))
    except EXPECTED as error:
        say_failure(error)
        return CANNOT_START


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
