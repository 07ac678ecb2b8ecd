"""What the other server answers is a stranger's: bounded in bytes, time, redirects and depth."""

import contextlib
import gzip
import io
import itertools
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import trustme

from relayboard.move import source as bounds
from relayboard.move.kinds import KINDS, Kind
from relayboard.move.source import Source, SourceFailed
from tests.certificates import REFUSED, certified
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.worker.receivers import Reply, answering_with, receiving

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
PATH = "/api/v2/workspace.json"
MEGABYTE = 1 << 20


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are soon reached; a failure that may pass is not waited out."""
    monkeypatch.setattr(bounds, "ANSWER_BYTES", MEGABYTE)
    monkeypatch.setattr(bounds, "FILE_BYTES", MEGABYTE)
    monkeypatch.setattr(bounds, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(bounds, "FILE_SECONDS", 0.5)
    monkeypatch.setattr(bounds, "ATTEMPTS", 2)


def failure(url: str, ask: Callable[[Source], Any] = lambda source: source.read(PATH)) -> str:
    source = Source(url.rstrip("/"), TOKEN, wait=lambda _seconds: None)
    with pytest.raises(SourceFailed) as caught:
        ask(source)
    return str(caught.value)


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


def zipped(body: bytes, times: int = 1) -> bytes:
    for _ in range(times):
        body = gzip.compress(body)
    return body


LARGE = "answers with more than 1 MiB|answers with more than 1 MiB: no server of this API does"
LATE = "does not answer in time"
BROKEN = "breaks off its answer"
CHUNKED = JSON + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = JSON + b"Content-Encoding: gzip\r\n"

ENDLESS: dict[str, tuple[Callable[[], Iterable[bytes]], str]] = {
    "body without an end": (lambda: itertools.chain([JSON + b"\r\n"], itertools.repeat(b" " * 65536)), LARGE),
    "chunks without an end": (lambda: itertools.chain([CHUNKED], itertools.repeat(chunk(b" " * 65536))), LARGE),
    "a gigabyte is told and comes": (
        lambda: itertools.chain([JSON + b"Content-Length: 1073741824\r\n\r\n"], itertools.repeat(b" " * 65536)),
        LARGE,
    ),
    "a gigabyte is told and does not come": (lambda: [JSON + b"Content-Length: 1073741824\r\n\r\n{}"], BROKEN),
    "a length that is no number": (lambda: [JSON + b"Content-Length: many\r\n\r\n", b"{"], "is not JSON"),
    "packed 1000 times": (lambda: [GZIP + b"Connection: close\r\n\r\n" + zipped(b" " * (64 * MEGABYTE))], LARGE),
    "packed, and cut off": (lambda: [GZIP + b"\r\n" + zipped(b'{"name": "Bench"}')[:-9]], BROKEN),
    "packed, and broken": (lambda: [GZIP + b"\r\n" + b"not gzip at all"], BROKEN),
    "packed twice": (
        lambda: [JSON + b"Content-Encoding: gzip, gzip\r\n\r\n" + zipped(b" " * MEGABYTE, times=2)],
        "packs its answers as gzip, gzip, which nobody asked for",
    ),
    "packed otherwise": (lambda: [JSON + b"Content-Encoding: br\r\n\r\nx"], "packs its answers as br"),
    "brackets in brackets": (
        lambda: [JSON + b'\r\n{"name": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"],
        "nests deeper than 100 levels",
    ),
    "not JSON by its type": (
        lambda: [b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{}"],
        "answers with text/html instead of JSON",
    ),
    "headers without an end": (
        lambda: itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"X-Header: value\r\n")),
        "cannot be reached|breaks off",
    ),
}
SLOW = {
    "a body byte by byte": (JSON + b"Content-Length: 9999\r\n\r\n", b" "),
    "not one byte": (b"", b""),
    "a head byte by byte": (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
    "a status byte by byte": (b"HTTP/1.1 200 ", b"O"),
    "the length of a chunk byte by byte": (CHUNKED + b"1;", b"x"),
    "a body byte by byte, then closed": (JSON + b"Connection: close\r\n\r\n", b" "),
}
DRIPS = 500


@pytest.mark.parametrize("name", ENDLESS)
def test_an_answer_that_no_server_of_this_api_gives_is_refused_within_bounded_memory(name: str) -> None:
    pieces, said = ENDLESS[name]
    with answering_with([*itertools.islice(pieces(), 2000)]) as url:
        tracemalloc.start()
        try:
            told = failure(url)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert any(each in told for each in said.split("|")), told
    assert most < 12 * MEGABYTE


@pytest.mark.apart
@pytest.mark.parametrize("name", SLOW)
def test_an_answer_that_comes_byte_by_byte_ends_with_the_time_of_a_whole_answer(name: str) -> None:
    first, drip = SLOW[name]
    with answering_with([first, *[drip] * DRIPS], pause_seconds=0.02) as url:
        assert LATE in failure(url)


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_refusal_is_bounded_as_an_answer_is(status: int) -> None:
    head = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\n\r\n".encode()
    with answering_with([head, *[b" " * 65536] * 100]) as url:
        told = failure(url)
    assert "answers with more than 1 MiB" in told or "answers 500" in told


def download(path: str) -> Callable[[Source], Any]:
    return lambda source: source.download(path, io.BytesIO())


def test_a_file_has_limits_of_its_own() -> None:
    with answering_with([b"HTTP/1.1 200 OK\r\n\r\n", *[b" " * 65536] * 100]) as url:
        assert "its file is larger than" in failure(url, download("/archive"))
    with answering_with([b"HTTP/1.1 200 OK\r\n\r\n", *[b" "] * DRIPS], pause_seconds=0.02) as url:
        assert LATE in failure(url, download("/archive"))


def test_a_redirect_is_followed_to_no_other_server_with_the_token_and_in_no_circle() -> None:
    with receiving() as storage:
        storage.respond = lambda _: Reply(302, headers={"Location": storage.url})
        assert "is elsewhere" in failure(storage.url.removesuffix("/hook"))
        with OtherServer().running() as other:
            assert "redirects more than 5 times" in failure(other.url, download(storage.url))
        assert all("authorization" not in {name.lower() for name in each.headers} for each in storage.received[1:])


def test_pages_that_lead_in_a_circle_end_the_move(other: OtherServer) -> None:
    pages = {"": "one", "one": "two", "two": "one"}

    def respond(received: Any) -> Reply:
        following = pages[received.path.partition("cursor=")[2]]
        link = f"http://elsewhere/api/v2/groups.json?cursor={following}"
        body = f'{{"next": "{link}", "results": []}}'.encode()
        return Reply(body=body, headers={"Content-Type": "application/json"})

    with receiving(respond) as receiver:
        source = Source(receiver.url.removesuffix("/hook"), TOKEN)
        _, second = source.read_page(source.list_url("groups"))
        _, third = source.read_page(str(second))
        with pytest.raises(SourceFailed, match=r"from one page of its list /api/v2/groups.json to another in a circle"):
            source.read_page(str(third))
    assert len(receiver.received) == 3


def test_a_limit_without_an_end_is_waited_for_a_day_and_no_single_wait_is_endless(other: OtherServer) -> None:
    waits: list[float] = []
    said = ["inf", "1e300", "nan", "-5", "0.000001", "Fri, 31 Dec 9999 23:59:59 GMT", "soon"]
    other.faults = [(429, {"Retry-After": each}) for each in said] + [(429, {"Retry-After": "1e9"})] * 20

    with pytest.raises(SourceFailed, match="has had its limit reached for a day"):
        Source(other.url, TOKEN, wait=waits.append).read(PATH)

    assert waits[:7] == [7200, 7200, 60, 60, 1, 7200, 60]
    assert sum(waits) <= 24 * 3600


ODD: tuple[Any, ...] = (None, 7, True, "text", [], [7], ["text"], {}, {"uuid": 7}, [[]], [None])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_record_of_another_shape_is_told_as_such(kind: Kind) -> None:
    """Whatever stands in a field: it is read, or the failure is one that the command tells."""
    names = set[str]()

    class Noting(dict[str, Any]):
        def get(self, name: str, default: Any = None) -> Any:
            names.add(name)
            return super().get(name, default)

    kind.read(Noting())
    for name, value in itertools.product(sorted(names), ODD):
        with contextlib.suppress(SourceFailed):
            kind.records([{"uuid": "6f1c3ad0-3b0c-4f8c-8b1e-1e4c7f3f2a10", name: value}])


@pytest.mark.parametrize("kind", REFUSED)
def test_a_certificate_that_is_not_accepted_is_told_by_its_kind(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "authority.pem"))
    with receiving(tls=certified(authority, tmp_path, kind)) as receiver:
        assert f"cannot be reached: {REFUSED[kind]}: look at its address" in failure(receiver.url.removesuffix("/hook"))
        assert receiver.received == []
    body = Reply(body=b'{"name": "Bench"}', headers={"Content-Type": "application/json"})
    with receiving(lambda _: body, tls=certified(authority, tmp_path)) as receiver:
        assert Source(receiver.url.removesuffix("/hook"), TOKEN).read(PATH) == {"name": "Bench"}
