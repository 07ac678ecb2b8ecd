"""Streams of changes: nothing is left out, whatever the order of transactions, and nothing is held for a listener."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import aclosing
from typing import Any

import anyio
import orjson
import pytest
from sqlalchemy import event

from handlers import listeners as module
from handlers.asgi.plain_responses import Refusal
from handlers.listeners import Listeners
from persistence.changes import note_changed
from persistence.database import Database
from persistence.messages.actions import delete_messages
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.relayers.relayers import release_channels
from persistence.sql.columns import time_text
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_messages

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""On SQLite one transaction writes at a time, so these meetings cannot be made."""
ALL = ("message", "run", "ticket", "channel", "flow_start", "broadcast")


class Reader:
    """A client that reads events one by one."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._waiting: list[dict[str, Any]] = []
        self.last_id = ""

    async def next(self) -> dict[str, Any]:
        """The next event with its name as `event`."""
        while not self._waiting:
            with anyio.fail_after(PATIENCE_SECONDS):
                self._take(await anext(self._stream))
        return self._waiting.pop(0)

    def _take(self, block: bytes) -> None:
        for part in block.decode().strip().split("\n\n"):
            lines = [line.partition(": ") for line in part.split("\n")]
            fields = {name: value for name, _, value in lines}
            self.last_id = fields.get("id", self.last_id)
            if "data" in fields:
                self._waiting.append({"event": fields["event"], **orjson.loads(fields["data"])})


def follow(database: Database, work: Callable[[Listeners], Awaitable[None]], **limits: Any) -> None:
    """Runs work with the listeners of a process."""
    limits = {"most": 10, "most_of_workspace": 5, "seconds": 2 * PATIENCE_SECONDS} | limits

    async def run() -> None:
        await work(Listeners(database, **limits))

    asyncio.run(run())


def send(tx: Any, workspace: Workspace, contact_id: int, text: str = "Hello") -> int:
    (message_id,) = create_outgoing(tx, workspace.id, [Draft(contact_id, text)])
    return message_id


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return id_of(database, make_contact(database, workspace, "+250788000111"))


async def opened(
    found: Listeners, workspace: Workspace, last_id: str | None = None, kinds: Collection[str] = ALL
) -> Any:
    """A stream that has begun, and its reader."""
    stream = found.open(workspace, kinds, last_id)
    reader = Reader(stream)
    if last_id is None:
        assert (await reader.next())["event"] == "ready"
    return stream, reader


def test_each_change_of_a_message_comes_as_its_list_shows_it(
    database: Database, workspace: Workspace, amina: int
) -> None:
    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace)
        async with aclosing(stream):
            with database.writing() as tx:
                send(tx, workspace, amina, "Are you well?")
            shown = await reader.next()

        assert (shown["event"], shown["text"], shown["status"]) == ("message", "Are you well?", "failed")
        assert found.count == 0

    follow(database, work)


@ON_POSTGRESQL
def test_nothing_is_missed_when_transactions_end_in_another_order_than_they_began(
    database: Database, workspace: Workspace, amina: int
) -> None:
    bosco = id_of(database, make_contact(database, workspace, "+250788000222"))

    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace)
        async with aclosing(stream):
            with database.writing() as slow:
                send(slow, workspace, amina, "slow")
                with database.writing() as quick:
                    send(quick, workspace, bosco, "quick")
                first = await reader.next()
            second = await reader.next()

        assert (first["text"], second["text"]) == ("quick", "slow")

    follow(database, work)


def test_a_client_that_comes_back_gets_what_happened_meanwhile_from_any_process(
    database: Database, workspace: Workspace, amina: int
) -> None:
    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace)
        await stream.aclose()
        with database.writing() as tx:
            send(tx, workspace, amina, "meanwhile")
        elsewhere = Listeners(database, most=1, most_of_workspace=1, seconds=PATIENCE_SECONDS)
        again, back = await opened(elsewhere, workspace, reader.last_id)
        async with aclosing(again):
            assert (await back.next())["text"] == "meanwhile"

    follow(database, work)


@pytest.mark.together
@pytest.mark.parametrize("last_id", ["nonsense", "2020-01-01T00:00:00.000000Z", "9999-01-01T00:00:00.000000Z"])
def test_an_unknown_or_old_id_resets_the_client(
    database: Database, workspace: Workspace, amina: int, last_id: str
) -> None:
    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace, last_id)
        async with aclosing(stream):
            assert (await reader.next())["event"] == "reset"
            assert reader.last_id == time_text(found._rooms[workspace.id].clock)  # type: ignore[arg-type]

    follow(database, work)


def test_too_many_changes_at_once_reset_the_client_which_goes_on(
    database: Database, workspace: Workspace, amina: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 2)

    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace)
        async with aclosing(stream):
            with database.writing() as tx:
                create_outgoing(tx, workspace.id, [Draft(amina, str(number)) for number in range(3)])
            assert (await reader.next())["event"] == "reset"
            with database.writing() as tx:
                send(tx, workspace, amina, "later")
            assert (await reader.next())["text"] == "later"

    follow(database, work)


def test_nobody_hears_of_another_workspace_or_of_kinds_that_are_not_for_them(
    database: Database, workspace: Workspace, other_workspace: Workspace, amina: int
) -> None:
    theirs = id_of(database, make_contact(database, other_workspace, "+250788000333"))

    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace, kinds=["channel"])
        async with aclosing(stream):
            channel_id = add_channel(database, workspace)
            with database.writing() as tx:
                send(tx, other_workspace, theirs)
                send(tx, workspace, amina)
                note_changed(tx, channel, workspace.id, [channel_id])
            assert (await reader.next())["event"] == "channel"
            with database.writing() as tx:
                release_channels(tx, workspace.id, channel.c.id == channel_id)
            assert (await reader.next())["event"] == "channel_gone"

    follow(database, work)


def test_a_deleted_message_comes_without_its_content(database: Database, workspace: Workspace) -> None:
    ids = make_messages(database, workspace, make_contact(database, workspace, "+250788000444"))

    async def work(found: Listeners) -> None:
        stream, reader = await opened(found, workspace)
        async with aclosing(stream):
            with database.writing() as tx:
                delete_messages(tx, workspace.id, ids)
            shown = await reader.next()
        assert (shown["visibility"], shown["text"]) == ("deleted", "")

    follow(database, work)


def test_a_workspace_has_so_many_streams_and_no_more(database: Database, workspace: Workspace) -> None:
    async def work(found: Listeners) -> None:
        stream, _ = await opened(found, workspace)
        async with aclosing(stream):
            with pytest.raises(Refusal) as refused:
                found.open(workspace, ALL, None)
        assert refused.value.status == 429
        again, _ = await opened(found, workspace)
        await again.aclose()

    follow(database, work, most_of_workspace=1)


def test_a_stream_ends_after_its_time_and_when_the_process_stops(database: Database, workspace: Workspace) -> None:
    async def work(found: Listeners) -> None:
        short = Listeners(database, most=1, most_of_workspace=1, seconds=0.001)
        blocks = [block async for block in short.open(workspace, ALL, None)]
        assert blocks[0].startswith(b"retry:")
        stream, reader = await opened(found, workspace)
        waiting = asyncio.create_task(anext(stream, b"ended"))
        await asyncio.sleep(0)
        found.stop()
        with anyio.fail_after(PATIENCE_SECONDS):
            assert await waiting == b"ended"
        assert reader.last_id

    follow(database, work)


def test_changes_are_read_once_for_all_listeners_and_nothing_runs_without_any(
    database: Database, workspace: Workspace, amina: int
) -> None:
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement)

    async def work(found: Listeners) -> None:
        first, one = await opened(found, workspace)
        second, other = await opened(found, workspace)
        event.listen(database.engine, "before_cursor_execute", note)
        with database.writing() as tx:
            send(tx, workspace, amina)
        assert (await one.next())["event"] == (await other.next())["event"] == "message"
        event.remove(database.engine, "before_cursor_execute", note)
        reads = [each for each in statements if "FROM message, record_stamp" in each]
        assert len(reads) == 1
        await first.aclose()
        await second.aclose()
        assert found._looking is None

    follow(database, work)
