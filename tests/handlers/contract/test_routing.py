"""The table of exact paths finds what Connexion's own router finds, and nothing else.

The service does not have Connexion validate its own documents at each start; these tests do.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from connexion.exceptions import InvalidSpecification
from connexion.middleware.abstract import ROUTING_CONTEXT
from connexion.middleware.routing import RoutingMiddleware
from connexion.spec import Specification
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from handlers.app import _document
from handlers.contract.resolver import HandlerResolver
from handlers.contract.routing import ExactRouting, trusted_documents
from openapi.bundle import GENERATIONS, bundle, operations

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get")
ALL_PATHS = ("GET", "POST", "DELETE")
"""The methods of operations, which are asked of each path; those that none has, of every tenth one."""
Ask = Callable[[str, str], Any]

PATHS = sorted(
    {
        variant
        for generation in GENERATIONS
        for document in [bundle(generation)]
        for path, _, _ in operations(document)
        for whole in [document["servers"][0]["url"] + path.replace("{relayer_id}", "17")]
        for variant in (whole, whole + "/", whole.upper(), whole.replace(".json", ""), "/" + whole, whole[:-1])
    }
    | {"/", "", "/api/v2", "/api/v2/", "/api/v3/labels.json"}
)


def build(kind: type[RoutingMiddleware], runner: asyncio.Runner) -> Ask:
    """What a router of this kind that does not redirect makes of a method and a path: what it adds to the scope, or the
    status it refuses with."""
    seen: list[Any] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope["path"], scope.get("path_params"), scope["extensions"][ROUTING_CONTEXT]))

    router = kind(note)
    router.router.redirect_slashes = False
    with trusted_documents():
        for generation in GENERATIONS:
            document = Specification.load(_document(generation))
            router.add_api(document, resolver=HandlerResolver(generation))
            router.router.routes[-1].app.redirect_slashes = False

    async def send(message: Message) -> None:
        seen.append((message["type"], message.get("status"), message.get("headers")))

    def ask(method: str, path: str) -> Any:
        seen.clear()
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "query_string": b"", "headers": []}
        try:
            runner.run(router({**scope, "app": None}, None, send))
        except HTTPException as error:
            return error.status_code, error.headers
        return list(seen)

    return ask


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop: making it takes longer than routing."""
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def exact(runner: asyncio.Runner) -> Ask:
    return build(ExactRouting, runner)


@pytest.fixture(scope="module")
def usual(runner: asyncio.Runner) -> Ask:
    return build(RoutingMiddleware, runner)


@pytest.mark.together
@pytest.mark.parametrize("method", METHODS)
def test_every_path_is_routed_as_connexion_routes_it(exact: Ask, usual: Ask, method: str) -> None:
    paths = PATHS if method in ALL_PATHS else PATHS[::10]
    assert {path: exact(method, path) for path in paths} == {path: usual(method, path) for path in paths}


def test_operations_without_parameters_in_their_path_are_in_the_table() -> None:
    router = ExactRouting(lambda *_: None)
    with trusted_documents():
        router.add_api(Specification.load(_document("v2")), resolver=HandlerResolver("v2"))

    assert ("GET", "/api/v2/labels.json") in router._found
    assert len(router._found) == len(list(operations(bundle("v2"))))


INVALID = {"openapi": "3.0.3", "info": {"title": "no version"}, "paths": {}}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_connexion_accepts_each_document_as_the_service_gives_it(generation: str) -> None:
    Specification.load(_document(generation))


def test_documents_are_validated_again_after_ours_are_loaded() -> None:
    with trusted_documents():
        Specification.load(dict(INVALID))
    with pytest.raises(InvalidSpecification):
        Specification.load(dict(INVALID))
