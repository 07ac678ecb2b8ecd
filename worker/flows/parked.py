"""Sprints that may call other systems have slots of their own: a service that does not respond delays only its own
contacts."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.flow_starts.batches import find_batch
from persistence.sessions.parking import (
    STARTS,
    ContactLeases,
    ParkedSprint,
    list_parked_receivers,
    recall_batches,
    take_parked,
)
from worker.dispatcher import AfterCommit, Finished, Leased, LeasedQueue, ReceiverSlots, begin_dispatching, do_nothing
from worker.flows.incoming import CALLS, INCOMING, plan_calls, plan_messages
from worker.flows.runner import LAST_ATTEMPTS, BatchContext, FlowRunner, LeaseKeeper, OnRecorded, Plan
from worker.flows.sprints import Task
from worker.flows.starts import TIMERS, plan_batch, plan_waits
from worker.runtime import Runtime

SLOTS = 64
SLOTS_PER_FLOW = 8
SLOTS_PER_WORKSPACE = 16

PLANS: Mapping[str, Plan] = {INCOMING: plan_messages, CALLS: plan_calls, TIMERS: plan_waits}


@dataclass(slots=True)
class Group:
    """Contacts of one kind and workspace that were leased together; the first thread plans the work on all of them."""

    workspace_id: int
    kind: str
    batch_id: int | None
    until: ContactLeases
    contact_ids: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    planned: tuple[BatchContext, Mapping[int, Task], OnRecorded | None] | None = None


Item = tuple[Group, int]


def begin_parked(runtime: Runtime) -> Callable[[], bool]:
    slots = ReceiverSlots(SLOTS, first=SLOTS_PER_FLOW, most_per_owner=SLOTS_PER_WORKSPACE)
    return begin_dispatching(runtime, ParkedSprints(runtime), slots)


class ParkedSprints(LeasedQueue[Item, None]):
    """Contacts whose sprint waits for a slot; each flow of a workspace counts as a receiver."""

    name = "parked sprints"

    def __init__(self, runtime: Runtime) -> None:
        self._runner = FlowRunner(runtime)
        self._limit_seconds = runtime.http.total_timeout_seconds
        self._keeper = LeaseKeeper(runtime)

    def list_due(self, tx: Transaction) -> list[str]:
        return [f"{workspace_id} {receiver}" for workspace_id, receiver in list_parked_receivers(tx)]

    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Item]:
        wanted = {_read_receiver(name): room for name, room in rooms.items()}
        sprints, leases = take_parked(tx, wanted, may_try_last=LAST_ATTEMPTS.may_begin(tx.now))
        if leases.is_last and not LAST_ATTEMPTS.begin(leases):
            raise LostRace
        groups: dict[tuple[int, str, int | None], Group] = {}
        items: list[tuple[str, Item]] = []
        for each in sprints:
            key = (each.workspace_id, each.kind, each.batch_id)
            group = groups.setdefault(key, Group(*key, until=leases))
            group.contact_ids.append(each.contact_id)
            items.append((_name_receiver(each), (group, each.contact_id)))
        return Leased(items)

    def call(self, item: Item) -> tuple[None, bool]:
        try:
            return self._call(item)
        finally:
            if item[0].until.is_last:
                LAST_ATTEMPTS.end()

    def _call(self, item: Item) -> tuple[None, bool]:
        began = time.monotonic()
        group, contact_id = item
        context, tasks, on_recorded = self._plan(group)
        leases = ContactLeases(frozenset({contact_id}), group.until.until)
        task = tasks.get(contact_id, Task(contact_id))
        task = task._replace(is_given_up=contact_id in group.until.given_up)
        with self._keeper.keep(leases) as renewal:
            self._runner.perform(context, leases, [task], on_recorded, renewal)
        return None, time.monotonic() - began < self._limit_seconds

    def record(self, tx: Transaction, finished: Sequence[Finished[Item, None]]) -> AfterCommit:
        """The sprints are recorded already; the job that created batches of starts finishes them."""
        batches: dict[int, set[int]] = {}
        for each in finished:
            group, _ = each.item
            if group.batch_id is not None:
                batches.setdefault(group.workspace_id, set()).add(group.batch_id)
        for workspace_id, batch_ids in batches.items():
            recall_batches(tx, workspace_id, sorted(batch_ids))
        return do_nothing

    def _plan(self, group: Group) -> tuple[BatchContext, Mapping[int, Task], OnRecorded | None]:
        with group.lock:
            if group.planned is None:
                group.planned = self._plan_anew(group)
            return group.planned

    def _plan_anew(self, group: Group) -> tuple[BatchContext, Mapping[int, Task], OnRecorded | None]:
        on_recorded: OnRecorded | None = None
        tasks: Sequence[Task] = ()
        with self._runner.database.reading() as tx:
            context = self._runner.open_context(tx, group.workspace_id, sorted(group.contact_ids))
            if group.kind != STARTS:
                tasks, on_recorded = PLANS[group.kind](tx, context, sorted(group.contact_ids))
            elif group.batch_id is not None and (batch := find_batch(tx, group.workspace_id, group.batch_id)):
                _, tasks = plan_batch(tx, context, batch, group.contact_ids)
        return context, {each.contact_id: each for each in tasks}, on_recorded


def _name_receiver(sprint: ParkedSprint) -> str:
    return f"{sprint.workspace_id} {sprint.receiver}"


def _read_receiver(name: str) -> tuple[int, str]:
    workspace_id, receiver = name.split()
    return int(workspace_id), receiver
