"""What HTTP gateways call: `/c/ex/<channel uuid>/<secret>/<action>`, GET or POST, parameters in the query or a form.

The older address `/handlers/external/<action>/<channel uuid>/<secret>/` is understood as well (relayer protocol,
section 22.2). The secret may come as `Authorization: Bearer <secret>` instead, with addresses that leave it out.
"""

import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from handlers.asgi.plain_responses import PlainResponse, detail_response, header, json_response, wrong_method
from handlers.context import context_of
from handlers.errors import explain_database
from handlers.service import Service
from persistence.channels.gateway_reports import (
    FATES,
    GatewayMessage,
    WrongSecret,
    find_gateway,
    note_fate,
    receive_message,
    stop_contact,
)
from persistence.database import Transaction
from persistence.errors import DatabaseError, Refused

ADDRESS = re.compile(r"/c/ex/(?P<uuid>[^/]+)/(?:(?P<secret>[^/]+)/)?(?P<action>[a-z]+)/?\Z")
OLD_ADDRESS = re.compile(r"/handlers/external/(?P<action>[a-z]+)/(?P<uuid>[^/]+)(?:/(?P<secret>[^/]+))?/?\Z")
SECRET_PLACE = re.compile(r"(/c/ex/[^/]*/|/handlers/external/[^/]*/[^/]*/)[^/]{16,}")
"""Actions are shorter than secrets."""
PREFIXES = ("/c/ex/", "/handlers/external/")
METHODS = ("GET", "POST")
FORM_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 50
SCOPE_LENGTH = 24
RECEIVE, STOPPED = ("receive", "received"), "stopped"


class Gateway:
    """ASGI layer for the calls of gateways; everything else goes inside."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(PREFIXES):
            await self.app(scope, receive, send)
            return
        found = ADDRESS.match(scope["path"]) or OLD_ADDRESS.match(scope["path"])
        refused = wrong_method(scope, METHODS)
        if refused is not None or found is None:
            await (refused or detail_response(404, "There is nothing at this address.")).send(send)
            return
        service = context_of(scope).service
        secret = found["secret"] or bearer_in((header(scope, b"authorization") or b"").decode("latin-1"))
        try:
            page = await anyio.to_thread.run_sync(refuse, service, found["uuid"], secret, limiter=service.limiter)
            if page is None:
                callback = Callback(found["uuid"], secret, found["action"], await read_values(Request(scope, receive)))
                page = await anyio.to_thread.run_sync(answer, service, callback, limiter=service.write_limiter)
        except Refused as error:
            page = detail_response(400, str(error))
        except DatabaseError as error:
            page = detail_response(*explain_database(error))
        await page.send(send)


@dataclass(frozen=True, slots=True)
class Callback:
    """A call of a gateway: what it reports, and the secret it brings."""

    channel_uuid: str
    secret: str | None
    action: str
    values: Mapping[str, str]


def bearer_in(authorization: str) -> str | None:
    """The secret of an Authorization header `Bearer <secret>`."""
    scheme, _, secret = authorization.strip().partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def refuse(service: Service, channel_uuid: str, secret: str | None) -> PlainResponse | None:
    """What a call is answered that may not be made, before its body is read; None for others. Raises Refused.

    Callbacks without the secret do not count towards the limit: they must not shut the gateway out.
    """
    try:
        with service.database.reading() as tx:
            gateway = find_gateway(tx, channel_uuid, secret)
    except WrongSecret as error:
        return _ask_for_secret(error)
    allowance = service.callback_limiter.spend(gateway.workspace_id, f"callback{gateway.id}"[:SCOPE_LENGTH])
    if allowance.is_granted:
        return None
    seconds = str(allowance.reset_seconds)
    return detail_response(429, f"Too many calls; try again in {seconds} seconds.", {"Retry-After": seconds})


def answer(service: Service, callback: Callback) -> PlainResponse:
    """Carries a callback out; runs in a database thread. Raises Refused."""
    try:
        return json_response({"detail": service.database.write(partial(carry_out, callback))})
    except WrongSecret as error:  # it was changed in the meantime
        return _ask_for_secret(error)


def _ask_for_secret(error: WrongSecret) -> PlainResponse:
    return detail_response(401, str(error), {"WWW-Authenticate": "Bearer"})


async def read_values(request: Request) -> dict[str, str]:
    """The parameters of the query and of a form; the form's win. Raises Refused for a body that is not a form."""
    try:
        if request.headers.get("Content-Type", "").lower().startswith(FORM_TYPE):
            # Starlette takes letters beyond ASCII that are not escaped for Latin 1; gateways mean UTF-8.
            text = (await request.body()).decode("utf-8", "replace")
            fields = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
        else:
            form = await request.form(max_files=0, max_fields=MOST_FIELDS)
            fields = [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    except (MultiPartException, ValueError) as error:
        raise Refused("The request body is not a valid form.") from error
    return dict([*request.query_params.multi_items(), *fields])


def carry_out(callback: Callback, tx: Transaction) -> str:
    """Do what the gateway reports; what to answer. Raises Refused, WrongSecret."""
    gateway = find_gateway(tx, callback.channel_uuid, callback.secret)
    action, values = callback.action, callback.values
    config = gateway.config or {}
    if action in RECEIVE:
        sender = first(values, config.get("mo_from_field"), "from", "sender")
        text = first(values, config.get("mo_text_field"), "text", "message")
        if not sender:
            raise Refused("The parameter from is needed.")
        moment = read_moment(first(values, config.get("mo_date_field"), "date", "time"))
        message_id = receive_message(tx, gateway, GatewayMessage(sender, text, moment))
        return "The message was dropped: its sender is blocked." if message_id is None else f"Message {message_id}"
    if action in FATES:
        number = values.get("id", "")
        if not (number.isascii() and number.isdecimal() and len(number) <= 10):
            raise Refused("The parameter id is needed; it is the number of a message.")
        note_fate(tx, gateway, action, int(number), read_moment(first(values, None, "date", "time")))
        return f"Message {number} is {action}."
    if action == STOPPED:
        stop_contact(tx, gateway, first(values, config.get("mo_from_field"), "from", "sender"))
        return "The contact is stopped."
    raise Refused("There is no such action.")


def hide_secret(path: str) -> str:
    """A path as it may be logged: without what stands where a gateway's secret does."""
    return SECRET_PLACE.sub(r"\1***", path)


def first(values: Mapping[str, str], configured: str | None, *names: str) -> str:
    """The first given parameter; a configured name replaces the usual ones."""
    wanted = (configured,) if configured else names
    return next((values[name] for name in wanted if values.get(name)), "")


def read_moment(text: str) -> datetime | None:
    """An RFC 3339 time; None for an empty text. Raises Refused."""
    if not text:
        return None
    try:
        written = text.upper()
        moment = datetime.fromisoformat(written.replace(" ", "+") if " " in written and "T" in written else written)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Refused("The date is not an RFC 3339 time.") from error
