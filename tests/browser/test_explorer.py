"""People try out every operation of the API in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext, expect

from testbed.running import RunningService, forked_service
from tests.browser.example_workspace import UNUSED_GROUP, fill_as_in_examples
from tests.browser.explorer_page import ExplorerPage
from tests.contract.documents import Operation, token_operations
from tests.contract.filled_workspace import Filled

FIRST = ("fields", "groups", "labels", "campaigns")
"""What the examples of other operations build on."""
SUCCESS = {"get": {200}, "post": {200, 201, 204}, "delete": {204}}

OPERATIONS_PER_PAGE = 35
"""A page gets slower with each operation that it has shown."""


@pytest.fixture(params=["v1", "v2"])
def generation(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RunningService]:
    url = f"sqlite:///{tmp_path / 'relayboard.db'}"
    with forked_service(
        url, tmp_path, processes=("api",), REGISTRATION_LIMIT="1000/hour", STREAM_SECONDS="0.2"
    ) as running:
        yield running


@pytest.fixture
def filled(service: RunningService, generation: str) -> Filled:
    return fill_as_in_examples(service.database, service.workspace, generation)


@pytest.fixture
def explorer(visitor: BrowserContext, service: RunningService, generation: str) -> ExplorerPage:
    """The explorer, opened by somebody who has given a token."""
    page = ExplorerPage(visitor.new_page(), service.url, generation)
    page.open()
    page.authorize(service.token)
    return page


def in_order(generation: str) -> list[Operation]:
    """Reading first, then writing, what others build on before the others, and deleting last."""
    mine = [operation for operation in token_operations() if operation.generation == generation]

    def place(operation: Operation) -> tuple[int, int]:
        tag = operation.body["tags"][0]
        return ("get", "post", "delete").index(operation.method), FIRST.index(tag) if tag in FIRST else len(FIRST)

    return sorted(mine, key=place)


def needed_values(operation: Operation, filled: Filled) -> dict[str, Any]:
    """The parameters that a person must type."""
    tag = operation.body["tags"][0]
    by_tag = {
        "channel_settings": {"uuid": filled.rows["channel"][1].uuid},
        "campaign_events": {"uuid": filled.rows["campaign_event"][-1].uuid},
        "contact_notes": {"uuid": filled.rows["contact_note"][0].uuid},
        "contacts": {"uuid": filled.rows["contact"][-1].uuid},
        "events": {"uuid": filled.rows["campaign_event"][-1].uuid},
        "fields": {"key": "age"},
        "globals": {"key": filled.rows["global_value"][-1].key},
        "groups": {"uuid": UNUSED_GROUP},
        "invitations": {"uuid": filled.rows["invitation"][-1].uuid},
        "labels": {"uuid": filled.rows["label"][-1].uuid},
        "relayers": {"relayer": filled.rows["channel"][-1].id},
        "resthook_subscribers": {"id": filled.rows["resthook_subscriber"][-1].id},
        "webhook_receivers": {"receiver": filled.rows["channel"][0].uuid},
        "webhooks": {"receiver": filled.rows["channel"][0].uuid},
        "saved_replies": {"uuid": filled.rows["saved_reply"][-1].uuid},
        "tokens": {"token": filled.rows["api_token"][-1].public},
    }
    by_path = {
        "/broadcast_progress.json": {"uuid": filled.rows["broadcast"][-1].uuid},
        "/channel_health.json": {"uuid": filled.rows["channel"][0].uuid},
        "/channel_tests.json": {"uuid": filled.rows["channel"][0].uuid},
        "/contact_queries.json": {"query": "amina"},
        "/contact_timeline.json": {"contact": filled.rows["contact"][-1].uuid},
        "/delivery.json": {"uuid": filled.rows["delivery"][-1].uuid},
        "/flow_figures.json": {"uuid": filled.rows["flow"][-1].uuid},
        "/flow_revisions.json": {"uuid": filled.rows["flow"][-1].uuid},
    }
    needs_some = any(part.get("required") for part in operation.parameters())
    if not needs_some and operation.method != "delete":
        return {}
    return by_path[operation.path] if operation.path in by_path else by_tag[tag]


def test_every_operation_succeeds_as_the_explorer_offers_it(explorer: ExplorerPage, filled: Filled) -> None:
    """Nothing but bodies is filled in; so a filter, a key or a record to delete is never sent unseen."""
    problems = []
    for number, operation in enumerate(in_order(explorer.generation)):
        if number % OPERATIONS_PER_PAGE == 0:
            explorer.open()
        block = explorer.unfold(operation)
        prefilled = explorer.filled_in(block)
        explorer.fill(block, needed_values(operation, filled))
        if "multipart/form-data" in operation.request_schemas():
            explorer.attach(block)
        done = explorer.execute(block, operation)
        typed = set(needed_values(operation, filled))
        if prefilled or set(parse_qs(urlsplit(done.url).query)) != typed or "idempotency-key" in done.headers:
            problems.append(f"{operation}: filled in {prefilled}, sent {done.url}")
        if done.status not in SUCCESS[operation.method]:
            problems.append(f"{operation}: {done.status} {done.body or ''} {done.text}")
        explorer.fold(block)

    assert not problems, "\n".join(problems)
    assert explorer.troubles == []


def test_a_token_outlives_the_page(explorer: ExplorerPage) -> None:
    reading = in_order(explorer.generation)[0]

    explorer.open()
    done = explorer.execute(explorer.unfold(reading), reading)

    assert done.headers["authorization"].startswith("Token ")
    assert done.status == 200


def test_events_are_shown_at_the_operations_that_lead_to_them(explorer: ExplorerPage) -> None:
    for operation in in_order(explorer.generation):
        names = operation.body.get("callbacks", {})
        if names:
            block = explorer.unfold(operation)
            block.locator(".tab-item", has_text="Callbacks").click()
            shown = block.locator(".callbacks-container")
            for name in names:
                expect(shown.get_by_text(name, exact=True)).to_be_visible()
            explorer.fold(block)


@pytest.mark.parametrize("path", ["/api/v1/docs", "/api/v2/docs", "/guides/", "/guides/operations"])
def test_a_page_fits_a_phone(visitor: BrowserContext, service: RunningService, path: str) -> None:
    page = visitor.new_page()
    page.set_viewport_size({"width": 360, "height": 740})

    page.goto(service.url + path)
    page.locator(".opblock-tag, .guide h1").first.wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_links_lead_from_each_page_to_the_others(visitor: BrowserContext, service: RunningService) -> None:
    page = visitor.new_page()
    page.goto(f"{service.url}/api/v2/docs")

    for link, address in (("API v1", "/api/v1/docs"), ("Guides", "/guides/"), ("API v2", "/api/v2/docs")):
        page.locator("header").get_by_role("link", name=link).click()
        page.wait_for_url(f"{service.url}{address}")
