"""One rule for private addresses, told wherever a URL is set."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from starlette.testclient import TestClient

from persistence.channels.channels import PRIVATE
from persistence.database import Database
from persistence.definitions.importing import import_definitions
from persistence.resthooks import ensure_resthook
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from tests.api import Api
from tests.channel_rows import add_channel
from tests.run_rows import uuid_of

URLS = [
    *(
        "http://127.0.0.1:9000/x",
        "http://10.0.0.5/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
    ),
    *(
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://169.254.169.254/latest",
        "http://db.internal/",
    ),
    *("http://168.63.129.16/", "http://LOCALHOST./"),
]


@pytest.fixture
def strict(api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]) -> Iterator[Api]:
    """A service without allowed networks."""
    with make_client(webhook_allowed_networks=()) as client:
        yield Api(client, api.database, api.workspace, api.token)


@pytest.fixture
def doors(api: Api, database: Database, workspace: Workspace) -> dict[str, Callable[[Api, str], Any]]:
    with database.writing() as tx:
        ensure_resthook(tx, workspace.id, "new-birth")
    phone = uuid_of(database, channel, add_channel(database, workspace))
    gateway = {"type": "external", "name": "Hub", "address": "8181"}
    known = api.post("/api/v2/channel_settings.json", gateway | {"settings": {"send_url": "https://example.org/"}})

    def receiver(api: Api, url: str) -> Any:
        return api.post("/api/v2/webhook_receivers.json", {"url": url}, receiver=phone)

    def subscriber(api: Api, url: str) -> Any:
        return api.post("/api/v2/resthook_subscribers.json", {"resthook": "new-birth", "target_url": url})

    def new_gateway(api: Api, url: str) -> Any:
        return api.post("/api/v2/channel_settings.json", gateway | {"settings": {"send_url": url}})

    def changed_gateway(api: Api, url: str) -> Any:
        body = {"settings": {"send_url": url + "?to={{to}}"}}
        return api.post("/api/v2/channel_settings.json", body, uuid=known.json()["uuid"])

    return {each.__name__: each for each in (receiver, subscriber, new_gateway, changed_gateway)}


@pytest.mark.together
@pytest.mark.parametrize("door", ["receiver", "subscriber", "new_gateway", "changed_gateway"])
def test_a_private_address_is_refused_at_every_door(
    strict: Api, doors: dict[str, Callable[[Api, str], Any]], door: str
) -> None:
    for url in URLS:
        answer = doors[door](strict, url)
        assert answer.status_code == 400 and PRIVATE in answer.text, url
    assert doors[door](strict, "https://hooks.example.org/in").status_code in (200, 201)


@pytest.mark.together
@pytest.mark.parametrize("door", ["receiver", "subscriber", "new_gateway", "changed_gateway"])
def test_an_address_that_the_operator_allows_is_taken_at_every_door(
    api: Api, doors: dict[str, Callable[[Api, str], Any]], door: str
) -> None:
    assert doors[door](api, "http://127.0.0.1:9000/x").status_code in (200, 201)
    assert doors[door](api, "http://10.0.0.5/").status_code == 400


def test_an_import_tells_flows_that_call_a_private_network(
    database: Database, workspace: Workspace, settings: Settings
) -> None:
    flow, node, action, way = (f"{number}d5f4a0e-2f0b-4a4e-b1f3-2a1b6e9d8c77" for number in range(1, 5))
    calls = {"type": "call_webhook", "uuid": action, "method": "GET", "url": "http://10.0.0.5/", "result_name": "Found"}
    nodes = [{"uuid": node, "actions": [calls], "exits": [{"uuid": way}]}]
    definition = {"uuid": flow, "name": "Ask", "spec_version": "13.1.0", "language": "eng", "type": "messaging"}
    document = definition | {"nodes": nodes, "localization": {}, "revision": 1, "expire_after_minutes": 10}

    with database.writing() as tx:
        report = import_definitions(tx, workspace, document, networks=settings.webhook_allowed_networks)

    told = {"type": "private_address", "node_uuid": node, "action_uuid": action, "description": PRIVATE}
    assert told in report.flows[0]["issues"]
