"""People try out every operation of the API in a real browser."""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import BrowserContext

from testbed.running import RunningService, forked_service
from tests.browser.example_workspace import UNUSED_GROUP, fill_as_in_examples
from tests.browser.explorer_page import ExplorerPage
from tests.contract.bodies import resource_of, type_of
from tests.contract.documents import Operation, kinds_of, token_operations, with_each_kind
from tests.contract.filled_workspace import Filled
from tests.contract.references import PARAMETERS, find_forms

FIRST = ("fields", "groups", "labels", "campaigns")
"""What the examples of other operations build on."""
SUCCESS = {"get": {200}, "post": {200, 201, 204}, "delete": {204}}

TYPED = {"contact_queries": {"query": "amina"}, "fields": {"key": "age"}, "groups": {"uuid": UNUSED_GROUP}}
TYPED["usages"] = {"record": UNUSED_GROUP}
"""What people type instead of naming a record that the workspace has from the beginning."""
PLACES = {"channel_settings": 1, **dict.fromkeys(("channel_health", "channel_tests", "contact_notes"), 0)}
PLACES |= dict.fromkeys(("webhook_receivers", "webhook_secrets", "webhook_tests"), 0)
"""Which row of its table an operation needs, if it is not the last one."""

IS_COMPLETE = bool(os.environ.get("RELAYBOARD_EVERY_OPERATION"))
"""Whether operations are tried whose forms have no kind of field that others do not have: that their first examples
succeed is tested without a browser (tests/contract/test_explorer_examples.py).
"""
OPERATIONS_PER_PAGE = 35
"""A page gets slower with each operation that it has shown."""


@pytest.fixture(scope="module", params=["v1", "v2"] if IS_COMPLETE else ["v2"])
def generation(request: pytest.FixtureRequest) -> str:
    """Whose examples the workspace has; the other one's page is tried there with what only it has."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, generation: str) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp(generation)
    url, limits = f"sqlite:///{folder / 'relayboard.db'}", {"REGISTRATION_LIMIT": "1000/hour", "STREAM_SECONDS": "0.2"}
    with forked_service(url, folder, processes=("api",), **limits) as running:
        yield running


@pytest.fixture
def filled(service: RunningService, generation: str) -> Filled:
    return fill_as_in_examples(service.database, service.workspace, generation)


def tried(generation: str) -> list[Operation]:
    """All operations, or those with each kind of field, and one of the other generation: the pages of both are made by
    the same code.
    """
    return in_order(generation) if IS_COMPLETE else [*with_each_kind(in_order("v2"), fields_of), in_order("v1")[0]]


def fields_of(operation: Operation) -> set[tuple[Any, ...]]:
    """The kinds of fields of its form, which are the same for each method, and its method."""
    return {(operation.method,), *(kind[1:] for kind in kinds_of(operation) if kind[1:])}


def in_order(generation: str) -> list[Operation]:
    """Reading first, then writing, what others build on before the others, and deleting last."""
    mine = [operation for operation in token_operations() if operation.generation == generation]

    def place(operation: Operation) -> tuple[int, int]:
        tag = operation.body["tags"][0]
        return ("get", "post", "delete").index(operation.method), FIRST.index(tag) if tag in FIRST else len(FIRST)

    return sorted(mine, key=place)


def needed_values(operation: Operation, filled: Filled) -> dict[str, Any]:
    """The parameters that a person must type."""
    resource, parameters = resource_of(operation), operation.parameters()
    needed = [each for each in parameters if each.get("required")] or parameters[: operation.method == "delete"]
    if needed and resource in TYPED:
        return TYPED[resource]
    values = {}
    for each in needed:
        kind = type_of(operation.root, each["schema"])
        form = find_forms(PARAMETERS, operation.generation, resource, each["name"], kind)[0]
        values[each["name"]] = form.read(filled.rows[form.table][PLACES.get(resource, -1)])
    return values


def test_every_operation_succeeds_as_the_explorer_offers_it_and_shows_its_events(
    visitor: BrowserContext, service: RunningService, filled: Filled, generation: str
) -> None:
    """Nothing but bodies is filled in; so a filter, a key or a record to delete is never sent unseen. The token
    outlives its page: that of the other generation knows it.
    """
    problems = []
    explorer = ExplorerPage(visitor.new_page(), service.url, generation)
    explorer.open()
    explorer.authorize(service.token)
    leading = [operation for operation in in_order(generation) if operation.body.get("callbacks")]
    most = max(leading, key=lambda operation: len(operation.body["callbacks"]))
    for operation in leading if IS_COMPLETE else [most]:
        explorer.show_events(operation)
    for number, operation in enumerate(tried(generation)):
        if operation.generation != explorer.generation:
            explorer.turn_to(operation.generation)
        elif number % OPERATIONS_PER_PAGE == OPERATIONS_PER_PAGE - 1:
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


def test_links_lead_from_each_page_to_the_others_and_each_fits_a_phone(
    visitor: BrowserContext, service: RunningService
) -> None:
    page = visitor.new_page()
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{service.url}/guides/operations")

    for link, address in (("API v1", "/api/v1/docs"), ("API v2", "/api/v2/docs"), ("Guides", "/guides/")):
        page.locator(".opblock-tag, .guide h1").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.locator("header").get_by_role("link", name=link).click()
        page.wait_for_url(f"{service.url}{address}")
    page.locator(".guide h1").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
