"""The JSON body of an API call, read once the caller is known."""

from collections.abc import MutableMapping
from typing import Any

from handlers.asgi.refusals import Refusal
from handlers.asgi.request_body import replay
from handlers.asgi.request_checks import check_json_type
from handlers.asgi.strict_json import StrictJsonError, parse_strict
from handlers.context import context_of


async def read_json(scope: MutableMapping[str, Any]) -> Any:
    """Leave `raw_body` and `json` ({} for no body) in the request's context; the receive callable for later layers.

    Raises Refusal (400, 413, 415, 503) or ClientGone.
    """
    context = context_of(scope)
    raw = await context.body.read()
    check_json_type(context.declared_type, has_body=bool(raw))
    try:
        context.json = parse_strict(raw)
    except StrictJsonError as error:
        raise Refusal(400, str(error)) from error
    context.raw_body = raw
    return replay(raw, context.body.receive)
