"""The section about fuzzing in docs/quality.md."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.fuzz.rounds import ALL_PHASES

TEXT = """
<!-- not run: tests/quality/test_fuzz.py does it in small -->

    make fuzz

asks the API with [Schemathesis](https://schemathesis.io), all checks and all phases, until {wanted:,} requests were
made. It goes in rounds: each has a server with API and worker on a fresh database, one contract, one role, and a seed
of its own. Ended early, it goes on where it was; rounds that found something are run again first. It fails if an answer
is a 5xx or one that the contract does not describe, if a connection breaks, or if a process logs an error. The only
exception: a 400 for what no schema can express, whose reasons `tests/contract/beyond_schemas.py` lists.

So far, {short}: {total:,} requests in {number} rounds with the seeds {first} to {last}, {seconds:,} seconds on two
processors that did other work too ({rate:.0f} requests per second). Findings that are open: **{found}**.

| Contract | Database | Rounds | Requests | Examples | Coverage | Fuzzing | Stateful | Explained 400s | Findings |
|---|---|---|---|---|---|---|---|---|---|
{rows}

The answers by status: {statuses}. Examples and coverage repeat themselves and take part in the first round of a
contract and database.
{open}"""


def describe(rounds: Sequence[dict[str, Any]], wanted: int) -> str:
    pairs = sorted({(one["contract"], one["database"]) for one in rounds})
    total = sum(sum(one["requests"].values()) for one in rounds)
    seconds = sum(one["seconds"] for one in rounds)
    statuses: Counter[str] = Counter()
    for one in rounds:
        statuses.update(one["statuses"])
    open_ones = [f"* Round {one['number']}: {text.splitlines()[0]}" for one in rounds for text in one["found"]]
    return TEXT.format(
        wanted=wanted,
        short="the whole run" if total >= wanted else "a part of it",
        total=total,
        number=len(rounds),
        first=rounds[0]["seed"],
        last=rounds[-1]["seed"],
        seconds=seconds,
        rate=total / max(seconds, 1),
        found=len(open_ones),
        rows="\n".join(_row([one for one in rounds if (one["contract"], one["database"]) == pair]) for pair in pairs),
        statuses=", ".join(f"{status}: {number:,}" for status, number in sorted(statuses.items())),
        open="\n" + "\n".join(open_ones) + "\n" if open_ones else "",
    )


def _row(rounds: Sequence[dict[str, Any]]) -> str:
    requests: Counter[str] = Counter()
    for one in rounds:
        requests.update(one["requests"])
    phases = [requests[phase] for phase in ALL_PHASES.split(",")]
    numbers = [len(rounds), requests.total(), *phases]
    numbers += [sum(one["explained"] for one in rounds), sum(len(one["found"]) for one in rounds)]
    cells = [rounds[0]["contract"], rounds[0]["database"], *(f"{number:,}" for number in numbers)]
    return f"| {' | '.join(cells)} |"
