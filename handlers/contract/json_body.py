"""The JSON body of an API call, read once the caller is known."""

from collections.abc import MutableMapping
from typing import Any

from handlers.asgi.refusals import Refusal
from handlers.asgi.request_body import Body, replay
from handlers.asgi.request_checks import check_json_type
from handlers.asgi.strict_json import StrictJsonError, parse_strict


async def read_json(scope: MutableMapping[str, Any]) -> Any:
    """Leave `raw_body` and `body` (parsed; {} for none) in the request's state; the receive callable for later layers.

    Raises Refusal (400, 413, 415, 503) or ClientGone.
    """
    state = scope["relayboard"]
    source: Body = state["request_body"]
    raw = await source.read()
    check_json_type(state["content_type"], has_body=bool(raw))
    try:
        state["body"] = parse_strict(raw)
    except StrictJsonError as error:
        raise Refusal(400, str(error)) from error
    state["raw_body"] = raw
    return replay(raw, source.receive)
