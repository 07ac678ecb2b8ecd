"""Errors as responses: the only place where rule violations and failures become status codes and bodies."""

import logging
import math
from collections.abc import Mapping
from datetime import datetime

import anyio.to_thread
import orjson
from connexion.exceptions import ProblemException
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from starlette.exceptions import HTTPException

from handlers.asgi.plain_responses import RETRY_AFTER_SECONDS, UNAVAILABLE, ClientGone, Refusal, with_code
from handlers.contract.operations import load_contract, matches
from handlers.request import context_of
from openapi.bundle import GENERATIONS
from persistence.accounts.signing_in import CodeMissing, TooManyAttempts
from persistence.errors import (
    ChangedSince,
    Clash,
    DatabaseError,
    InvalidInput,
    LimitReached,
    LostRace,
    NotAllowed,
    RecordMissing,
    Refused,
    RuleBroken,
    SystemRecord,
    fault_of,
    is_temporary,
    names_unknown,
    took_too_long,
)
from persistence.media.store import StoreUnavailable
from persistence.migrations import MigrationError, check_schema

logger = logging.getLogger("relayboard.api")

JSON_TYPE = "application/json"
CODE_MISSING = "second_factor_required"
LASTING_SECONDS = "30"
"""When to try again what waits for an operator."""
STATUS = {
    Refused: 400,
    SystemRecord: 403,
    NotAllowed: 403,
    RecordMissing: 404,
    LimitReached: 409,
    Clash: 409,
    ChangedSince: 412,
}
TEXTS = {
    401: "Send an API token in the header: Authorization: Token ...",
    403: "This API token is not valid.",
    404: "There is nothing at this URL.",
    405: "This method is not available here.",
    415: "Send JSON.",
}


