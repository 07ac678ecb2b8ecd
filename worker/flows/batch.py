"""Flow work on one batch: contacts of one workspace for whom something is due."""

from collections.abc import Callable, Sequence

from persistence.contacts.leases import ContactLeases, DueContact, acquire_leases
from persistence.database import Transaction
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded
from worker.flows.sprints import Task

BATCH = 100

Find = Callable[[Transaction, int], Sequence[DueContact]]
Plan = Callable[[Transaction, BatchContext, Sequence[int]], tuple[Sequence[Task], OnRecorded | None]]


def run_batch(runner: FlowRunner, find: Find, plan: Plan) -> bool:
    """Leases contacts, plans the work on them, performs and records it; whether there was anything to do.

    `find` names contacts that nobody has leased, most urgent first, at most so many. `plan` is given the ids of those
    leased. It says what is to happen to them, and what else in the transaction that records it.
    """

    def take(tx: Transaction) -> tuple[int, ContactLeases]:
        due = find(tx, BATCH)
        workspace_id = due[0].workspace_id if due else 0
        return workspace_id, acquire_leases(tx, {each.contact_id for each in due if each.workspace_id == workspace_id})

    workspace_id, leases = runner.database.write(take)
    if not leases.contact_ids:
        return False
    ids = sorted(leases.contact_ids)
    with runner.database.reading() as tx:
        context = runner.open_context(tx, workspace_id, ids)
        tasks, on_recorded = plan(tx, context, ids)
    runner.perform(context, leases, tasks, on_recorded)
    return True
