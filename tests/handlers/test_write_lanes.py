"""Writing requests: those of one workspace leave a thread to others, whoever sends them."""

import threading
from collections.abc import Callable

import anyio
import pytest
from sqlalchemy import select, text

from handlers.app import POSTGRES_THREADS
from handlers.lanes import Lane
from handlers.threads import Threads
from handlers.write_lanes import PHONES_KEPT, WriteLanes
from persistence.tables.channels import channel
from persistence.tables.service import workspace_clock
from persistence.workspace_setup import create_workspace
from testbed.gateways import SECRET, add_gateway
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.tokens import make_token
from tests.api import Api
from tests.handlers.held import Held, until
from tests.phones import claimed_phone

THREADS = 4


def test_one_thread_is_left_to_others_whatever_a_workspace_writes() -> None:
    async def scene() -> None:
        lanes, limiter, held = WriteLanes(THREADS, Threads()), Lane(THREADS), Held()
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(lanes.run, 1, limiter, held)
            await until(lambda: held.begun == THREADS - 1)
            with anyio.fail_after(PATIENCE_SECONDS):
                assert await lanes.run(2, limiter, lambda: "at once") == "at once"
            held.go_on.set()
        assert (held.begun, held.most) == (10, THREADS - 1)

    anyio.run(scene)


def test_a_phone_waits_with_the_workspace_in_which_it_was_seen_last() -> None:
    lanes = WriteLanes(THREADS, Threads())

    assert lanes.owner_of("7") == "7"
    for workspace_id in (1, 2):
        lanes.note_phone("7", workspace_id)
        assert lanes.owner_of("7") == workspace_id
    for number in range(PHONES_KEPT):
        lanes.note_phone(f"other {number}", 3)
    assert lanes.owner_of("7") == "7", "it is asked for its workspace again"


def by_token(api: Api) -> Callable[[int], int]:
    return lambda number: api.post("/api/v2/contacts.json", {"name": f"Contact {number}"}).status_code


def by_gateway(api: Api) -> Callable[[int], int]:
    channel_id = add_gateway(api.database, api.workspace, "https://gateway.example.org/")
    with api.database.reading() as tx:
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
    url = f"/c/ex/{uuid}/{SECRET}/receive"
    return lambda number: api.client.post(url, data={"from": f"+25078{number:07}", "text": "Hi"}).status_code


def by_phone(api: Api) -> Callable[[int], int]:
    phones = [claimed_phone(api, number=f"+25078812{number:04}") for number in range(2 * POSTGRES_THREADS)]

    def sync(number: int) -> int:
        phones[number].receive_sms(f"+25078{number:07}", "Hi")
        phones[number].sync()
        return 200

    for number in range(len(phones)):
        sync(number)
    return sync


def count_blocked(api: Api) -> int:
    mine = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
    with api.database.reading() as tx:
        return int(tx.execute(mine).scalar_one())


@pytest.mark.parametrize("writer", [by_token, by_gateway, by_phone])
def test_writes_that_wait_for_the_clock_of_their_workspace_do_not_keep_others_waiting(
    api: Api, writer: Callable[[Api], Callable[[int], int]]
) -> None:
    write = writer(api)
    assert write(0) // 100 == 2, "which begins the clock"
    with api.database.writing() as tx:
        other = create_workspace(tx, "Other", country="RW", timezone="Africa/Kigali")
    neighbor = api.with_token(make_token(api.database, other, "administrator"))
    statuses: list[int] = []

    def note(number: int) -> None:
        statuses.append(write(number))

    threads = [threading.Thread(target=note, args=(number,)) for number in range(2 * POSTGRES_THREADS)]

    with api.database.writing() as tx:
        if not api.database.sqlite:  # where one writes at a time, in all workspaces
            mine = workspace_clock.c.workspace_id == api.workspace.id
            tx.execute(select(workspace_clock).where(mine).with_for_update())
            for thread in threads:
                thread.start()
            wait_until(lambda: count_blocked(api) == POSTGRES_THREADS - 1, "all that may to wait for the clock")
            assert [neighbor.post("/api/v2/contacts.json", {"name": "Eve"}).status_code for _ in range(5)] == [201] * 5
            assert statuses == []
    for thread in threads:
        if api.database.sqlite:
            thread.start()
        thread.join(PATIENCE_SECONDS)

    assert len(statuses) == len(threads) and {status // 100 for status in statuses} == {2}
