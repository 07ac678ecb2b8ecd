"""A round of flow work: one batch of the contacts of one workspace for whom something is due."""

from collections.abc import Callable, Sequence

from persistence.contacts.leases import DueContact, Turns, take_turns
from persistence.database import Transaction
from worker.flows.runner import Also, Scene, Workshop
from worker.flows.sprints import Task

BATCH = 100

Find = Callable[[Transaction, int], Sequence[DueContact]]
Plan = Callable[[Transaction, Scene, Sequence[int]], tuple[Sequence[Task], Also | None]]


def run_round(workshop: Workshop, find: Find, plan: Plan) -> bool:
    """Takes turns, plans the work under them, performs and records it; whether there was anything to do.

    `find` names contacts whose turn nobody has, most urgent first, at most so many. `plan` is given the contact ids
    whose turn it is now, and says what is to happen to them, and what else in the transaction that records it.
    """

    def take(tx: Transaction) -> tuple[int, Turns]:
        due = find(tx, BATCH)
        workspace_id = due[0].workspace_id if due else 0
        return workspace_id, take_turns(tx, {each.contact_id for each in due if each.workspace_id == workspace_id})

    workspace_id, turns = workshop.database.write(take)
    if not turns.contact_ids:
        return False
    ids = sorted(turns.contact_ids)
    with workshop.database.reading() as tx:
        scene = workshop.open_scene(tx, workspace_id, ids)
        tasks, also = plan(tx, scene, ids)
    workshop.perform(scene, turns, tasks, also)
    return True
