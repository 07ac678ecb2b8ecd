"""Validators with compiled schemas that replace Connexion's (by its documented `validator_map`)."""

import re
from typing import Any

import anyio.to_thread
from starlette.types import Receive, Scope

from handlers.asgi.plain_responses import Refusal
from handlers.asgi.request_body import check_form_type, check_json_type, replay
from handlers.asgi.strict_json import StrictJsonError, parse_strict
from handlers.asgi.uploads import in_threads, receive_upload
from handlers.auth import rules_of
from handlers.contract.operations import FIELDS
from handlers.contract.schemas import check_known, check_lookups, check_members, read_query
from handlers.request import context_of
from persistence.errors import InvalidInput
from persistence.sql.columns import new_uuid

STRICT = re.compile(rb"(?:^|,)\s*handling\s*=\s*\"?strict\"?\s*(?=[,;]|$)", re.IGNORECASE)
"""In the header Prefer."""
DEEPEST = 4
"""Levels of keys in a 400."""
MOST_VALUES = 1_000_000
"""In a body: empty lists take fifty times their size in memory."""
LONG_BODY_BYTES = 262_144
"""Longer ones are parsed in a thread: the event loop would keep everybody waiting."""


class QueryValidator:
    """Reads and checks the query parameters; the handler gets only these values."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        return None

    def validate(self, scope: Scope) -> None:
        rules = rules_of(scope)
        if rules.generation == "relay":
            return  # requests of phones are read leniently, by their handlers
        if is_strict(scope):
            check_known(scope["query_string"], rules.parameters)
        values = read_query(scope["query_string"], rules.parameters)
        check_lookups(values, rules.parameters, needed=rules.lookup_is_needed)
        if rules.members and FIELDS in values:
            check_members(values[FIELDS], rules.members)
        context_of(scope).query = values


class JsonBodyValidator:
    """Reads and checks the body; strings are trimmed first, except in fields with the client's own data."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        context, rules = context_of(scope), rules_of(scope)
        if rules.generation == "relay":
            return receive, scope  # requests of phones are read leniently, by their handlers
        receive = await read_json(scope)
        schema = rules.strict_body if is_strict(scope) else rules.body
        given = context.json
        if not isinstance(given, dict):
            raise InvalidInput.across("The request body must be a JSON object.")
        body = {name: value if name in rules.verbatim_fields else trim(value) for name, value in given.items()}
        if schema is not None and not schema.accepts(body):
            raise InvalidInput(*schema.examine(body))
        context.json = body
        return receive, scope


class UploadValidator:
    """Writes the file of a multipart body into the media store; it is deleted after the request unless a handler
    keeps it."""

    def __init__(self, **_options: Any) -> None:
        return None

    async def wrap_receive(self, receive: Receive, *, scope: Scope) -> tuple[Receive, Scope]:
        context = context_of(scope)
        form_type = check_form_type(context.declared_type)
        service = context.service
        context.closing.enter_context(service.uploads.take(context.workspace_id, is_visitor=context.caller is not None))
        uuid = new_uuid()
        context.closing.push_async_callback(context.discard_upload, uuid)
        async with in_threads(service.media_store.receiving(uuid)) as file:
            context.upload = await receive_upload(context.body, form_type, file, uuid)
        # Connexion would read the form too if it got it.
        headers = [pair for pair in scope["headers"] if pair[0].lower() != b"content-type"]
        return replay(b"", receive), {**scope, "headers": headers}


def is_strict(scope: Scope) -> bool:
    """Whether the client wants to hear of parameters and body fields that the service does not know, instead of having
    them ignored (RFC 7240, 4.4). Requests of generation 1 are read as they always were.
    """
    given = [value for name, value in scope["headers"] if name == b"prefer"]
    return bool(given) and rules_of(scope).generation == "v2" and STRICT.search(b",".join(given)) is not None


async def read_json(scope: Scope) -> Receive:
    """Store `raw_body` and `json` ({} for no body) in the request's context; returns the receive callable for later
    layers. Raises Refusal (400, 413, 415, 503) or ClientGone.
    """
    context = context_of(scope)
    raw = await context.body.read()
    check_json_type(context.declared_type, has_body=bool(raw))
    if len(raw) > MOST_VALUES and sum(map(raw.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise Refusal(413, f"The request body has more than {MOST_VALUES:,} values.")
    try:
        is_long = len(raw) > LONG_BODY_BYTES
        context.json = await anyio.to_thread.run_sync(parse_strict, raw) if is_long else parse_strict(raw)
    except StrictJsonError as error:
        if not error.path:
            raise Refusal(400, str(error)) from error
        problem: object = [str(error)]
        for step in reversed(error.path[:DEEPEST]):
            problem = {step: problem}
        assert isinstance(problem, dict)
        raise InvalidInput(problem, "wrong_form") from error
    context.raw_body = raw
    return replay(raw, context.body.receive)


def trim(value: object) -> Any:
    """The value with white space removed from both ends of every string in it."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return [trim(item) for item in value]
    if isinstance(value, dict):
        return {key: trim(item) for key, item in value.items()}
    return value


VALIDATORS = {
    "parameter": QueryValidator,
    "body": {"application/json": JsonBodyValidator, "multipart/form-data": UploadValidator},
}
