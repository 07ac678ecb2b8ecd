"""What gateways call, by GET or POST, at the URLs of their channel types (`handlers/channels/`). Instead of the URL,
the header `Authorization: Bearer <secret>` may contain the secret.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Protocol, cast
from urllib.parse import parse_qsl

from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import PlainResponse, detail_response, header, json_response, wrong_method
from handlers.errors import explain_database
from handlers.request import context_of
from handlers.service import Service
from persistence.channels.gateway_reports import Gateway, WrongSecret, find_gateway
from persistence.channels.types import GATEWAYS
from persistence.database import Transaction
from persistence.errors import DatabaseError, Refused

METHODS = ("GET", "POST")
FORM_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 50
SCOPE_LENGTH = 24
API_PREFIX = "/api/"


class CallbackReader(Protocol):
    """The interface of the module `callbacks` of a channel type. `ADDRESSES` are patterns of paths with the groups
    `uuid`, `secret` (if the path contains it) and `action`. `PREFIXES` are the beginnings of these paths.
    `SECRET_PLACE` matches a secret and, in its first group, the text before it.
    """

    ADDRESSES: tuple[re.Pattern[str], ...]
    PREFIXES: tuple[str, ...]
    SECRET_PLACE: re.Pattern[str]

    def carry_out(self, tx: Transaction, gateway: Gateway, action: str, values: Mapping[str, str]) -> str:
        """Performs what the gateway reports and returns the response text. Raises Refused."""


READERS = {name: cast(CallbackReader, import_module(f"handlers.channels.{name}.callbacks")) for name in GATEWAYS}


class GatewayCalls:
    """ASGI layer for the calls of gateways; other requests go to the inner layer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        channel_type = type_at(scope["path"]) if scope["type"] == "http" else None
        if channel_type is None:
            await self.app(scope, receive, send)
            return
        matches = (address.match(scope["path"]) for address in READERS[channel_type].ADDRESSES)
        found = next((match for match in matches if match is not None), None)
        if found is None:
            await detail_response(404, "There is nothing at this URL.").send(send)
            return
        refused = wrong_method(scope, METHODS)
        if refused is not None:
            await refused.send(send)
            return
        service = context_of(scope).service
        authorization = (header(scope, b"authorization") or b"").decode("latin-1")
        secret = found.groupdict().get("secret") or bearer_in(authorization)
        try:
            caller = Caller(channel_type, found["uuid"], secret)
            admitted = await service.pool.run(partial(admit, service, caller), service.limiter)
            if isinstance(admitted, PlainResponse):
                page = admitted
            else:
                call = partial(carry_out, caller, found["action"], await read_values(Request(scope, receive)))
                page = await service.write_lanes.run(admitted, service.write_limiter, partial(answer, service, call))
        except Refused as error:
            page = detail_response(400, str(error))
        except DatabaseError as error:
            page = detail_response(*explain_database(error))
        await page.send(send)


def type_at(path: str) -> str | None:
    """The channel type whose gateways call this path."""
    return next((name for name, reader in READERS.items() if path.startswith(reader.PREFIXES)), None)


@dataclass(frozen=True, slots=True)
class Caller:
    """The gateway that a call claims to come from, and the secret it sent."""

    channel_type: str
    channel_uuid: str
    secret: str | None

    def find(self, tx: Transaction) -> Gateway:
        """Raises Refused, WrongSecret."""
        return find_gateway(tx, self.channel_type, self.channel_uuid, self.secret)


def bearer_in(authorization: str) -> str | None:
    """The secret of an Authorization header `Bearer <secret>`."""
    scheme, _, secret = authorization.strip().partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def admit(service: Service, caller: Caller) -> PlainResponse | int:
    """The workspace of a call, or the response to one that is not allowed, decided before its body is read. Raises
    Refused. Calls without the secret do not count towards the limit: strangers must not block the gateway.
    """
    try:
        with service.database.reading() as tx:
            source = caller.find(tx).source
    except WrongSecret as error:
        return _ask_for_secret(error)
    allowance = service.callback_limiter.spend(source.workspace_id, f"callback{source.id}"[:SCOPE_LENGTH])
    if allowance.is_granted:
        return source.workspace_id
    seconds = str(allowance.reset_seconds)
    return detail_response(429, f"Too many calls; try again in {seconds} seconds.", {"Retry-After": seconds})


def answer(service: Service, call: Callable[[Transaction], str]) -> PlainResponse:
    """Performs a callback; runs in a database thread. Raises Refused."""
    try:
        return json_response({"detail": service.database.write(call)})
    except WrongSecret as error:  # the secret was changed in the meantime
        return _ask_for_secret(error)


def carry_out(caller: Caller, action: str, values: Mapping[str, str], tx: Transaction) -> str:
    """Performs what the gateway reports and returns the response text. Raises Refused, WrongSecret."""
    return READERS[caller.channel_type].carry_out(tx, caller.find(tx), action, values)


def _ask_for_secret(error: WrongSecret) -> PlainResponse:
    return detail_response(401, str(error), {"WWW-Authenticate": "Bearer"})


async def read_values(request: Request) -> dict[str, str]:
    """The parameters of the query and of a form; those of the form take precedence. Raises Refused for a body that is
    not a form."""
    try:
        if request.headers.get("Content-Type", "").lower().startswith(FORM_TYPE):
            # Starlette reads unescaped characters beyond ASCII as Latin-1; gateways send UTF-8.
            text = (await request.body()).decode("utf-8", "replace")
            fields = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        else:
            form = await request.form(max_files=0, max_fields=MOST_FIELDS)
            fields = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    except (MultiPartException, ValueError) as error:
        raise Refused("The request body is not a valid form.") from error
    return dict([*request.query_params.multi_items(), *fields])


def hide_secret(path: str) -> str:
    """A path for the log, without the secret of a gateway."""
    if path.startswith(API_PREFIX):
        return path
    for reader in READERS.values():
        path = reader.SECRET_PLACE.sub(r"\1***", path)
    return path
