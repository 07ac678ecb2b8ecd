"""The section about faults in docs/quality.md."""

from typing import Any

from bench.faults.kinds import FAULTS
from bench.faults.neighbors import DEAD, HEALTHY, LARGEST_RATIO
from bench.faults.receivers import MOST_FOR_SLOW
from bench.faults.record import Record, add_up

WHOLE = 100_000
TEXT = """
<!-- not run: tests/quality/test_faults.py does it in small -->

    make faults

makes 100,000 events for webhooks by the API and hits the service meanwhile. The run fails unless the ledger balances:
every event is there once, all for receivers that accept are delivered and arrived, all others failed, none is pending,
and the API answered nothing but 201 and 503. It goes in rounds, each with a service of its own and the next seed;
`bench/faults/record.json` keeps them, so that a run that is ended early goes on where it was. A round that failed stays
there until its cause is mended.

So far, {size}: {number} rounds with the seeds {seeds}, {seconds:,} seconds on two processors that did other work too.
Rounds that failed: **{failed}**. A run of 4,000 events before these rounds failed too: with a time limit of 1 s for
receivers, 12 events for receivers that accept were given up. It was not repeated, and its cause is not proven. Without
any fault, on a machine as busy, receivers that accept got 2 of 200 events again with a limit of 1 s, and 9 of 200 with
0.3 s, as happens when answers come too late. The limit is 5 s since then. The round with seed 20 failed at first: one
event for a receiver that drips was delivered. Its whole answer took 5.9 s then, so that a worker that was 0.9 s late
took it; that this was so is likely and not proven. Its answer takes half a minute since then.

| Events | Delivered | Failed | Pending | Lost | Arrived more often than needed |
|---|---|---|---|---|---|
| {numbers} |

The events: {kinds}. Receivers that reset, hang or drip never accept, so that their events fail. Delivery is at least
once: an event arrives again if a worker dies between the response and its record.

| Fault | Hit work under way | Hit nothing, not counted |
|---|---|---|
{rows}

Clients repeated {unanswered:,} requests without a response and {refused:,} with a 503, each under the same key.
Processes that gave up because the database was away when they began: {restarted}; the run started them again, as a
supervisor does. The disk that gets full is a file system in memory, which only root may mount. The clock is that of
API and worker, by libfaketime; it jumps in every fourth round, because threads wait seven times as long for each other
beneath it. Receivers that hang or drip get at most {slow} events of a round each.
{neighbors}"""

NEIGHBORS = """
What healthy receivers wait, from the record of an event to its arrival, while a fifth of all receivers hang or reset,
and while none does: {per_second} events per second for {healthy} healthy receivers and {dead} others, in {pairs} pairs
of slices of {seconds:g} seconds that take turns. The run fails if the p99 beside dead ones is more than {largest} times
the other, in the median of the pairs.

| Dead receivers | Events | p50 (ms) | p95 (ms) | p99 (ms) |
|---|---|---|---|---|
{rows}

The p99 is **{ratio}** times that without dead ones (the pairs: {ratios}). Where the pairs differ much, other work on
the machine decided, not the dead receivers.
"""


def describe(record: Record) -> str:
    found = add_up(record.rounds)
    hits, misses, ledger = found["faults_that_hit"], found["faults_that_hit_nothing"], found["ledger"]
    numbers = [found["events"], *(ledger[name] for name in ("delivered", "failed", "pending"))]
    numbers += [found["lost"], found["arrived_more_than_needed"]]
    return TEXT.format(
        slow=MOST_FOR_SLOW,
        size="the whole run" if found["events"] >= WHOLE else f"{found['events'] / WHOLE:.1%} of it",
        number=len(record.rounds),
        seeds=", ".join(str(each["seed"]) for each in record.rounds),
        failed=len(record.failed) or "none",
        seconds=found["seconds"],
        numbers=" | ".join(f"{number:,}" for number in numbers),
        kinds=", ".join(f"{number:,} for one that is `{name}`" for name, number in sorted(found["made_for"].items())),
        rows="\n".join(f"| {name} | {hits.get(name, 0)} | {misses.get(name, 0)} |" for name in FAULTS),
        unanswered=found["answers"].get("0", 0),
        refused=found["answers"].get("503", 0),
        restarted=", ".join(f"{number} ({name})" for name, number in found["restarted"].items()) or "none",
        neighbors=_neighbors(record.neighbors) if record.neighbors else "",
    )


def _neighbors(found: dict[str, Any]) -> str:
    names = {"without": "none", "with": f"{DEAD} of {HEALTHY + DEAD}"}
    rows = [
        f"| {names[name]} | {values['events']:,} | {values['p50']:g} | {values['p95']:g} | {values['p99']:g} |"
        for name, values in found["waits"].items()
    ]
    return NEIGHBORS.format(
        per_second=found["per_second"],
        healthy=HEALTHY,
        dead=DEAD,
        pairs=len(found["ratios"]),
        seconds=found["seconds"],
        largest=LARGEST_RATIO,
        rows="\n".join(rows),
        ratio=found["ratio"],
        ratios=", ".join(map(str, found["ratios"])),
    )
