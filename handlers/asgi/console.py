"""Serves the console: static files, compressed once, under a path that changes with their content; and takes requests
of the API past the layers of pages.
"""

import gzip
import hashlib
import posixpath
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from handlers.asgi.plain_responses import LEAST_BYTES, PlainResponse, accepts_gzip, header, wrong_method

FOLDER = Path(__file__).parents[2] / "console"
PREFIX = "/console/"
PAGE = "index.html"
FIRST = ("main.js", "inbox/page.js")
IMPORT = re.compile(r'\b(?:from|import)\s*"(\.[^"]+)"')
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE = {"X-Content-Type-Options": "nosniff"}
PAGE_HEADERS = {
    **SAFE,
    "Cache-Control": "no-cache",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
IMMUTABLE = "public, max-age=31536000, immutable"
TAG_LENGTH = 32
LEVEL = 9


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent, also compressed if that makes it smaller."""

    plain: PlainResponse
    compressed: PlainResponse | None


@cache
def contents() -> dict[str, bytes]:
    """The files that browsers load, by path. No other file of the folder is served."""
    return {name: path.read_bytes() for name, path in sorted(_served(FOLDER))}


def _served(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.suffix in TYPES and path.name != "manifest.json":
            yield path.relative_to(folder).as_posix(), path


class Console:
    """ASGI layer: the page at `/`, and its files at `/console/VERSION/PATH`. VERSION is a hash of all files, so caches
    keep them for good, and modules that belong together are loaded together. For another version the present files are
    sent, and not kept: an older page may ask a newer node. Other requests go to the inner layer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._files: dict[str, File] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or (path != "/" and not path.startswith(PREFIX)):
            await self.app(scope, receive, send)
            return
        version, _, name = path.removeprefix(PREFIX).partition("/")
        if path != "/" and name not in contents():
            await self.app(scope, receive, send)
            return
        page = wrong_method(scope) or await self._answer(scope, name if path != "/" else PAGE, version)
        await page.send(send)

    async def _answer(self, scope: Scope, name: str, version: str) -> PlainResponse:
        if name not in self._files:
            self._files[name] = await anyio.to_thread.run_sync(_page if name == PAGE else _file, name)
        file = self._files[name]
        wanted = (header(scope, b"accept-encoding") or b"").decode("latin-1")
        found = file.compressed if file.compressed and accepts_gzip(wanted) else file.plain
        if name != PAGE and version != tree_version():
            return replace(found, headers={**found.headers, "Cache-Control": "no-cache"})
        known = (header(scope, b"if-none-match") or b"").decode("latin-1")
        if name == PAGE and found.headers["ETag"] in {tag.strip().removeprefix("W/") for tag in known.split(",")}:
            return PlainResponse(b"", "", 304, found.headers)
        return found


@cache
def tree_version() -> str:
    """The hash of all files and their paths."""
    digest = hashlib.sha256()
    for name, body in contents().items():
        digest.update(f"{name}\0{len(body)}\0".encode())
        digest.update(body)
    return digest.hexdigest()[:TAG_LENGTH]


def imported(*names: str) -> list[str]:
    """These modules and all that they import, directly or not; not what they load later, nor the declarations of types
    that their comments import. A browser that knows them asks for all at once, not for one after the other.
    """
    found = list(names)
    for name in found:
        for path in IMPORT.findall(contents()[name].decode()):
            module = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            if module not in found and module in contents():
                found.append(module)
    return found


class Bypass:
    """ASGI layer that passes requests for these paths to `api` and all others to `pages`, which is made of many layers
    that each look at the path.
    """

    def __init__(self, api: ASGIApp, pages: ASGIApp, paths: Collection[str]) -> None:
        self._api, self._pages, self._paths = api, pages, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_known = scope["type"] == "http" and scope["path"] in self._paths
        await (self._api if is_known else self._pages)(scope, receive, send)


def _file(name: str) -> File:
    return packed(contents()[name], TYPES[Path(name).suffix], {**SAFE, "Cache-Control": IMMUTABLE})


def _page(name: str) -> File:
    text = (FOLDER / name).read_text(encoding="utf-8")
    modules = "\n".join(f'<link rel="modulepreload" href="{{files}}/{each}">' for each in imported(*FIRST))
    text = text.replace("{modules}", modules)
    body = text.replace("{files}", f"{PREFIX.removeprefix('/')}{tree_version()}").encode()
    return packed(body, "text/html; charset=utf-8", PAGE_HEADERS)


def packed(body: bytes, media_type: str, headers: dict[str, str]) -> File:
    """A file of this content, with its tag."""
    common = {**headers, "Vary": "Accept-Encoding", "ETag": f'"{hashlib.sha256(body).hexdigest()[:TAG_LENGTH]}"'}
    plain = PlainResponse(body, media_type, headers=common)
    smaller = gzip.compress(body, LEVEL, mtime=0)
    if len(body) < LEAST_BYTES or len(smaller) >= len(body):
        return File(plain, None)
    return File(plain, PlainResponse(smaller, media_type, headers={**common, "Content-Encoding": "gzip"}))
