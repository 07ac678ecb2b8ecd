"""The section about faults in docs/quality.md."""

from typing import Any

from bench.faults.kinds import FAULTS
from bench.faults.neighbors import DEAD, HEALTHY, LARGEST_RATIO
from bench.faults.record import Record, add_up

WHOLE = 100_000
TEXT = """
<!-- not run: tests/quality/test_faults.py does it in small -->

    make faults

makes 100,000 events for webhooks by the API and hits the service meanwhile, in rounds with a service and a seed of
their own, kept in `bench/faults/record.json`. It fails unless every event is there once, all for receivers that
accept are delivered and arrived, all others failed, none is pending, and the API answered nothing but 201 and 503. A
round that failed stays there until its cause is mended.

So far, {size}: {number} rounds with the seeds {seeds}, {seconds:,} seconds on two processors that did other work too.
Rounds that failed: **{failed}**. Receivers have a time limit of 5 s: with 1 s, answers came too late on a busy
machine.

| Events | Delivered | Failed | Pending | Lost | Arrived more often than needed |
|---|---|---|---|---|---|
| {numbers} |

The events: {kinds}. Receivers that reset, hang or drip never accept. An event arrives again if a worker dies between
the response and its record.

| Fault | Hit work under way | Hit nothing, not counted |
|---|---|---|
{rows}

Clients repeated {unanswered:,} requests without a response and {refused:,} with a 503, each under the same key.
Processes that gave up because the database was away when they began: {restarted}; the run started them again. The
disk that gets full is a file system in memory, which only root may mount; the clock, by libfaketime, jumps in every
fourth round.
{neighbors}"""

NEIGHBORS = """
What healthy receivers wait, from the record of an event to its arrival, beside dead ones and without: {per_second}
events per second for {healthy} healthy receivers and {dead} others, {pairs} pairs of slices of {seconds:g} seconds in
turns. The run fails if the p99 is more than {largest} times the other, in the median of the pairs.

| Dead receivers | Events | p50 (ms) | p95 (ms) | p99 (ms) |
|---|---|---|---|---|
{rows}

The p99 is **{ratio}** times that without dead ones (the pairs: {ratios}).
"""


def describe(record: Record) -> str:
    found = add_up(record.rounds)
    hits, misses, ledger = found["faults_that_hit"], found["faults_that_hit_nothing"], found["ledger"]
    numbers = [found["events"], *(ledger[name] for name in ("delivered", "failed", "pending"))]
    numbers += [found["lost"], found["arrived_more_than_needed"]]
    return TEXT.format(
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
