"""The section about many nodes in docs/scaling.md."""

import argparse
from typing import Any

TEXT = """
<!-- not run: tests/quality/test_nodes.py does it in small -->

    python -m bench.nodes --write

`{command}`: {apis} API processes and {workers} workers on one PostgreSQL and one Redis, all on two cores that did other
work too; {kills} were killed by SIGKILL and started again ({by_kind}). {tenants} workspaces sent SMS and received them
through whichever node chance named, one of them ten times as many as each other.

| | |
|---|---|
| SMS accepted (sent and received) | {accepted:,} |
| lost | {lost} |
| doubled, in the database or at the gateway | {doubled} |
| requests repeated by clients (killed node, 503) | {repeated:,} |
| incoming requests that ended without a response; stored once or not at all | {unknown} |
| SMS that the gateway got again under the same key, because a worker died | {again_sent} |
| events that a receiver was told again (at least once) | {again} |

From the acceptance of an SMS until it is at the gateway, or its event at the receiver, kills and restarts included:

| Workspaces | SMS | p50 (ms) | p99 (ms) | longest (ms) |
|---|---|---|---|---|
| the busy one | {busy} |
| the others | {others} |

The largest median of the others is {spread} times the smallest. The metrics of all nodes, added up: {counted}. What a
process counts after the last look before it is killed is not in them.
"""


def describe_run(found: dict[str, Any], options: argparse.Namespace) -> str:
    def row(waits: dict[str, float]) -> str:
        return f"{waits['count']:,} | {waits['p50_ms']:,} | {waits['p99_ms']:,} | {waits['longest_ms']:,}"

    broadcasts, events = found["counted"]["broadcasts_accepted"], found["counted"]["events_delivered"]
    given = f"--minutes {options.minutes:g} --tenants {options.tenants} --per-second {options.per_second:g}"
    return TEXT.format(
        command=f"python -m bench.nodes {given} --seed {options.seed}",
        apis=options.apis,
        workers=options.workers,
        tenants=options.tenants,
        kills=sum(found["kills"].values()),
        by_kind=", ".join(f"{count} of kind {kind}" for kind, count in sorted(found["kills"].items())),
        accepted=found["accepted"],
        lost=found["lost"],
        doubled=found["doubled"],
        repeated=found["repeated"],
        unknown=found["unknown"],
        again_sent=found["gateway_repeats"],
        again=found["events_told_again"],
        busy=row(found["busy"]),
        others=row(found["others"]),
        spread=found["median_of_slowest_to_quickest"],
        counted=(
            f"{broadcasts['metrics']:,} of {broadcasts['clients']:,} accepted broadcasts and {events['metrics']:,} of "
            f"{events['receiver']:,} delivered events"
        ),
    )
