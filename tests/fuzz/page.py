"""The section about fuzzing in docs/quality.md."""

from collections.abc import Sequence
from typing import Any

from tests.fuzz.record import GENERATORS, MUTATIONS, SCHEMATHESIS, Record
from tests.fuzz.rounds import ALL_PHASES

TEXT = """
<!-- not run: tests/quality/test_fuzz.py does it in small -->

    make fuzz

asks the API by two generators until {wanted:,} requests were made, in rounds with a server, a fresh database, one
contract and a seed of their own, kept in `tests/fuzz/record.json`. It fails if an answer is a 5xx or one that the
contract does not describe, if a connection breaks, or if a process logs an error.

So far, {short}: **{total:,} requests** in {number:,} rounds. Findings that are open: **{found}**.

### Schemathesis

[Schemathesis](https://schemathesis.io) makes requests from the contract, all checks and all phases. The only
exception are 400s for what no schema can express (`tests/contract/beyond_schemas.py`).

{schemathesis_requests:,} requests, {schemathesis_seconds:,} seconds on two processors that did other work too
({schemathesis_rate:.0f} requests per second).

| Contract | Database | Seeds | Requests | Examples | Coverage | Fuzzing | Stateful | Explained 400s |
|---|---|---|---|---|---|---|---|---|
{schemathesis_rows}

The answers by status: {schemathesis_statuses}.

### Spoiled requests

The second opinion begins with valid requests and spoils four of five in one to three ways
(`tests/fuzz/mutations.py`): a value, the bytes of the body, the query, headers, tokens, the method or the path; by
all roles, a browser, phones and gateways. Status, type and body of each answer are compared with the contract. It is
our own because no package index has one that does this.

{mutations_requests:,} requests, {mutations_seconds:,} seconds on two processors that did other work too
({mutations_rate:.0f} requests per second, starts included).

| Contract | Database | Seeds | Requests | Spoiled | Whole |
|---|---|---|---|---|---|
{mutations_rows}

The answers by status (`left`: clients that were gone before): {mutations_statuses}.
{open}"""
COLUMNS = {SCHEMATHESIS: ALL_PHASES.split(","), MUTATIONS: ["spoiled", "whole"]}


def describe(record: Record, wanted: int) -> str:
    open_ones = [
        f"* {one['generator']} {one['number']}: {text.splitlines()[0]}" for one in record.open for text in one["found"]
    ]
    shown: dict[str, Any] = {}
    for name in GENERATORS:
        part, total = record.parts[name], record.requests(name)
        statuses = ", ".join(f"{status}: {number:,}" for status, number in sorted(part["statuses"].items()))
        rows = sorted(part["rows"], key=lambda row: (row["contract"], row["database"]))
        shown |= {
            f"{name.lower()}_requests": total,
            f"{name.lower()}_seconds": part["seconds"],
            f"{name.lower()}_rate": total / max(1, part["seconds"]),
            f"{name.lower()}_rows": "\n".join(_row(name, row) for row in rows),
            f"{name.lower()}_statuses": statuses,
        }
    total = record.requests()
    return TEXT.format(
        wanted=wanted,
        short="the whole run" if total >= wanted else f"{total / wanted:.0%} of it",
        total=total,
        number=sum(map(record.rounds, GENERATORS)),
        found=len(open_ones),
        open="\nOpen:\n\n" + "\n".join(open_ones) + "\n" if open_ones else "",
        **shown,
    )


def _row(generator: str, row: dict[str, Any]) -> str:
    requests = row["requests"]
    numbers = [sum(requests.values()), *(requests.get(kind, 0) for kind in COLUMNS[generator])]
    numbers += [row["explained"]] if generator == SCHEMATHESIS else []
    cells = [row["contract"], row["database"], _ranges(row["seeds"]), *(f"{number:,}" for number in numbers)]
    return f"| {' | '.join(cells)} |"


def _ranges(numbers: Sequence[int]) -> str:
    """`1 to 3, 7` for 1, 2, 3 and 7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]} to {part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
