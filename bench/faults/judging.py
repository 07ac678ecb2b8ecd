"""Compares what clients, receivers and the service know after a run."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from bench.faults.receivers import ACCEPTING, FaultyReceiver
from bench.faults.run import Run, read_ledger
from persistence.deliveries.outbox import Ledger
from persistence.tables.deliveries import FAILED, delivery

ALLOWED_ANSWERS = {0, 201, 503}
"""What clients may get: the event, that they shall try again, and nothing when the API was killed."""


def judge(run: Run, receivers: dict[str, FaultyReceiver], count: int) -> dict[str, Any]:
    wrongly = why_failed(run, [uuid for behavior in ACCEPTING for uuid in run.made.get(behavior, ())])
    return judge_counts(
        run.made, {name: each.ids for name, each in receivers.items()}, read_ledger(run), run.answers, count
    ) | {
        "faults_that_hit": dict(run.hits),
        "faults_that_hit_nothing": dict(run.misses),
        "restarted": dict(run.restarted),
        "failed_wrongly": wrongly,
    }


def why_failed(run: Run, uuids: Sequence[str]) -> dict[str, int]:
    """The last errors of those of these events that failed, with how many have each."""
    failed = select(delivery.c.uuid, delivery.c.last_error).where(
        delivery.c.workspace_id == run.service.workspace.id, delivery.c.status == FAILED
    )
    expected = set(uuids)
    with run.service.database.reading() as tx:
        return dict(Counter(str(error) for uuid, error in tx.execute(failed) if uuid in expected))


def judge_counts(
    made: dict[str, list[str]], called: dict[str, Counter[str]], ledger: Ledger, answers: Counter[int], count: int
) -> dict[str, Any]:
    """`made` are the events that clients know by behavior, `called` the calls of each receiver by event. `problems`
    are the claims that do not hold.
    """
    accepted = sum(len(made.get(behavior, ())) for behavior in ACCEPTING)
    lost = repeated = 0
    for behavior in ACCEPTING:
        ids, needed = called[behavior], 2 if behavior == "flaky" else 1
        lost += sum(1 for uuid in made.get(behavior, ()) if uuid not in ids)
        repeated += sum(1 for uuid in made.get(behavior, ()) if ids[uuid] > needed)
    different = len({uuid for uuids in made.values() for uuid in uuids})
    claims = {
        f"clients made {different} of {count} events": different == count,
        f"the ledger has {ledger.total} of {count} events": ledger.total == count,
        f"{ledger.delivered} were delivered, {accepted} should be": ledger.delivered == accepted,
        f"{ledger.failed} failed, {count - accepted} should have": ledger.failed == count - accepted,
        f"{ledger.pending} are pending": ledger.pending == 0,
        f"{lost} delivered events did not arrive": lost == 0,
        f"answers of the API: {dict(answers)}": {status for status, seen in answers.items() if seen} <= ALLOWED_ANSWERS,
    }
    return {
        "events": count,
        "made_for": {behavior: len(uuids) for behavior, uuids in made.items()},
        "ledger": {"delivered": ledger.delivered, "failed": ledger.failed, "pending": ledger.pending},
        "lost": lost,
        "arrived_more_than_needed": repeated,
        "answers": {str(status): number for status, number in sorted(answers.items())},
        "problems": [claim for claim, is_true in claims.items() if not is_true],
    }
