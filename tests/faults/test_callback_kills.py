"""A callback is taken once, though it comes before its wait is recorded and the worker is killed amid what follows."""

import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest
from sqlalchemy import select, update

from persistence.tables.contacts import contact
from persistence.tables.flows import flow_callback, flow_start_batch
from persistence.tables.messages import OUTGOING, message
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.channel_rows import add_channel
from tests.worker.receivers import Received, Receiver, Reply, receiving

ROOT = "http://relayboard.test"


class Shop:
    """Is asked for a payment and calls back before it answers, twice; keeps whoever tells of the payment waiting."""

    def __init__(self) -> None:
        self.service: RunningService | None = None
        self.answers: list[int] = []
        self.speaks = threading.Event()

    def __call__(self, request: Received) -> Reply:
        if not request.body.startswith(b"http"):
            self.speaks.wait(PATIENCE_SECONDS)
            return Reply(200, b"{}")
        assert self.service is not None
        path = request.body.decode().removeprefix(ROOT)
        self.answers += [post(f"{self.service.url}{path}", amount) for amount in (b'{"amount": 12}', b'{"amount": 13}')]
        return Reply(200, b"{}")


def post(url: str, body: bytes) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, method="POST"), timeout=PATIENCE_SECONDS) as page:
            return int(page.status)
    except HTTPError as error:
        return error.code


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving(Shop()) as made:
        yield made


@pytest.fixture
def service(database_url: str, tmp_path: Path, shop: Receiver) -> Iterator[RunningService]:
    settings = {
        "BASE_URL": ROOT,
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_TIMEOUT_SECONDS": str(PATIENCE_SECONDS),
    }
    with forked_service(database_url, tmp_path, **settings) as running:
        add_channel(running.database, running.workspace)
        yield running


def test_a_callback_before_its_wait_is_taken_once_though_the_worker_is_killed(
    service: RunningService, shop: Receiver
) -> None:
    assert isinstance(shop.respond, Shop)
    shop.respond.service = service
    post_to = {"type": "call_webhook", "method": "POST", "url": shop.url}
    orders = {**post_to, "uuid": uuid_of("call of order"), "body": "@resume.url"}
    tells = {**post_to, "uuid": uuid_of("call of paid"), "body": "paid @resume.json.amount"}
    waits = ask("wait", {}, "paid")
    waits["router"]["wait"]["pause"] = {"ends_by": "callback"}
    nodes = [node("order", [orders], "wait"), waits, node("paid", [tells, say("Paid: @resume.json.amount")])]
    flow_uuid = store_flow(service.database, service.workspace, definition("Pay", nodes))

    service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "urns": ["tel:+250788123123"]})
    assert shop.wait_for(2, PATIENCE_SECONDS)
    service.kill("worker")
    with service.database.writing() as tx:
        tx.execute(update(contact).values(handling_until=None))
        tx.execute(update(flow_start_batch).values(leased_until=None))
    shop.respond.speaks.set()
    service.start("worker")

    def said() -> list[str]:
        with service.database.reading() as tx:
            return list(tx.execute(select(message.c.text).where(message.c.direction == OUTGOING)).scalars())

    wait_until(lambda: said() == ["Paid: 12"], "the message after the payment")
    assert shop.respond.answers == [204, 404]
    assert {each.body for each in shop.received[1:]} == {b"paid 12"}
    with service.database.reading() as tx:
        assert tx.execute(select(flow_callback.c.id)).all() == []
