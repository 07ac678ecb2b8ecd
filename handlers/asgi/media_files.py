"""Uploaded files, for the phones, gateways and people that receive messages with attachments. Everybody who knows a URL
may read the file, because those receivers have no token; the random UUID in the URL cannot be guessed.
"""

import mimetypes
import re
from pathlib import Path

import anyio.to_thread
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import detail_response, wrong_method
from persistence.media.store import MediaStore
from relayboard.base.settings import Settings

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NAME = re.compile(rf"/media/({UUID}/{UUID}(?:\.[a-z0-9]{{1,8}})?)\Z")
SHOWN_TYPES = re.compile(r"(?:image/(?!svg)|audio/|video/|application/pdf\Z)")
UNKNOWN_TYPE = "application/octet-stream"
HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


class MediaFiles:
    """ASGI layer that serves `/media/<workspace uuid>/<media uuid>.<extension>`; passes on other requests."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.store = MediaStore(settings.media_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/media/"):
            await self.app(scope, receive, send)
            return
        refused = wrong_method(scope)
        if refused is not None:
            await refused.send(send)
            return
        path = await anyio.to_thread.run_sync(self._find, scope["path"])
        if path is None:
            await detail_response(404, "There is nothing at this URL.").send(send)
            return
        await FileResponse(path, media_type=media_type_of(path), headers=HEADERS)(scope, receive, send)

    def _find(self, path: str) -> Path | None:
        """The stored file of a URL; the pattern of the URL ensures that the path stays inside the store."""
        found = NAME.match(path)
        return self.store.open_path(found.group(1)) if found is not None else None


def media_type_of(path: Path) -> str:
    """The media type of a stored file by its extension; never a type that a browser would execute."""
    guessed, _ = mimetypes.guess_type(path.name)
    return guessed if guessed is not None and SHOWN_TYPES.match(guessed) else UNKNOWN_TYPE
