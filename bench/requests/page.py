"""The section about requests in docs/performance.md."""

from collections.abc import Mapping
from typing import Any

from bench.machine import tell_machine

TITLE = "Requests"
RAPIDPRO = {
    "messages, inbox": (70.3, 2.8),
    "messages, sent": (67.8, 2.8),
    "messages of a contact with many": (57.7, 2.8),
    "messages of a contact with few": (9.4, 0.9),
    "messages by label": (124.2, 3.2),
    "contacts": (70.8, 3.0),
    "contacts of a group of a tenth": (81.0, 3.5),
    "contacts of a group of 500": (79.2, 3.5),
    "contacts by URN": (10.7, 1.0),
    "runs": (90.8, 3.6),
    "runs of a flow": (89.4, 3.6),
    "flows (50)": (37.2, 1.2),
    "groups (20)": (7.2, 0.7),
    "labels (10)": (6.2, 0.7),
    "fields (10)": (6.7, 0.7),
    "POST labels": (6.8, 1.1),
    "POST groups": (9.2, 1.1),
    "POST fields": (7.2, 1.1),
    "POST globals": (7.0, 1.1),
    "POST broadcasts": (9.5, 1.6),
    "POST flow_starts": (11.4, 1.9),
    "POST message_actions, archive": (5.5, 0.9),
    "POST message_actions, label 100": (270.0, 8.0),
}
"""Milliseconds that RapidPro 9.0.0 takes with one worker on PostgreSQL 15, and our goal."""
OUR_GOALS = {"POST messages": 1.8, "POST contacts, create": 3.0, "POST contacts, update": 2.5}
"""Goals for what RapidPro does not offer, or was not measured."""
THERE = {
    "messages, inbox": 4.85,
    "messages, sent": 5.22,
    "messages of a contact with many": 5.26,
    "messages of a contact with few": 2.53,
    "messages by label": 6.74,
    "contacts": 7.37,
    "contacts of a group of a tenth": 13.51,
    "contacts of a group of 500": 249.4,
    "contacts by URN": 2.78,
    "runs": 5.52,
    "runs of a flow": 5.8,
    "flows (50)": 1.91,
    "groups (20)": 1.49,
    "labels (10)": 1.42,
    "fields (10)": 1.44,
    "POST labels": 2.14,
    "POST groups": 2.42,
    "POST fields": 2.51,
    "POST globals": 2.35,
    "POST broadcasts": 3.02,
    "POST flow_starts": 3.48,
    "POST message_actions, archive": 2.84,
    "POST message_actions, label 100": 12.0,
    "POST messages": 3.85,
    "POST contacts, create": 9.38,
    "POST contacts, update": 7.66,
}
"""Milliseconds that version 0.2.0 took on the machine on which RapidPro was measured."""
TEXT = """
<!-- not run: tests/quality/test_requests.py does it in small -->

    python -m bench.requests --write

measures the CPU time of a request with one connection, on the data set of `bench.plans`: {requests} kinds of
requests, the median of {rounds} rounds each; pages have 250 records. It writes this section and `docs/requests.json`.
With `--beside FOLDER` an older version serves the same database, in turns.

The figures are of {day}, by `{command}`:
{machine} RapidPro 9.0.0 was measured on another machine of
two processors with a data set of the same shape: its ratio is rough.{compared}

{table}
"""
COMPARED = """ "Before" is version 0.2.0 in the
same run; "there" is what it took on RapidPro's machine, times the ratio: compare that with the goal."""


def describe(results: Mapping[str, Any]) -> str:
    return TEXT.format(
        requests=len(results["requests"]),
        rounds=results["rounds"],
        day=results["measured_on"],
        command=results["command"],
        machine=tell_machine(results),
        compared=COMPARED if _is_compared(results) else "",
        table=_write_table(results),
    )


def _is_compared(results: Mapping[str, Any]) -> bool:
    return any("before" in each for each in results["requests"])


def _write_table(results: Mapping[str, Any]) -> str:
    is_compared = _is_compared(results)
    heads = ["Request", "API process + PostgreSQL (ms)", "Goal (ms)", "RapidPro (ms)", "RapidPro ÷ ours"]
    heads += ["Before (ms)", "Now ÷ before", "There (ms)"] if is_compared else []
    lines = [_write_line(heads), _write_line(["---"] * len(heads))]
    for each in results["requests"]:
        now = _total(each["now"])
        theirs, goal = RAPIDPRO.get(each["request"], (None, OUR_GOALS.get(each["request"])))
        cells = [each["request"], _write_costs(each["now"]), f"{goal:g}" if goal else ""]
        cells += [f"{theirs:g}", f"{theirs / now:.1f}"] if theirs else ["", ""]
        if is_compared:
            before = each.get("before")
            ratio = now / _total(before) if before else None
            there = THERE.get(each["request"])
            cells += [_write_costs(before), f"{ratio:.2f}"] if before else ["", ""]
            cells.append(f"{there * ratio:.2f}" if there and ratio else "")
        lines.append(_write_line(cells))
    return "\n".join(lines)


def _write_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _write_costs(costs: Mapping[str, float]) -> str:
    return f"{costs['api_ms']:.2f} + {costs['postgresql_ms']:.2f}"


def _total(costs: Mapping[str, float]) -> float:
    return costs["api_ms"] + costs["postgresql_ms"]
