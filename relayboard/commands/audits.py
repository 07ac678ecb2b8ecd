"""`relayboard audit list`."""

from typing import Any

from persistence.audit import AUDIT_EVENTS
from persistence.lists import ListQuery, fetch_list
from relayboard.commands.output import print_records, reading_in
from relayboard.usage.parts import Options

FILTERS = {"resource": "resource", "action": "done", "user": "user", "after": "after", "before": "before"}
"""The parameter of the list for each option."""


def run_list(options: Options) -> None:
    values: dict[str, Any] = {
        name: getattr(options, given) for name, given in FILTERS.items() if getattr(options, given)
    }
    with reading_in(options) as (tx, workspace):
        page = fetch_list(ListQuery(tx, workspace, values), AUDIT_EVENTS, None, options.limit)
    print_records(page.records)
