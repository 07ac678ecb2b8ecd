"""Downloads of archives, at signed URLs that are valid for a day."""

import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs

import anyio.to_thread
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import detail_response, wrong_method
from persistence.media.store import MediaStore
from relayboard.base.settings import Settings

VALID_FOR = timedelta(hours=24)
NAME = re.compile(r"/media/(archives/[0-9a-f\-]{36}/[0-9a-z\-]+\.jsonl\.gz)\Z")
HEADERS = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}


def link_to_archive(root: str, secret_key: str, location: str, now: datetime) -> str:
    """The signed URL of an archive in the media store, valid for VALID_FOR."""
    expires = int((now + VALID_FOR).timestamp())
    return f"{root}/media/{location}?expires={expires}&sig={_sign(secret_key, location, expires)}"


def _sign(secret_key: str, location: str, expires: int) -> str:
    return hmac.new(secret_key.encode(), f"archive\n{location}\n{expires}".encode(), hashlib.sha256).hexdigest()


class ArchiveFiles:
    """ASGI layer that serves `/media/archives/...` to everybody with a signed URL; other requests go to the inner
    layer."""

    def __init__(
        self, app: ASGIApp, settings: Settings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.app = app
        self.secret_keys = (settings.secret_key, *settings.secret_key_fallbacks)
        self.store = MediaStore(settings.media_url)
        self.clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/media/archives/"):
            await self.app(scope, receive, send)
            return
        refused = wrong_method(scope)
        if refused is not None:
            await refused.send(send)
            return
        path = await anyio.to_thread.run_sync(self._find, scope["path"], scope["query_string"])
        if path is None:
            await detail_response(404, "There is nothing at this URL, or it is no longer valid.").send(send)
            return
        await FileResponse(path, media_type="application/gzip", headers=HEADERS)(scope, receive, send)

    def _find(self, path: str, query_string: bytes) -> Path | None:
        found = NAME.match(path)
        query = parse_qs(query_string.decode("latin-1"))
        expires, signature = query.get("expires", [""])[0], query.get("sig", [""])[0]
        if found is None or not re.fullmatch(r"[0-9]{1,12}", expires) or int(expires) < self.clock().timestamp():
            return None
        wanted = [_sign(key, found.group(1), int(expires)) for key in self.secret_keys]
        is_ours = any(hmac.compare_digest(each.encode(), signature.encode()) for each in wanted)
        return self.store.open_path(found.group(1)) if is_ours else None
