"""The section about partitions by time in docs/scaling.md."""

from collections.abc import Mapping
from typing import Any

from bench.machine import tell_machine
from bench.months.tables import MONTHS, ONE_TABLE

TITLE = "Messages in one table"
TEXT = """
Messages are not kept in partitions by time. What that would bring and cost, with {rows:,} messages of a year:

<!-- not run: tests/quality/test_months.py does it in small -->

    python -m bench.months --write

Milliseconds until PostgreSQL had answered, the median of {rounds}, of {day}, by `{command}`:
{machine}

| Work | One table | Twelve months | Months ÷ one table |
|---|---|---|---|
{lines}

* Each statement is planned for all months, and what is asked for without a time (the messages of a contact, a message
  by its id or UUID, a status that is reported) has to be looked for in each. These are most of what phones, gateways
  and clients ask for. A page of one table is as quick at any size: an index in its order is read from its end.
* A unique key needs the time in it, so PostgreSQL would no longer refuse a second message with the same id, UUID or
  key of its sender at another time, and rows of other tables could not refer to a message without its time.
* What comes last goes into small indexes, which is cheaper while those of one table do not stay in memory, and
  removing a month is quick. But messages go to archives day by day after 90 days ([data](data.md)), a portion at a
  time that nobody waits for, so the table holds a quarter of a year, and new messages take the places that become free.

Where one machine no longer holds a quarter of a year, tables are spread by workspace
([operating](operating.md#more-than-one-database-machine)), which each statement names.
"""


def describe(results: Mapping[str, Any]) -> str:
    lines = []
    for each in results["months"]:
        one, months = each["milliseconds"][ONE_TABLE], each["milliseconds"][MONTHS]
        lines.append(f"| {each['work']} | {one:,.2f} | {months:,.2f} | {months / one:.2f} |")
    return TEXT.format(
        rows=results["rows"],
        rounds=results["rounds"],
        day=results["measured_on"],
        command=results["command"],
        machine=tell_machine(results),
        lines="\n".join(lines),
    )
