"""Compares every response with the contract; on in all tests, off in production."""

import gzip
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from urllib.parse import parse_qsl

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handlers.contract.operations import FIELDS, JSON_TYPE, OperationRules, load_contract, matches
from openapi.bundle import GENERATIONS


class ContractBroken(AssertionError):
    """A response that the contract does not allow: an undeclared status, or a body that does not match its schema."""


class ResponseCheck:
    """ASGI layer that raises ContractBroken after a response that is not in the contract."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rules = _find_rules(scope) if scope["type"] == "http" else None
        if rules is None:
            await self.app(scope, receive, send)
            return
        if rules.is_stream:
            await self.app(scope, receive, _checking_start(rules, send))
            return
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        await self.app(scope, receive, collect)
        check_answer(rules, messages, is_partial=rules.partial is not None and has_fields(scope))
        for message in messages:
            await send(message)


def _checking_start(rules: OperationRules, send: Send) -> Send:
    """Checks the status of a response that goes on for a while."""

    async def check_start(message: Message) -> None:
        if message["type"] == "http.response.start" and str(message["status"]) not in rules.responses:
            raise ContractBroken(f"{rules.id} answered {message['status']}, which its contract does not list")
        await send(message)

    return check_start


def has_fields(scope: Scope) -> bool:
    """Whether a request chooses members of records."""
    return any(name == FIELDS for name, _ in parse_qsl(scope["query_string"].decode("latin-1")))


def check_answer(rules: OperationRules, messages: list[Message], *, is_partial: bool = False) -> None:
    """Raises ContractBroken if the collected ASGI response is not one of the operation's."""
    start = messages[0]
    body = b"".join(message.get("body", b"") for message in messages[1:])
    status = str(start["status"])
    if status not in rules.responses:
        raise ContractBroken(f"{rules.id} answered {status}, which its contract does not list: {body[:500]!r}")
    schema = rules.partial if is_partial and status == "200" else rules.responses[status]
    if schema is None:
        if body:
            raise ContractBroken(f"{rules.id} answered {status} with an unexpected body: {body[:500]!r}")
        return
    if (b"content-encoding", b"gzip") in start["headers"]:
        body = gzip.decompress(body)
    media_type = dict(start["headers"]).get(b"content-type", b"").decode("latin-1").partition(";")[0]
    if media_type != JSON_TYPE and status == "200" and media_type in rules.media_types:
        return
    errors = schema.errors(orjson.loads(body))
    if errors:
        raise ContractBroken(f"{rules.id} answered {status} against its schema: {errors} in {body[:2000]!r}")


def _find_rules(scope: Scope) -> OperationRules | None:
    path = scope["path"]
    found = _rules_by_shape().get((scope["method"].lower(), path.count("/")), ())
    return next((rules for rules in found if matches(rules.path, path)), None)


@cache
def _rules_by_shape() -> Mapping[tuple[str, int], list[OperationRules]]:
    """All operations by method and number of slashes."""
    rules: defaultdict[tuple[str, int], list[OperationRules]] = defaultdict(list)
    for generation in GENERATIONS:
        for each in load_contract(generation).values():
            rules[each.method, each.path.count("/")].append(each)
    return rules
