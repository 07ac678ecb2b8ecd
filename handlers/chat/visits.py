"""How a chat on a site looks, and the visits that begin in it (`openapi/chat/`)."""

import hashlib

from channels.chats import colour_of
from handlers.answers import Answer, as_json
from handlers.asgi.plain_responses import Refusal
from handlers.request import ChatRequest
from persistence.channels.visitors import begin_visit as begin_in_database
from persistence.tokens import take_allowance


def read_chat(request: ChatRequest) -> Answer:
    config = request.chat.config
    return as_json(
        200,
        {
            "title": config.get("title") or request.chat.name,
            "greeting": config.get("greeting") or "",
            "colour": colour_of(config),
            "asks_name": bool(config.get("asks_name")),
            "asks_email": bool(config.get("asks_email")),
            "takes_files": bool(config.get("takes_files")),
        },
    )


def begin_visit(request: ChatRequest) -> Answer:
    spend(request, scope_of_address(request, "visits"))
    code, token = begin_in_database(
        request.tx, request.chat, request.body.get("name", ""), request.body.get("email", "")
    )
    return as_json(201, {"visitor": code, "token": f"{code}.{token}"})


def spend(request: ChatRequest, scope: str, factor: int = 1) -> None:
    """Counts a message or a visit. Raises Refusal: 429."""
    limit, workspace_id = request.settings.visitor_limit, request.chat.source.workspace_id
    granted, _, ends_on = take_allowance(
        request.tx, workspace_id, scope, limit=factor * limit.requests, period=limit.period, wanted=1
    )
    if not granted:
        seconds = int((ends_on - request.tx.now).total_seconds()) + 1
        raise Refusal(429, "Too many messages; try again later.", {"Retry-After": str(seconds)})


def scope_of_address(request: ChatRequest, what: str) -> str:
    """The window in which an address counts for a chat; of the address there is only a hash."""
    told = f"{what} {request.chat.source.id} {request.address}"
    return what[0] + hashlib.sha256(told.encode()).hexdigest()[:22]