class TooManyRequests(Exception):
    """The workspace has used its rate limit; `retry_after_seconds` says when it may send the next request."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


def detail(
    request: ConnexionRequest, status: int, text: str, headers: Mapping[str, str] | None = None, code: str = ""
) -> ConnexionResponse:
    """An answer of the detail family."""
    return _json(request, status, {"detail": text}, headers, code)


def _json(
    request: ConnexionRequest,
    status: int,
    value: Mapping[str, object],
    headers: Mapping[str, str] | None = None,
    code: str = "",
) -> ConnexionResponse:
    body = orjson.dumps(with_code(request.scope["path"], status, value, code))
    return ConnexionResponse(status, mimetype=JSON_TYPE, content_type=JSON_TYPE, body=body, headers=dict(headers or {}))


async def answer_rule(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    """A violated rule: 400 keyed by field for invalid input, a detail for everything else."""
    code = error.code if isinstance(error, RuleBroken) else ""
    if isinstance(error, InvalidInput):
        return _json(request, 400, error.errors, limits_of(request), code)
    if isinstance(error, CodeMissing):
        return detail(request, 403, str(error), limits_of(request), CODE_MISSING)
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
    return detail(request, status, str(error), limits_of(request), code)


async def answer_refusal(request: ConnexionRequest, error: Refusal) -> ConnexionResponse:
    """A body that is not accepted: too large, too slow, not JSON."""
    return detail(request, error.status, error.text, {**limits_of(request), **error.headers})


async def answer_gone(request: ConnexionRequest, error: ClientGone) -> ConnexionResponse:
    """A placeholder: the guard sends nothing to a client that disconnected."""
    return detail(request, 400, "The client disconnected.")


async def answer_lost_race(request: ConnexionRequest, error: LostRace) -> ConnexionResponse:
    """Other transactions won every attempt."""
    text = "Too many requests change this at the same time; try again."
    return detail(request, 503, text, {**limits_of(request), "Retry-After": "1"})


async def answer_too_many(request: ConnexionRequest, error: TooManyRequests) -> ConnexionResponse:
    seconds = error.retry_after_seconds
    text = f"Too many requests; try again in {seconds} seconds."
    return detail(request, 429, text, {**limits_of(request), "Retry-After": str(seconds)})


async def answer_too_many_attempts(request: ConnexionRequest, error: TooManyAttempts) -> ConnexionResponse:
    """Somebody tried too often to sign in, or to prove a password or code."""
    attempts, now = error.attempts, context_of(request.scope).service.database.clock()
    return await answer_too_many(request, TooManyRequests(seconds_until(attempts.ends_on, now)))


def seconds_until(end: datetime, now: datetime) -> int:
    """Whole seconds, at least 1."""
    return max(1, math.ceil((end - now).total_seconds()))


async def answer_http(request: ConnexionRequest, error: ProblemException | HTTPException) -> ConnexionResponse:
    """Errors of the framework: unknown path, wrong method, missing or refused credentials, media type."""
    status = int(getattr(error, "status", None) or error.status_code)
    headers = limits_of(request)
    if status == 401 and context_of(request.scope).caller is not None:
        return detail(request, 401, "This is not the token of a visitor.", {"WWW-Authenticate": "Bearer"})
    if status == 401:
        headers["WWW-Authenticate"] = "Token"
    if status == 405:
        headers["Allow"] = allowed_methods(request.scope["path"])
    if status >= 500:
        logger.error("the framework failed: %s", error)
        return detail(request, 500, "Internal server error.")
    return detail(
        request,
        status,
        TEXTS.get(status) or str(getattr(error, "detail", f"The request cannot be answered ({status}).")),
        headers,
    )


async def answer_database(request: ConnexionRequest, error: DatabaseError) -> ConnexionResponse:
    status, text, headers = explain_database(error)
    # A phone or a gateway cannot ask for less: it comes again soon.
    if took_too_long(error) and (request.method == "GET" or request.url.path.startswith("/api/")):
        text, headers = "This request takes the database too long; ask for less at a time.", {"Retry-After": "60"}
    if status == 500 and names_unknown(error):
        try:
            await anyio.to_thread.run_sync(check_schema, context_of(request.scope).service.database.engine)
        except MigrationError:
            text = "The schema of the database is not the one that this version works with."
            return detail(request, 503, text, {"Retry-After": LASTING_SECONDS})
    return detail(request, status, text, headers)


def explain_database(error: DatabaseError) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers: 503 for temporary problems; every other database error is our fault: 500."""
    fault = fault_of(error)
    if fault is not None:  # one line for each request: it may last for hours
        logger.error("the database cannot be used: %s", fault.sentence)
        return 503, f"{fault.sentence[0].upper()}{fault.sentence[1:]}.", {"Retry-After": LASTING_SECONDS}
    logger.error("the database failed: %s", type(error).__name__, exc_info=error)
    if is_temporary(error):
        return 503, "The service is overloaded or its database is not available; try again.", {"Retry-After": "1"}
    return 500, "Internal server error.", {}


async def answer_store(request: ConnexionRequest, error: StoreUnavailable) -> ConnexionResponse:
    """The server that keeps uploaded files does not answer."""
    logger.error("the file store failed: %s", error)
    return detail(request, 503, UNAVAILABLE, {**limits_of(request), "Retry-After": RETRY_AFTER_SECONDS})


async def answer_unexpected(request: ConnexionRequest, error: Exception) -> ConnexionResponse:
    logger.error("unexpected failure", exc_info=error)
    return detail(request, 500, "Internal server error.")


def allowed_methods(path: str) -> str:
    """The methods of a path for the Allow header; HEAD is allowed wherever GET is."""
    methods = set()
    for generation in GENERATIONS:
        rules = load_contract(generation).values()
        methods |= {rule.method.upper() for rule in rules if matches(rule.path, path)}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def limits_of(request: ConnexionRequest) -> dict[str, str]:
    """The rate-limit headers of every response to an authorized request."""
    return dict(context_of(request.scope).rate_limits)
