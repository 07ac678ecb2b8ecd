"""`python -m bench.smpp [--messages 1000] [--kills 5]`: messages and receipts over SMPP, both ways at a time, while the
worker is killed again and again, on SQLite and PostgreSQL. Prints what became of them; nothing may be lost.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from testbed.running import running_service
from testbed.servers import postgres_database, postgres_server
from testbed.smpp_kills import play
from testbed.smsc import Reply, running_smsc

ANSWER_SECONDS = 0.02


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.smpp", description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args(arguments)
    kinds = ("sqlite", "postgresql") if options.database == "both" else (options.database,)
    lost = 0
    for kind in kinds:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soak")))
            url = f"sqlite:///{folder / 'smpp.db'}"
            if kind == "postgresql":
                url = stack.enter_context(postgres_database(stack.enter_context(postgres_server())))
            smsc = stack.enter_context(running_smsc())
            smsc.respond = lambda _submit: Reply(seconds=ANSWER_SECONDS)
            service = stack.enter_context(running_service(url, folder))
            started = time.monotonic()
            figures = play(service, smsc, options.messages, options.kills)
        print(f"{kind}: {time.monotonic() - started:.0f} s, {asdict(figures)}", flush=True)
        lost += figures.lost + figures.received_lost
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
