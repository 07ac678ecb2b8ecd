"""What the layers of the service know about one request, from the outermost layer to the handler."""

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
    """Stored in the ASGI scope of each request. A field without a default is set once its layer has run. `closing` runs
    clean-up functions of the layers at the end. `declared_type` is the media type that the client declared. `raw_body`
    is the body once it has been read, `json` its parsed content. `rate_limits` are headers of every response to an
    authorized request. An upload that `is_needed` is kept after the request.
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
        """Delete the upload with this UUID at the end of the request, unless a row needs it. The row may also exist if
        the connection broke during the commit. The worker's trimming later gives a needed file its final name.
        """
        if not self.upload_is_needed:
            self.service.media_store.discard(uuid)


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    context: RequestContext = scope[KEY]
    return context
