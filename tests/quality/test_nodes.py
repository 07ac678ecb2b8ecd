"""`python -m bench.nodes` in small: a service of several nodes that are killed, and what the run would notice."""

import json
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import requests

from bench.nodes import Arrivals, Node, Tenant, Totals, judge, main, make_tenant
from persistence.database import Database
from testbed.gateways import queue_messages
from testbed.quality_page import replace_section

SMALL = (
    "--minutes",
    "0.1",
    "--tenants",
    "3",
    "--apis",
    "2",
    "--workers",
    "1",
    "--kill-seconds",
    "2",
    "--per-second",
    "0.5",
)
PAGE = "# Scaling\n\n## First\n\nText.\n\n## Many nodes, measured\n\nOld.\n\n## Last\n\nText.\n"


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_killed_nodes_lose_and_double_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> None:
    page = tmp_path / "scaling.md"
    page.write_text(PAGE)

    status = main([*SMALL, "--write"], page, database_url)

    found = json.loads(capsys.readouterr().out)
    assert (status, found["problems"], found["lost"], found["doubled"]) == (0, [], 0, 0)
    assert found["kills"] and found["accepted"] > 0 and found["others"]["count"] > 0
    written = page.read_text()
    assert written.startswith("# Scaling\n\n## First\n\nText.\n\n## Many nodes, measured\n\n<!-- not run")
    assert written.endswith("\n\n## Last\n\nText.\n") and f"{found['accepted']:,}" in written


def test_a_section_that_is_not_there_is_added_at_the_end(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n## First\n\nText.\n")

    replace_section("Last", "More.", page)

    assert page.read_text() == "# Title\n\n## First\n\nText.\n\n## Last\n\nMore.\n"


class CountingNode(Node):
    """A node with a page of metrics for each look; None while it does not answer."""

    pages: list[dict[str, float] | None]

    def read_metrics(self) -> dict[str, float] | None:
        return self.pages.pop(0)


def test_counters_that_begin_anew_are_added_to_what_they_counted_before() -> None:
    node = CountingNode("api 1", {}, Path(), None, "")
    node.pages = [{"sent_total[]": 3.0}, {"sent_total[]": 5.0}, None, {"sent_total[]": 1.0}, {"sent_total[]": 2.0}]
    totals = Totals()

    for _ in range(5):
        totals.look([node])

    assert totals.total("sent_total") == 7


@pytest.fixture
def outside() -> Arrivals:
    made = Arrivals()
    made.close()
    return made


def lose_in_the_database(tenant: Tenant, _database: Database, outside: Arrivals) -> None:
    tenant.accepted["out 1 1"] = 0.0
    outside.sent["out 1 1"] = 1


def lose_on_the_way(tenant: Tenant, database: Database, _outside: Arrivals) -> None:
    store(database, tenant, "out 1 1")
    tenant.accepted["out 1 1"] = 0.0


def store_twice(tenant: Tenant, database: Database, outside: Arrivals) -> None:
    store(database, tenant, "in 1 1", 2)
    tenant.accepted["in 1 1"] = 0.0
    outside.told["in 1 1"] = 1


def send_twice(tenant: Tenant, database: Database, outside: Arrivals) -> None:
    store(database, tenant, "out 1 1")
    tenant.accepted["out 1 1"] = 0.0
    outside.sent["out 1 1"] = 2


def answer_strangely(tenant: Tenant, _database: Database, _outside: Arrivals) -> None:
    tenant.strange.append("out 1 1: 500")


def store(database: Database, tenant: Tenant, text: str, count: int = 1) -> None:
    queue_messages(database, tenant.workspace, tenant.channel_id, count, text)


@pytest.mark.parametrize(
    ("happens", "problem"),
    [
        (lose_in_the_database, "lost: out 1 1, not stored"),
        (lose_on_the_way, "lost: out 1 1, {'id': 1, 'status': 'queued'"),
        (store_twice, "doubled: in 1 1"),
        (send_twice, "doubled: out 1 1"),
        (answer_strangely, "strange answer: out 1 1: 500"),
    ],
)
def test_what_is_lost_or_doubled_is_noticed(
    database: Database, outside: Arrivals, happens: Callable[..., None], problem: str
) -> None:
    tenant = make_tenant(database, 1, "http://127.0.0.1:9", 1.0)
    happens(tenant, database, outside)

    (found,) = judge(database, [tenant], outside, Totals())["problems"]
    assert found.startswith(problem)


def test_a_gateway_does_not_take_the_whole_of_a_request_for_the_repeat_of_its_half() -> None:
    outside = Arrivals()
    host, port = outside.url.removeprefix("http://").split(":")
    head = "POST /send HTTP/1.1\r\nHost: x\r\nIdempotency-Key: one\r\nContent-Length: 10\r\n\r\n"
    with closing(socket.create_connection((host, int(port)))) as killed:
        killed.sendall(f"{head}text=".encode())
        killed.shutdown(socket.SHUT_WR)
        assert killed.recv(100) == b""

    for _ in range(2):
        requests.post(f"{outside.url}/send", headers={"Idempotency-Key": "one"}, data={"text": "quick"}, timeout=30)

    assert (outside.sent, outside.repeats) == ({"quick": 1}, 1)
    outside.close()
