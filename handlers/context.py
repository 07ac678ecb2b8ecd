"""What the layers of the service learn of one request, from the outermost to the handler."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from handlers.asgi.request_body import Body
from handlers.request import Upload
from handlers.service import Service
from persistence.tokens import Credentials

KEY = "relayboard"


@dataclass(slots=True)
class RequestContext:
    """Stands in the ASGI scope of each request. A field without a default is there once its layer has run.

    `closing` undoes at the end what layers have begun. `declared_type` is the media type that the client named.
    `raw_body` is the body once it has been read, `json` what a client of the API said in it. `rate_limits` are headers
    of every answer to an authorized request. An upload that `is_needed` outlives the request.
    """

    request_id: str
    body: Body
    closing: ExitStack
    service: Service = field(init=False, repr=False)
    declared_type: bytes | None = None
    raw_body: bytes | None = None
    credentials: Credentials = field(init=False, repr=False)
    rate_limits: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    json: Any = field(default_factory=dict)
    upload: Upload | None = None
    upload_is_needed: bool = False

    def discard_upload(self, uuid: str) -> None:
        """Delete what was received under this uuid when the request is over, unless a row needs it.

        There may be a row too when the connection broke in the commit. What is needed and still there, the worker's
        trimming moves to its place.
        """
        if not self.upload_is_needed:
            self.service.media_store.discard(uuid)


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    context: RequestContext = scope[KEY]
    return context
