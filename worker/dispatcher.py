"""Calls receivers from a leased queue, webhooks for events and gateways for messages, with slots for the calls of each
receiver. One thread per queue and process, the dispatcher, does all work in the database: in one short transaction
it records the results of finished calls and leases as many entries as there are free slots. Callers only call
receivers, outside of its thread. So no transaction is open while a receiver is called, each result is recorded at once,
and each receiver uses few slots: a slow or dead receiver does not delay the others.

What threads report is worked off in batches. The dispatcher is woken when there is something and when there is enough,
and not for each: to wake a thread takes longer than to put something here.
"""

import heapq
import logging
import threading
from abc import ABC, abstractmethod
from asyncio import wrap_future
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar

from persistence.database import Transaction
from persistence.errors import DatabaseError, is_away
from relayboard.base.tracing import Causes, caused_by, causes, join_causes
from worker.fairness import HandOver
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.dispatcher")

Item = TypeVar("Item")
Result = TypeVar("Result")
Ask = Callable[[Item], Awaitable[Item | None]]
"""Asks whether a call may still be made, and takes down that it is; None if not."""

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Finished(Generic[Item, Result]):
    """A call that has ended; without a result, the service itself failed."""

    item: Item
    receiver: str
    result: Result | None
    has_answered: bool


class Callers(ABC, Generic[Item, Result]):
    """Each call always reports its end, or its slot would stay busy forever."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        """Begins calls of receivers, and returns at once."""

    def end(self) -> None:
        """No further calls come, and none is running."""
        return


class ThreadCallers(Callers[Item, Result]):
    """A thread for each call at a time."""

    def __init__(self, name: str, total: int, call: Callable[[Item], tuple[Result, bool]]) -> None:
        super().__init__(name)
        self._pool = ThreadPoolExecutor(total, thread_name_prefix=name)
        self._work = call

    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        for receiver, item in calls:
            self._pool.submit(self._call, receiver, item, asked_by, report)

    def end(self) -> None:
        self._pool.shutdown()

    def _call(
        self, receiver: str, item: Item, asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        finished: Finished[Item, Result] = Finished(item, receiver, None, has_answered=False)
        try:
            with caused_by(asked_by):
                result, has_answered = self._work(item)
            finished = Finished(item, receiver, result, has_answered)
        except Exception:
            logger.exception("%s: a call failed inside the service", self.name)
        finally:
            report(finished)


class LoopCallers(Callers[Item, Result]):
    """All calls in the thread of the HTTP client, for calls that do nothing but wait for responses: threads for each
    would take longer to hand over to each other than to work.
    """

    def __init__(self, name: str, http: SafeHttp, call: Callable[[Item], Awaitable[tuple[Result, bool]]]) -> None:
        super().__init__(name)
        self._http = http
        self._work = call

    def begin(
        self, calls: Sequence[tuple[str, Item]], asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        self._http.begin([self._call(receiver, item, asked_by, report) for receiver, item in calls])

    async def _call(
        self, receiver: str, item: Item, asked_by: Causes, report: Callable[[Finished[Item, Result]], None]
    ) -> None:
        finished: Finished[Item, Result] = Finished(item, receiver, None, has_answered=False)
        try:
            with caused_by(asked_by):
                result, has_answered = await self._work(item)
            finished = Finished(item, receiver, result, has_answered)
        except Exception:
            logger.exception("%s: a call failed inside the service", self.name)
        finally:
            report(finished)


class Mailbox(Generic[Thing]):
    """One thread takes, any may put."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._things: list[Thing] = []
        self._enough = 1

    def __len__(self) -> int:
        return len(self._things)

    def put(self, thing: Thing) -> None:
        with self._changed:
            self._things.append(thing)
            if len(self._things) == self._enough:
                self._changed.notify()

    def wait(self, seconds: float | None) -> None:
        """Waits until there is something, at most so long."""
        self._wait_for(1, seconds)

    def take(self, most: int, *, enough: int, seconds: float) -> list[Thing]:
        """What came first, after waiting until there is enough, at most so long."""
        with self._changed:
            self._wait_for(enough, seconds)
            taken, self._things = self._things[:most], self._things[most:]
        return taken

    def _wait_for(self, enough: int, seconds: float | None) -> None:
        with self._changed:
            self._enough = enough
            self._changed.wait_for(lambda: len(self._things) >= enough, seconds)


LEASE_FACTOR = 2
"""A lease lasts this many times the time limit of a call, to leave time for recording the result."""
PAUSE_AFTER_ERROR_SECONDS = 1.0
GATHER_SECONDS = 0.005

