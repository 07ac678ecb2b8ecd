"""Errors as answers: the one place where rule violations and failures become status codes and bodies."""

import logging
from collections.abc import Mapping
from typing import Any

import orjson
from connexion.exceptions import ProblemException
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handlers.contract import load_contract
from persistence.errors import Clash, InvalidInput, LimitReached, NotAllowed, RecordMissing, Refused, SystemRecord

logger = logging.getLogger("relayboard.api")

STATUS = {Refused: 400, SystemRecord: 403, NotAllowed: 403, RecordMissing: 404, LimitReached: 409, Clash: 409}
TEXTS = {
    401: "An API token is required.",
    403: "This API token is not valid.",
    404: "There is nothing at this address.",
    405: "This method is not available here.",
    415: "Send JSON.",
}


class TooManyRequests(Exception):
    """The allowance of the workspace is spent; `retry_after_seconds` says when there is more."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


def detail(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of the detail family."""
    return Response(orjson.dumps({"detail": text}), status, headers, media_type="application/json")


def answer_rule(_request: Any, error: Exception) -> Response:
    """A broken rule: 400 keyed by field for invalid input, a detail for everything else."""
    if isinstance(error, InvalidInput):
        return Response(orjson.dumps(error.errors), 400, media_type="application/json")
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
    return detail(status, str(error))


def answer_too_many(_request: Any, error: TooManyRequests) -> Response:
    seconds = error.retry_after_seconds
    text = f"Too many requests; try again in {seconds} seconds."
    return detail(429, text, {"Retry-After": str(seconds)})


def answer_http(request: Any, error: ProblemException | HTTPException) -> Response:
    """Errors of the framework: unknown path, wrong method, missing or refused credentials, media type."""
    status = int(getattr(error, "status", None) or error.status_code)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Token"
    if status == 405:
        headers["Allow"] = allowed_methods(_scope_of(request).get("path", ""))
    if status >= 500:
        logger.error("the framework failed: %s", error)
        return detail(500, "Internal server error.")
    return detail(status, TEXTS.get(status) or str(getattr(error, "detail", "This request is not valid.")), headers)


def answer_database(_request: Any, error: SQLAlchemyError) -> Response:
    """The database is away or overloaded: 503; anything else it says is our fault: 500."""
    logger.error("the database failed: %s", type(error).__name__, exc_info=error)
    if isinstance(error, (OperationalError, PoolTimeout)):
        return detail(503, "The service is overloaded or its database is away; try again.", {"Retry-After": "1"})
    return detail(500, "Internal server error.")


def answer_unexpected(_request: Any, error: Exception) -> Response:
    logger.error("unexpected failure", exc_info=error)
    return detail(500, "Internal server error.")


def allowed_methods(path: str) -> str:
    """The methods of a path for the Allow header, HEAD wherever there is GET."""
    methods = set()
    for generation in ("v1", "v2", "relay"):
        rules = load_contract(generation).values()
        methods |= {rule.method.upper() for rule in rules if matches(rule.path, path)}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def matches(template: str, path: str) -> bool:
    """Whether a path is one of a template such as `/relayers/relayer/sync/{relayer_id}/`."""
    wanted, given = template.split("/"), path.split("/")
    return len(wanted) == len(given) and all(
        part == other or part.startswith("{") for part, other in zip(wanted, given, strict=True)
    )


def _scope_of(request: Any) -> Mapping[str, Any]:
    scope: Mapping[str, Any] = request.scope if isinstance(request, Request) else getattr(request, "scope", {})
    return scope
