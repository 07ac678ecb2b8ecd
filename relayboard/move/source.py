"""The other server over HTTP: pages of its lists, with its limits honoured and its failures waited out. What it answers
is bounded: its bytes, also unpacked, the time for the whole answer, and how deep it nests."""

import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

import orjson
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ReadTimeoutError

from handlers.asgi.request_body import StrictJsonError, check_nesting
from relayboard.base.certificates import explain_tls
from relayboard.base.version import program_version
from relayboard.refusal import CommandFailed
from worker.http.connections import Deadline, Watchdog

CONNECT_SECONDS, READ_SECONDS = 15, 180
ANSWER_SECONDS, FILE_SECONDS = 600, 7200
"""For a whole answer, and for a whole file: a server may send a byte now and then for ever."""
ANSWER_BYTES, FILE_BYTES = 64 << 20, 8 << 30
"""Of an answer, after it was unpacked, and of a file. Pages have about 1 MiB, definitions of flows several."""
NESTING = 100
REDIRECTS = 5
ATTEMPTS = 12
EARLY_ATTEMPTS = 3
"""How often a server is asked that has not answered this command yet: its address may be wrong."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 120.0
UNSAID_PAUSE_SECONDS = 60.0
"""How long to wait after a 429 that does not say how long."""
LONGEST_SAID_SECONDS = 2 * 3600.0
LIMITED_SECONDS = 24 * 3600.0
"""How long one request waits for the end of a limit in all."""
PIECE_BYTES = 1 << 16
URL_LENGTH = 255
DEFAULT_PORTS = {"http": 80, "https": 443}
WORKSPACES = ("/api/v2/workspace.json", "/api/v2/org.json")
BROKEN = (500, 502, 503, 504, 520, 521, 522, 523, 524)

UNREACHED = (requests.exceptions.ConnectionError, requests.exceptions.Timeout)

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


class AnswerBroken(Exception):
    """An answer that cannot be used, which may be better the next time; the message says what is wrong with it."""


_WATCHDOG = Watchdog()


class _Timed:
    """The status and the headers come within the time of an answer, however slowly each byte comes."""

    spoken: socket.socket | None = None

    def getresponse(self) -> HTTPResponse:
        # A connection that ends with its answer forgets its socket, which the body still comes from.
        self.spoken = self.sock  # type: ignore[attr-defined]
        limit = _limit(self.spoken, ANSWER_SECONDS)
        try:
            with limit:
                response: HTTPResponse = super().getresponse()  # type: ignore[misc]  # of the connection beside it
        finally:
            # Also where reading failed, because the limit cut off the connection before a whole line had come.
            if limit.has_expired:
                raise TimeoutError
        return response


class _TimedHttp(_Timed, HTTPConnection):  # type: ignore[misc]
    """Without TLS."""


class _TimedHttps(_Timed, HTTPSConnection):  # type: ignore[misc]
    """With TLS."""


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _TimedHttp


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _TimedHttps


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}


def _limit(spoken: socket.socket | None, seconds: float) -> Deadline:
    limit = Deadline(_WATCHDOG, seconds)
    if spoken is not None:
        limit.watch(spoken)
    return limit


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
        self._session.headers.update({"User-Agent": f"relayboard-move/{program_version()}", "Accept-Encoding": "gzip"})
        self._session.max_redirects = REDIRECTS
        for scheme in DEFAULT_PORTS:
            self._session.mount(f"{scheme}://", _Adapter())
        self._walked: dict[str, set[str]] = {}
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
            raise SourceFailed(f"{self.url} does not accept the token: {_sentence(document)}")
        if response.status_code != 200:
            raise SourceFailed(f"{self.url} answers {response.status_code} to {path}: {_sentence(document)}")
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
        their path and query are used. Raises SourceFailed, also for pages that lead in a circle."""
        name, cursors = _place_in_list(path)
        walked = self._walked.setdefault(name, set())
        if not cursors:
            walked.clear()
        document = self.read(path)
        listed, following = document.get("results"), document.get("next")
        if not isinstance(listed, list) or not isinstance(following, str | None):
            raise SourceFailed(f"{self.url} answers {path} with something else than a page of a list")
        results: list[Mapping[str, Any]] = [each for each in listed if isinstance(each, dict)]
        walked.add(path)
        following = self._relative(following) if following else None
        if following in walked:
            raise SourceFailed(f"{self.url} leads from one page of its list {name} to another in a circle")
        return results, following

    def _relative(self, link: str) -> str:
        try:
            parts = urlsplit(link)
        except ValueError as error:
            raise SourceFailed(f"{self.url} names a next page that is no URL: {link[:200]}") from error
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
            try:
                # Undecoded: archives are stored packed, and some storages unpack them on the way.
                for piece in _pieces(response, FILE_SECONDS):
                    size += len(piece)
                    if size > FILE_BYTES:
                        raise SourceFailed(f"its file is larger than {FILE_BYTES >> 30} GiB")
                    file.write(piece)
            except AnswerBroken as error:
                raise SourceFailed(f"{urlsplit(address).netloc} {error}") from error
            return size

    def _get(self, url: str, *, stream: bool = False, is_ours: bool = True) -> Answer:
        """Asks until there is an answer that is not a failure of the moment; with its document, unless it is a stream.
        Raises SourceFailed."""
        pause, problem, limited = FIRST_PAUSE_SECONDS, "", 0.0
        attempt, attempts = 0, ATTEMPTS
        while attempt < attempts:
            if self.stopped.is_set():
                raise SourceFailed("the move was stopped")
            try:
                response = self._ask(url, is_ours=is_ours)
                problem, attempts = "", ATTEMPTS
                self._has_answered = True
                if response.status_code == 429:
                    response.close()
                    seconds = _retry_after(response) or UNSAID_PAUSE_SECONDS
                    limited += seconds
                    if limited > LIMITED_SECONDS:
                        break
                    self._pause(seconds, "the other server's limit is reached")
                    continue
                if response.status_code not in BROKEN:
                    return response, None if stream and response.status_code == 200 else self._read_answer(response)
                response.close()
                problem = f"answers {response.status_code}"
                pause = max(pause, _retry_after(response) or 0.0)
            except (requests.exceptions.RequestException, AnswerBroken) as error:
                problem = _describe(error)
                if not self._has_answered and isinstance(error, UNREACHED):
                    attempts = EARLY_ATTEMPTS
            attempt += 1
            if attempt < attempts:
                self._pause(pause, f"the other server {problem}")
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        if limited > LIMITED_SECONDS:
            raise SourceFailed(f"{self.url} has had its limit reached for a day; run the command again to go on")
        if not self._has_answered:
            raise SourceFailed(
                f"{self.url} {problem}: look at its address and whether it runs, then run the command again"
            )
        raise SourceFailed(f"{self.url} {problem}, {ATTEMPTS} times in a row; run the command again to go on")

    def _ask(self, url: str, *, is_ours: bool) -> requests.Response:
        self.requests += 1
        headers = {"Authorization": f"Token {self._token}"} if is_ours else {}
        # No redirect elsewhere: the token would go with it.
        response = self._session.get(
            url, headers=headers, timeout=(CONNECT_SECONDS, READ_SECONDS), stream=True, allow_redirects=not is_ours
        )
        if is_ours and response.is_redirect:
            response.close()
            raise SourceFailed(f"{self.url} is elsewhere: use {response.headers.get('Location', 'its new address')}")
        self._now = _moment(response.headers.get("Date", "")) or self._now
        return response

    def _read_answer(self, response: requests.Response) -> Any:
        """The document of an answer; whatever a refusal says. Raises SourceFailed for an answer that will not be better
        the next time, AnswerBroken for others."""
        is_refusal = response.status_code != 200
        with response:
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()[:60]
            if not is_refusal and kind and "json" not in kind:
                raise AnswerBroken(f"answers with {kind} instead of JSON")
            content = bytearray()
            for piece in _unpacked(response, _pieces(response, ANSWER_SECONDS)):
                content += piece
                if len(content) > ANSWER_BYTES:
                    raise SourceFailed(
                        f"{self.url} answers with more than {ANSWER_BYTES >> 20} MiB: no server of this API does"
                    )
        try:
            return _parse(bytes(content))
        except StrictJsonError as error:
            raise SourceFailed(f"{self.url} answers with JSON that nests deeper than {NESTING} levels") from error
        except ValueError as error:
            if is_refusal:
                return None
            raise AnswerBroken("answers with something that is not JSON") from error

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


