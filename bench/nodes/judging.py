"""Compares what clients, gateways, receivers, the database and the metrics know after a run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from bench.fairness.tenants import describe
from bench.nodes.processes import Totals
from bench.nodes.tenants import Arrivals, Tenant
from persistence.database import Database
from persistence.tables.messages import gateway_send, message
from testbed.traffic import IN, OUT

BUSY = 1
"""The workspace that does more than the others."""


def stored_texts(database: Database, workspace_id: int) -> Counter[str]:
    with database.reading() as tx:
        return Counter(tx.execute(select(message.c.text).where(message.c.workspace_id == workspace_id)).scalars())


def describe_stored(database: Database, text: str) -> str:
    """What the database knows of a text that did not arrive."""
    shown = (message.c.id, message.c.status, message.c.failed_reason, message.c.error_count, message.c.created_on)
    rows, waits = gateway_send.c, (gateway_send.c.parts_begun, gateway_send.c.parts_accepted, gateway_send.c.due_on)
    found = select(*shown, *waits).outerjoin(gateway_send, rows.message_id == message.c.id)
    with database.reading() as tx:
        stored = tx.execute(found.where(message.c.text == text)).mappings().all()
    return "; ".join(str(dict(row)) for row in stored) or "not stored"


def judge(database: Database, tenants: Sequence[Tenant], outside: Arrivals, totals: Totals) -> dict[str, Any]:
    """`problems` are the claims that do not hold."""
    lost, doubled = [], []
    for each in tenants:
        stored = stored_texts(database, each.workspace.id)
        told = {text for text in each.unknown if stored[text]}
        lost += [text for text in each.accepted if not stored[text]]
        lost += [text for text in (*each.accepted, *told) if not reached(outside, text)]
        doubled += [text for text, count in stored.items() if count > 1]
        doubled += [text for text in each.accepted if text.startswith(OUT) and outside.sent[text] > 1]
    waits = {each.number: wait_times(each, outside) for each in tenants}
    others = [each for number, found in waits.items() if number != BUSY for each in found]
    ordered = sorted(describe(found)["p50_ms"] for number, found in waits.items() if number != BUSY and found)
    accepted = sum(len(each.accepted) for each in tenants)
    strange = [each for tenant in tenants for each in tenant.strange]
    broadcasts = totals.total("relayboard_requests_total", "broadcasts", "'201'")
    sent = sum(1 for tenant in tenants for text in tenant.accepted if text.startswith(OUT))
    return {
        "accepted": accepted,
        "unknown": sum(len(each.unknown) for each in tenants),
        "repeated": sum(each.repeated for each in tenants),
        "lost": len(lost),
        "doubled": len(doubled),
        "gateway_repeats": outside.repeats,
        "events_told_again": sum(count - 1 for count in outside.told.values()),
        "busy": describe(waits[BUSY]) if waits[BUSY] else {},
        "others": describe(others) if others else {},
        "median_of_slowest_to_quickest": round(ordered[-1] / max(ordered[0], 0.1), 2) if ordered else None,
        "counted": {
            "broadcasts_accepted": {"clients": sent, "metrics": broadcasts},
            "events_delivered": {
                "receiver": sum(outside.told.values()),
                "metrics": totals.total("relayboard_delivery_attempts_total", "delivered"),
            },
        },
        "problems": [
            *(f"lost: {text}, {describe_stored(database, text)}" for text in lost[:5]),
            *(f"doubled: {text}" for text in doubled[:5]),
            *(f"strange answer: {text}" for text in strange[:5]),
        ],
    }


def reached(outside: Arrivals, text: str) -> bool:
    """Whether an SMS reached the gateway, or the event of an incoming one the receiver."""
    return bool(outside.told[text] if text.startswith(IN) else outside.sent[text])


def wait_times(tenant: Tenant, outside: Arrivals) -> list[float]:
    """Seconds from the acceptance of each SMS to its arrival outside."""
    moments = outside.moments
    return [max(0.0, moments[text] - accepted) for text, accepted in tenant.accepted.items() if text in moments]