AfterCommit = Callable[[], None]
"""Logs and counts results once their transaction is committed."""

REMEMBERED = 10_000
SILENT_PART = 4
"""Receivers that give no answer occupy at most a quarter of all slots together, and of those an owner may have."""


@dataclass(slots=True)
class Leased(Generic[Item]):
    """The leased entries, each with the receiver whose slot it uses, and when to look again for entries that may not be
    sent yet."""

    items: list[tuple[str, Item]] = field(default_factory=list)
    look_again_on: datetime | None = None


@dataclass(frozen=True, slots=True)
class Woken:
    """Somebody says that entries may be due."""

    causes: Causes = ()


@dataclass(frozen=True, slots=True)
class Asked(Generic[Item]):
    """A caller is about to write a request."""

    item: Item
    answer: Future[Item | None] = field(default_factory=Future)


class CalledQueue(ABC, Generic[Item, Result]):
    """The queue of a dispatcher. Leasing and recording run in the dispatcher's transactions, calls outside of them."""

    name: str
    is_shared = False
    """Whether a sender does only what is much of it, and the process of jobs the rest."""

    ask: Ask[Item]
    """Set by the dispatcher, for callers of queues that take down which calls were begun."""

    @abstractmethod
    def list_due(self, tx: Transaction) -> list[str]:
        """The receivers that have due entries."""

    @abstractmethod
    def lease(self, tx: Transaction, rooms: dict[str, int]) -> Leased[Item]:
        """Leases at most so many entries per receiver."""

    @abstractmethod
    def callers(self, total: int) -> Callers[Item, Result]:
        """Who calls the receivers, at most so many at a time."""

    def take_down(self, tx: Transaction, items: Sequence[Item]) -> Mapping[int, Item]:
        """Takes down which calls begin now, before their requests are written; by the `id` of Python of each item that
        may begin.
        """
        return {id(item): item for item in items}

    def record_alone(self, finished: Finished[Item, Result]) -> AfterCommit | None:
        """Records a result that needs a transaction of its own; None for all others."""
        return None

    @abstractmethod
    def record(self, tx: Transaction, finished: Sequence[Finished[Item, Result]]) -> AfterCommit:
        """Records the results of calls."""

    def next_look(self, finished: Sequence[Finished[Item, Result]]) -> Sequence[datetime]:
        """When the recorded entries are due again."""
        return ()


class LeasedQueue(CalledQueue[Item, Result]):
    """A queue whose calls take a thread each."""

    def callers(self, total: int) -> Callers[Item, Result]:
        return ThreadCallers(self.name, total, self.call)

    @abstractmethod
    def call(self, item: Item) -> tuple[Result, bool]:
        """One call outside of transactions: returns the result, and whether the receiver responded."""


