"""The other server over HTTP: pages of its lists, with its limits honoured and its failures waited out."""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO
from urllib.parse import SplitResult, urlencode, urlsplit

import orjson
import requests

from relayboard.base.certificates import explain_tls
from relayboard.base.version import program_version
from relayboard.refusal import CommandFailed

CONNECT_SECONDS, READ_SECONDS = 15, 180
ATTEMPTS = 12
EARLY_ATTEMPTS = 3
"""How often a server is asked that has not answered this command yet: its address may be wrong."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 120.0
UNSAID_PAUSE_SECONDS = 60.0
"""How long to wait after a 429 that does not say how long."""
PIECE_BYTES = 1 << 20
URL_LENGTH = 255
DEFAULT_PORTS = {"http": 80, "https": 443}
WORKSPACES = ("/api/v2/workspace.json", "/api/v2/org.json")
BROKEN = (500, 502, 503, 504, 520, 521, 522, 523, 524)

Answer = tuple[requests.Response, Any]
Wait = Callable[[float], object]
Tell = Callable[[str], object]


class SourceFailed(CommandFailed):
    """The other server does not answer, or refuses; the move can be continued later."""


class NotThere(Exception):
    """The other server does not have this list."""


class ListRefused(Exception):
    """The other server does not let this token read this list."""


class FilterRefused(Exception):
    """The other server cannot limit this list by time."""


class CursorLost(Exception):
    """The other server no longer knows this position in a list."""


class Source:
    """A server with the public API. `wait` and `tell` are called when it asks to wait, or fails for a while."""

    def __init__(self, url: str, token: str, *, wait: Wait | None = None, tell: Tell = lambda _text: None) -> None:
        try:
            parts = urlsplit(url.strip())
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_server = False
        if not is_server or len(url) > URL_LENGTH:
            raise CommandFailed(f"{url[:200]} is not the URL of a server")
        path = parts.path.rstrip("/").removesuffix("/api/v2").removesuffix("/api")
        self.origin = f"{parts.scheme}://{_server_of(parts)}"
        self.url = self.origin + path
        self.requests = 0
        self._has_answered = False
        self.stopped = threading.Event()
        self._wait: Wait = wait or self.stopped.wait
        self._tell = tell
        self._now: datetime | None = None
        self._session = requests.Session()
        self._session.headers["User-Agent"] = f"relayboard-move/{program_version()}"
        self._token = token

    @property
    def now(self) -> datetime:
        """The time by the other server's clock."""
        return self._now or datetime.now(UTC)

    def list_url(self, path: str, **query: Any) -> str:
        """The first page of a list, without the server's name: pages are remembered like this."""
        given = {name: value for name, value in query.items() if value is not None}
        return f"/api/v2/{path}.json" + (f"?{urlencode(given, doseq=True)}" if given else "")

    def read(self, path: str) -> dict[str, Any]:
        """The document at a path. Raises NotThere, ListRefused, FilterRefused, CursorLost, SourceFailed."""
        response, document = self._get(self.url + path)
        if "cursor=" in path and response.status_code in (400, 404):
            raise CursorLost
        if "after=" in path and response.status_code == 400:
            raise FilterRefused
        if response.status_code == 404:
            raise NotThere
        if response.status_code in (401, 403) and not path.startswith(WORKSPACES):
            raise ListRefused
        if response.status_code in (401, 403):
            raise SourceFailed(f"{self.url} does not accept the token: {_sentence(response)}")
        if response.status_code != 200:
            raise SourceFailed(f"{self.url} answers {response.status_code} to {path}: {_sentence(response)}")
        if not isinstance(document, dict):
            raise SourceFailed(f"{self.url} answers {path} with something else than an object")
        return document

    def read_workspace(self) -> dict[str, Any]:
        """The other workspace; old servers call it `org`. Raises SourceFailed, also for a token that is not
        accepted."""
        for path in WORKSPACES:
            try:
                found = self.read(path)
            except NotThere:
                continue
            if isinstance(found.get("name"), str):
                return found
        raise SourceFailed(f"{self.url} has no API of generation 2: look at its address")

    def is_same(self, url: str) -> bool:
        """Whether another address leads to this server: it is written differently, or its name is another one of the
        same machine, port and path. Which workspace answers there is compared before anything is read."""
        other = Source(url, "")
        if other.url == self.url:
            return True
        ours, theirs = urlsplit(self.url), urlsplit(other.url)
        if (ours.scheme, ours.port, ours.path) != (theirs.scheme, theirs.port, theirs.path):
            return False
        return bool(_addresses(ours.hostname or "") & _addresses(theirs.hostname or ""))

    def check_workspace(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The other workspace, which has to be the one that is known already, if one is: another token of the same
        server may be of another one. Raises SourceFailed."""
        there = self.read_workspace()
        was, now = known.get("uuid") or known.get("name"), there.get("uuid") or there.get("name")
        if was and was != now:
            raise SourceFailed(
                f"the token is one of the workspace {there.get('name')!s:.100} ({now}) at {self.url}, and this move is "
                f"from {known.get('name')!s:.100} ({was}): use a token of that one, or create another workspace"
            )
        return there

    def read_page(self, path: str) -> tuple[list[Mapping[str, Any]], str | None]:
        """The records of a page, and the path of the next one. Links may name another host, as behind a proxy: only
        their path and query are used."""
        document = self.read(path)
        results: list[Mapping[str, Any]] = [each for each in document.get("results") or () if isinstance(each, dict)]
        following = document.get("next")
        return results, self._relative(following) if following else None

    def _relative(self, link: str) -> str:
        parts = urlsplit(link)
        base = urlsplit(self.url).path
        path = parts.path.removeprefix(base) if base and parts.path.startswith(base + "/") else parts.path
        return f"{path}?{parts.query}" if parts.query else path

    def download(self, url: str, file: BinaryIO) -> int:
        """Writes a file of the other server; returns its size. Storages of others do not get the token. Raises
        SourceFailed."""
        address = url if urlsplit(url).scheme else self.origin + url
        response, _ = self._get(address, stream=True, is_ours=address.startswith(self.origin + "/"))
        with response:
            if response.status_code != 200:
                raise SourceFailed(f"{urlsplit(address).netloc} answers {response.status_code}")
            size = 0
            # Undecoded: archives are stored packed, and some storages unpack them on the way.
            for piece in response.raw.stream(PIECE_BYTES, decode_content=False):
                size += len(piece)
                file.write(piece)
            return size

    def _get(self, url: str, *, stream: bool = False, is_ours: bool = True) -> Answer:
        """Asks until there is an answer that is not a failure of the moment; with its document, unless it is a stream.
        Raises SourceFailed."""
        pause, problem = FIRST_PAUSE_SECONDS, ""
        attempt, attempts = 0, ATTEMPTS
        while attempt < attempts:
            if self.stopped.is_set():
                raise SourceFailed("the move was stopped")
            try:
                response = self._ask(url, stream=stream, is_ours=is_ours)
                problem, attempts = "", ATTEMPTS
                self._has_answered = True
                if response.status_code == 429:
                    self._pause(_retry_after(response) or UNSAID_PAUSE_SECONDS, "the other server's limit is reached")
                    continue
                if response.status_code not in BROKEN:
                    return response, None if stream or response.status_code != 200 else _parse(response.content)
                problem = f"answers {response.status_code}"
                pause = max(pause, _retry_after(response) or 0.0)
            except (requests.exceptions.RequestException, ValueError) as error:
                problem = _describe(error)
                if not self._has_answered and isinstance(error, requests.exceptions.ConnectionError):
                    attempts = EARLY_ATTEMPTS
            attempt += 1
            if attempt < attempts:
                self._pause(pause, f"the other server {problem}")
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        if not self._has_answered:
            raise SourceFailed(
                f"{self.url} {problem}: look at its address and whether it runs, then run the command again"
            )
        raise SourceFailed(f"{self.url} {problem}, {ATTEMPTS} times in a row; run the command again to go on")

    def _ask(self, url: str, *, stream: bool, is_ours: bool) -> requests.Response:
        self.requests += 1
        headers = {"Authorization": f"Token {self._token}"} if is_ours else {}
        # No redirect elsewhere: the token would go with it.
        response = self._session.get(
            url, headers=headers, timeout=(CONNECT_SECONDS, READ_SECONDS), stream=stream, allow_redirects=not is_ours
        )
        if is_ours and response.is_redirect:
            raise SourceFailed(f"{self.url} is elsewhere: use {response.headers.get('Location', 'its new address')}")
        if "Date" in response.headers:
            self._now = parsedate_to_datetime(response.headers["Date"])
        return response

    def _pause(self, seconds: float, reason: str) -> None:
        count = round(seconds)
        self._tell(f"{reason}: waiting {count} {'second' if count == 1 else 'seconds'}")
        self._wait(seconds)

    def again(self) -> "Source":
        """The same server, after the first use was stopped."""
        self.stopped.clear()
        return self

    def close(self) -> None:
        self.stopped.set()
        self._session.close()


def _server_of(parts: SplitResult) -> str:
    """Host and port in one spelling: without the default port, a dot at the end, or capital letters."""
    account, at, _ = parts.netloc.rpartition("@")
    host = (parts.hostname or "").rstrip(".")
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{account}{at}{host}{port}"


def _addresses(host: str) -> set[str]:
    """The addresses of a host; none if nobody knows it."""
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return set()


def _parse(content: bytes) -> Any:
    """The document of an answer. Halves of characters, which no database stores, are replaced. Raises ValueError."""
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content.decode("utf-8", "replace")
        return json.loads(json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace"))


def _retry_after(response: requests.Response) -> float | None:
    """The seconds that a response asks to wait, given as a number or as a time."""
    given = response.headers.get("Retry-After", "").strip()
    if not given:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _sentence(response: requests.Response) -> str:
    try:
        document = response.json()
    except ValueError:
        return "no reason is given"
    found = document.get("detail") if isinstance(document, dict) else None
    return str(found or document)[:200]


def _describe(error: Exception) -> str:
    if isinstance(error, requests.exceptions.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.exceptions.ConnectionError):
        why = explain_tls(error)
        return f"cannot be reached: {why}" if why else "cannot be reached"
    return "answers with something that is not JSON" if isinstance(error, ValueError) else "breaks off its answer"
