"""Small responses of the service outside the API: documents, pages, health. Plain ASGI messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson
from starlette.types import Receive, Scope, Send

JSON_TYPE = "application/json"
CODED_PREFIX = "/api/v2/"
CODE, SEVERAL = "code", "non_field_errors"
CODES = {
    400: "invalid",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}
"""The words of statuses; errors that are more special have others. openapi/shared/schemas.yaml lists all."""
WITHOUT_LENGTH = (204, 304)
"""What these statuses say has no body (RFC 9110, 8.6)."""


@dataclass(frozen=True, slots=True)
class PlainResponse:
    """A whole response: body, media type, status, further headers, and the cookies that it sets."""

    body: bytes
    media_type: str = JSON_TYPE
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await self.send(send)

    async def send(self, send: Send) -> None:
        headers = dict(self.headers) if self.status in WITHOUT_LENGTH else self._with_length()
        if self.media_type:
            headers["content-type"] = self.media_type
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        pairs += [(b"set-cookie", each.encode("latin-1")) for each in self.cookies]
        await send({"type": "http.response.start", "status": self.status, "headers": pairs})
        await send({"type": "http.response.body", "body": self.body})

    def _with_length(self) -> dict[str, str]:
        return {"content-length": str(len(self.body)), **self.headers}


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> PlainResponse:
    return PlainResponse(orjson.dumps(value), JSON_TYPE, status, headers or {})


def detail_response(status: int, text: str, headers: Mapping[str, str] | None = None, path: str = "") -> PlainResponse:
    """An error of the detail family; `path` is that of a request for the API."""
    return json_response(with_code(path, status, {"detail": text}), status, headers)


def with_code(path: str, status: int, body: Mapping[str, object], code: str = "") -> Mapping[str, object]:
    """The body of an error with its word for programs, in generation 2. Problems with a field that is called `code`
    stand among those of several fields.
    """
    if status not in CODES or not path.startswith(CODED_PREFIX):
        return body
    others = dict(body)
    problem = others.pop(CODE, None)
    if problem is not None:
        several = others.get(SEVERAL, [])
        own = problem if isinstance(problem, list) else [str(problem)]
        others[SEVERAL] = [*(several if isinstance(several, list) else []), *own]
    return {**others, CODE: code or CODES[status]}


def wrong_method(scope: Scope, methods: Sequence[str] = ("GET", "HEAD")) -> PlainResponse | None:
    """The 405 for a method that a page does not have (most can only be read); None if it has the method."""
    if scope["method"] in methods:
        return None
    return detail_response(405, "This method is not available here.", {"Allow": ", ".join(methods)})


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first value of a request header, by its lower-case name."""
    for key, value in scope["headers"]:
        if key.lower() == name:
            found: bytes = value
            return found
    return None
