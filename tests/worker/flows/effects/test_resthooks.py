"""Which subscribers of a resthook get its event later, and which are removed, by what became of their calls."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

import pytest
from sqlalchemy import select

from flows.engine import Session
from persistence.database import Database
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.tables.deliveries import delivery, resthook, resthook_event, resthook_subscriber
from persistence.workspaces.records import Workspace
from tests.flows.engine.playing import as_read, node, play
from worker.flows.effects import Recording, trigger_resthooks
from worker.flows.sprints import SprintEvent

CLINIC, MINISTRY = "https://127.0.0.1/clinic", "https://127.0.0.1/ministry"


class Hooks:
    """Resthooks with both subscribers, and what sprints did to them."""

    def __init__(self, database: Database, workspace: Workspace) -> None:
        self.database, self.workspace = database, workspace

    def add(self, slug: str) -> None:
        with self.database.writing() as tx:
            ensure_resthook(tx, self.workspace.id, slug)
            for url in (CLINIC, MINISTRY):
                create_subscriber(tx, self.workspace.id, slug, url, allowed_networks=[ip_network("127.0.0.0/8")])

    def carry_out(self, *sprints: Sequence[dict[str, Any]]) -> None:
        """Each sprint is of another session."""
        sessions: list[Session] = [play(node(1)).session for _ in sprints]
        events = [
            SprintEvent(as_read(event), 1, session, {}, is_bulk=False, automatic=0)
            for session, sprint in zip(sessions, sprints, strict=True)
            for event in sprint
        ]
        with self.database.writing() as tx:
            trigger_resthooks(Recording(tx, self.workspace, {}, []), events)

    def read(self, column: Any, table: Any) -> list[tuple[str, Any]]:
        """The slugs of resthooks with this column of their rows."""
        found = select(resthook.c.slug, column).select_from(table).order_by(table.c.id)
        if table is delivery:
            table = resthook_subscriber
            found = found.join(resthook_subscriber, resthook_subscriber.c.id == delivery.c.subscriber_id)
        with self.database.reading() as tx:
            return [tuple(row) for row in tx.execute(found.join(resthook, resthook.c.id == table.c.resthook_id))]

    @property
    def queued(self) -> list[tuple[str, str]]:
        return self.read(delivery.c.url, delivery)

    @property
    def subscribed(self) -> list[tuple[str, str]]:
        return self.read(resthook_subscriber.c.target_url, resthook_subscriber)

    @property
    def noted(self) -> list[tuple[str, Any]]:
        return [(slug, data["n"]) for slug, data in self.read(resthook_event.c.data, resthook_event)]


@pytest.fixture
def hooks(database: Database, workspace: Workspace) -> Hooks:
    made = Hooks(database, workspace)
    made.add("birth")
    return made


def called(slug: str, number: int = 1) -> dict[str, Any]:
    return {"type": "resthook_called", "resthook": slug, "payload": {"n": number}}


def told(url: str, status_code: int | None, slug: str | None = "birth", status: str = "success") -> dict[str, Any]:
    code = {} if status_code is None else {"status_code": status_code}
    return {"type": "webhook_called", "url": url, "status": status, **code, **({"resthook": slug} if slug else {})}


@pytest.mark.parametrize(
    ("status", "is_done"), [(199, False), (200, True), (299, True), (300, False), (500, False), (None, False)]
)
def test_a_subscriber_that_accepted_the_event_does_not_get_it_again(
    hooks: Hooks, status: int | None, is_done: bool
) -> None:
    hooks.carry_out([called("birth"), told(CLINIC, status), told(MINISTRY, 200)])

    assert hooks.queued == ([] if is_done else [("birth", CLINIC)])
    assert hooks.noted == [("birth", 1)]


def test_a_subscriber_that_is_gone_is_removed_from_its_resthook_only(hooks: Hooks) -> None:
    hooks.add("death")

    hooks.carry_out([called("birth"), told(CLINIC, 410, status="subscriber_gone"), told(MINISTRY, 200)])

    assert hooks.subscribed == [("birth", MINISTRY), ("death", CLINIC), ("death", MINISTRY)]
    assert hooks.queued == []


def test_each_call_belongs_to_the_resthook_before_it_in_its_own_sprint(hooks: Hooks) -> None:
    hooks.add("death")

    hooks.carry_out(
        [told(CLINIC, 200), called("birth", 1), told(CLINIC, 200), called("death", 2), told(MINISTRY, 200, "death")],
        [told(MINISTRY, 200), called("birth", 3)],
        [told(MINISTRY, 200), called("death", 4), told(CLINIC, 200, None), told(MINISTRY, 200, "death")],
        [called("birth", 5), told(MINISTRY, 200), called("birth", 6), told(CLINIC, 200), told(MINISTRY, 200)],
    )

    assert hooks.noted == [("birth", 1), ("death", 2), ("birth", 3), ("death", 4), ("birth", 5), ("birth", 6)]
    assert hooks.queued == [
        ("birth", MINISTRY),
        ("death", CLINIC),
        *[("birth", CLINIC), ("birth", MINISTRY)],
        ("death", CLINIC),
        ("birth", CLINIC),
    ]
