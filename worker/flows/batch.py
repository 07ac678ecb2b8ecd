"""Runs flows for one batch: contacts of one workspace that have something due."""

from collections.abc import Callable, Sequence

from persistence.contacts.leases import ContactLeases, acquire_leases, await_contacts
from persistence.database import Transaction
from persistence.sessions.parking import park_leased
from worker.flows.runner import BatchContext, FlowRunner, OnRecorded
from worker.flows.sprints import Task, find_receiver

BATCH = 50
"""So many that a statement serves many, and so few that others do not wait long for their turn."""

Find = Callable[[Transaction, int, int], Sequence[int]]
Plan = Callable[[Transaction, BatchContext, Sequence[int]], tuple[Sequence[Task], OnRecorded | None]]


def run_batch(runner: FlowRunner, workspace_id: int, kind: str, find: Find, plan: Plan) -> bool:
    """Leases contacts of a workspace, plans the work on them, performs and records it; returns whether there was any.
    `find` returns contacts that nobody has leased, most urgent first, at most so many. `plan` gets the ids of the
    leased contacts. It returns the tasks for them, and what else to do in the transaction that records them. Contacts
    whose sprint may call other systems are parked, by the `kind` of work. If somebody else is just changing all of
    them, they are due again when that has ended.
    """

    def take(tx: Transaction) -> tuple[Sequence[int], ContactLeases]:
        found = find(tx, workspace_id, BATCH)
        return found, acquire_leases(tx, found)

    found, leases = runner.database.write(take)
    if not leases.contact_ids:
        return bool(found) and await_contacts(runner.database, workspace_id, found)
    ids = sorted(leases.contact_ids)
    with runner.database.reading() as tx:
        context = runner.open_context(tx, workspace_id, ids)
        tasks, on_recorded = plan(tx, context, ids)
    receivers = {each.contact_id: name for each in tasks if (name := find_receiver(context.assets, each)) is not None}
    if receivers:
        runner.database.write(lambda tx: park_leased(tx, workspace_id, kind, leases, receivers))
    rest = ContactLeases(leases.contact_ids.difference(receivers), leases.until)
    if rest.contact_ids:
        runner.perform(context, rest, [each for each in tasks if each.contact_id not in receivers], on_recorded)
    return True