def _place_in_list(path: str) -> tuple[str, list[str]]:
    """What is read page by page, and the position in it."""
    parts = urlsplit(path)
    query = parse_qsl(parts.query, keep_blank_values=True)
    cursors = [value for name, value in query if name == "cursor"]
    others = urlencode(sorted(pair for pair in query if pair[0] != "cursor"))
    return parts.path + (f"?{others}" if others else ""), cursors


def _pieces(response: requests.Response, seconds: float) -> Iterator[bytes]:
    """The bytes of an answer as they come, for so long at most. Raises AnswerBroken."""
    with _limit(getattr(response.raw.connection, "spoken", None), seconds) as limit:
        try:
            while piece := response.raw.read1(PIECE_BYTES, decode_content=False):
                yield piece
                if limit.has_expired:  # through a proxy there is no socket to end
                    raise TimeoutError
        except (HTTPError, OSError, ValueError) as error:
            late = limit.has_expired or isinstance(error, TimeoutError | ReadTimeoutError)
            raise AnswerBroken("does not answer in time" if late else "breaks off its answer") from error
    if limit.has_expired:  # its end looks like one of the other server
        raise AnswerBroken("does not answer in time")


def _unpacked(response: requests.Response, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes of the document, a limited number at a time, however well they are packed. Raises AnswerBroken."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        yield from pieces
        return
    if coding not in ("gzip", "x-gzip"):
        raise AnswerBroken(f"packs its answers as {coding[:60]}, which nobody asked for")
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        for piece in pieces:
            while piece and not unpacking.eof:
                yield unpacking.decompress(piece, PIECE_BYTES)
                piece = unpacking.unconsumed_tail
    except zlib.error as error:
        raise AnswerBroken("breaks off its answer") from error
    if not unpacking.eof:
        raise AnswerBroken("breaks off its answer")


def _parse(content: bytes) -> Any:
    """The document of an answer. Halves of characters, which no database stores, are replaced. Raises ValueError."""
    check_nesting(content, NESTING)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content.decode("utf-8", "replace")
        return json.loads(json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace"))


def _retry_after(response: requests.Response) -> float | None:
    """The seconds that a response asks to wait, given as a number or as a time: from one to some hours."""
    given = response.headers.get("Retry-After", "").strip()
    try:
        seconds = float(given)
    except ValueError:
        moment = _moment(given)
        seconds = (moment - datetime.now(UTC)).total_seconds() if moment else 0.0
    return min(max(1.0, seconds), LONGEST_SAID_SECONDS) if seconds > 0 else None


def _moment(given: str) -> datetime | None:
    """A time of a header; None for what is none."""
    try:
        moment = parsedate_to_datetime(given)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _sentence(document: Any) -> str:
    found = document.get("detail") if isinstance(document, dict) else None
    return str(found or document)[:200] if document else "no reason is given"


def _describe(error: Exception) -> str:
    if isinstance(error, AnswerBroken):
        return str(error)
    if isinstance(error, requests.exceptions.Timeout):
        return "does not answer in time"
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return f"redirects more than {REDIRECTS} times"
    if isinstance(error, requests.exceptions.ConnectionError):
        why = explain_tls(error)
        return f"cannot be reached: {why}" if why else "cannot be reached"
    return "breaks off its answer"