class ReceiverSlots:
    """A receiver begins with `first` slots and gets one more for each response, up to `most`. A receiver that did not
    respond last time has one slot until it responds, and then begins again with `first`. No receiver takes more than
    the others leave free: one alone gets up to half of all slots, two get a third each, so that there are always some
    for the next receiver.

    A receiver `7 name` belongs to the owner `7`. The receivers of an owner have up to `most_per_owner` slots together,
    three quarters of all if nothing else is said, and owners take turns before their receivers do.
    """

    def __init__(self, total: int, *, first: int, most: int | None = None, most_per_owner: int | None = None) -> None:
        self.total = total
        self.most_per_owner = total * 3 // 4 if most_per_owner is None else most_per_owner
        self.first = first
        self.most = first if most is None else most
        self._busy: Counter[str] = Counter()
        self._grown: dict[str, int] = {}
        self._silent: set[str] = set()
        self._served: dict[str, None] = {}

    @property
    def busy(self) -> int:
        return self._busy.total()

    def take(self, receiver: str) -> None:
        """Count the start of a call to this receiver."""
        self._busy[receiver] += 1
        self._served.pop(receiver, None)
        self._served[receiver] = None
        if len(self._served) > REMEMBERED:
            oldest = next(iter(self._served))
            del self._served[oldest]
            self._grown.pop(oldest, None)

    def release(self, receiver: str, *, has_answered: bool) -> None:
        """Count the end of a call to this receiver."""
        self._busy[receiver] -= 1
        if self._busy[receiver] <= 0:
            del self._busy[receiver]
        if not has_answered:
            self._silent.add(receiver)
            self._grown.pop(receiver, None)
        elif receiver in self._silent:
            self._silent.discard(receiver)
        elif self.most > self.first:
            self._grown[receiver] = min(self._grown.get(receiver, self.first) + 1, self.most)

    def share(self, receivers: Iterable[str]) -> dict[str, int]:
        """How many more slots each of these receivers gets. They get one slot each in turn, beginning with the owners,
        and then the receivers, that use the fewest slots and were served longest ago.
        """
        owned, silent = self._count_owned()
        waiting = self._order(receivers, owned)
        rooms: Counter[str] = Counter()
        free = self.total - self.busy
        free_for_silent = self.total // SILENT_PART - silent.total()
        while free > 0 and waiting:
            going_on = []
            for receiver in waiting:
                is_silent, owner = receiver in self._silent, owner_of(receiver)
                if free <= 0 or (is_silent and free_for_silent <= 0) or not self._has_room(receiver, rooms, free):
                    continue
                if owned[owner] >= self.most_per_owner:
                    continue
                if is_silent and silent[owner] >= max(self.most_per_owner // SILENT_PART, 1):
                    continue
                rooms[receiver] += 1
                owned[owner] += 1
                silent[owner] += is_silent
                free -= 1
                free_for_silent -= is_silent
                going_on.append(receiver)
            waiting = going_on
        return dict(rooms)

    def _count_owned(self) -> tuple[Counter[str], Counter[str]]:
        """The busy slots of each owner: all, and those of silent receivers."""
        owned: Counter[str] = Counter()
        silent: Counter[str] = Counter()
        for receiver, busy in self._busy.items():
            owned[owner_of(receiver)] += busy
            silent[owner_of(receiver)] += busy if receiver in self._silent else 0
        return owned, silent

    def _order(self, receivers: Iterable[str], owned: Counter[str]) -> list[str]:
        served = {receiver: position for position, receiver in enumerate(self._served, start=1)}
        turns = Counter(owned)
        ranked = []
        for receiver in sorted(receivers, key=lambda receiver: (self._busy[receiver], served.get(receiver, 0))):
            ranked.append((turns[owner_of(receiver)], self._busy[receiver], served.get(receiver, 0), receiver))
            turns[owner_of(receiver)] += 1
        return [receiver for *_, receiver in sorted(ranked)]

    def _has_room(self, receiver: str, rooms: Counter[str], free: int) -> bool:
        limit = 1 if receiver in self._silent else self._grown.get(receiver, self.first)
        return self._busy[receiver] + rooms[receiver] < min(limit, free)


class Dispatcher(Generic[Item, Result]):
    """Leases due entries, has receivers called, records results, and wakes up in time for their retries."""

    def __init__(self, runtime: Runtime, work: CalledQueue[Item, Result], slots: ReceiverSlots) -> None:
        self._runtime = runtime
        self._work = work
        self._slots = slots
        self._hand_over = HandOver(runtime, work.name)
        work.ask = self._ask
        self._callers = work.callers(slots.total)
        self._thread = threading.Thread(target=self._run, name=f"{work.name} dispatcher", daemon=True)
        self._news: Mailbox[Finished[Item, Result] | Asked[Item] | Woken] = Mailbox()
        self._causes: Causes = ()
        self._unrecorded: list[Finished[Item, Result]] = []
        self._asked: list[Asked[Item]] = []
        self._looks: list[datetime] = []

    def start(self) -> None:
        self._thread.start()
        self.wake()

    def wake(self) -> None:
        """Look for due entries now."""
        self._news.put(Woken(causes()))

    def stop(self) -> None:
        """Start no further calls; returns when the running calls have ended and are recorded."""
        self._runtime.stopping.set()
        self.wake()
        self._thread.join()
        self._callers.end()

    def _run(self) -> None:
        while not self._runtime.stopping.is_set() or self._slots.busy:
            self._collect()
            try:
                self._answer()
                self._record_those_alone()
                self._record_and_lease()
            except Exception:
                # This thread must survive every database error. Results that are not recorded stay in memory; if the
                # process ends before they are recorded, the leases expire and another worker continues.
                logger.exception("%s: outcomes could not be recorded or nothing leased", self._work.name)
                self._runtime.stopping.wait(PAUSE_AFTER_ERROR_SECONDS)
                self._record_singly()
                self.wake()

    def _collect(self) -> None:
        """Waits until a call has ended or an entry is due again, and collects all finished calls."""
        self._news.wait(self._seconds_to_look())
        # While other calls are running, a short wait combines many results in one transaction.
        busy = self._slots.busy
        news = self._news.take(self._slots.total, enough=busy, seconds=GATHER_SECONDS if busy else 0.0)
        for each in news:
            if isinstance(each, Woken):
                self._causes = join_causes(self._causes, each.causes)
            elif isinstance(each, Asked):
                self._asked.append(each)
            else:
                self._slots.release(each.receiver, has_answered=each.has_answered)
                self._unrecorded.append(each)

    async def _ask(self, item: Item) -> Item | None:
        asked = Asked(item)
        self._news.put(asked)
        return await wrap_future(asked.answer)

    def _answer(self) -> None:
        """Lets requests be written, once it is taken down that they are; none begins while this process stops."""
        if not self._asked:
            return
        items = [each.item for each in self._asked]
        begun: Mapping[int, Item] = {}
        if not self._runtime.stopping.is_set():
            begun = self._runtime.database.write(lambda tx: self._work.take_down(tx, items))
        asked, self._asked = self._asked, []
        for each in asked:
            each.answer.set_result(begun.get(id(each.item)))

    def _seconds_to_look(self) -> float | None:
        now = self._runtime.database.clock()
        while self._looks and self._looks[0] <= now:
            heapq.heappop(self._looks)
            self.wake()
        return (self._looks[0] - now).total_seconds() if self._looks else None

    def _record_those_alone(self) -> None:
        for finished in list(self._unrecorded):
            try:
                after_commit = self._work.record_alone(finished)
            except Exception:
                # The receiver accepted, so it is recorded with the others in spite of the error.
                logger.exception("%s: one outcome could not be recorded alone", self._work.name)
            else:
                if after_commit is not None:
                    self._mark_recorded([finished], after_commit)

    def _record_and_lease(self) -> None:
        """Records all other calls and starts due calls."""
        if not self._unrecorded and not self._is_anything_due():
            self._causes = ()
            self._hand_over.finish()
            return
        done, asked_by = list(self._unrecorded), self._causes
        after_commit, leased = self._runtime.database.write(partial(self._exchange, done))
        self._hand_over.finish()
        self._mark_recorded(done, after_commit)
        if leased.items:
            self._causes = ()
        if leased.look_again_on is not None:
            heapq.heappush(self._looks, leased.look_again_on)
        for receiver, _ in leased.items:
            self._slots.take(receiver)
        self._callers.begin(leased.items, asked_by, self._news.put)

    def _exchange(self, done: Sequence[Finished[Item, Result]], tx: Transaction) -> tuple[AfterCommit, Leased[Item]]:
        after_commit = self._work.record(tx, done)
        if self._runtime.stopping.is_set():
            return after_commit, Leased()
        rooms = self._slots.share(self._list_due(tx))
        return after_commit, self._work.lease(tx, rooms) if rooms else Leased()

    def _mark_recorded(self, done: Sequence[Finished[Item, Result]], after_commit: AfterCommit) -> None:
        after_commit()
        for moment in self._work.next_look(done):
            heapq.heappush(self._looks, moment)
        recorded = {id(each) for each in done}
        self._unrecorded = [each for each in self._unrecorded if id(each) not in recorded]

    def _record_singly(self) -> None:
        """After a failure, records each result alone, so that one that cannot be recorded does not block the others. It
        is dropped; its lease expires, and the queue's rule for workers that died applies.
        """
        for finished in list(self._unrecorded):
            try:
                after_commit = self._record_one(finished)
            except Exception as error:
                if isinstance(error, DatabaseError) and is_away(error):
                    return  # nothing is wrong with the results
                logger.exception("%s: an outcome cannot be recorded", self._work.name)
                after_commit = do_nothing
            self._mark_recorded([finished], after_commit)

    def _record_one(self, finished: Finished[Item, Result]) -> AfterCommit:
        return self._runtime.database.write(lambda tx: self._work.record(tx, [finished]))

    def _is_anything_due(self) -> bool:
        # Read outside of a writing transaction, which on SQLite would block all other writers.
        with self._runtime.database.reading() as tx:
            return bool(self._slots.share(self._list_due(tx)))

    def _list_due(self, tx: Transaction) -> list[str]:
        due = self._work.list_due(tx)
        if self._work.is_shared:
            self._hand_over.see(due)
        return due


def do_nothing() -> None:
    return None


def begin_dispatching(runtime: Runtime, work: CalledQueue[Item, Result], slots: ReceiverSlots) -> Callable[[], bool]:
    """The job's step, which wakes this process's dispatcher; the dispatcher ends when the runtime closes."""
    dispatcher = Dispatcher(runtime, work, slots)
    runtime.closing.callback(dispatcher.stop)
    dispatcher.start()

    def step() -> bool:
        dispatcher.wake()
        return False

    return step


def owner_of(receiver: str) -> str:
    """The owner of a receiver."""
    return receiver.partition(" ")[0]
