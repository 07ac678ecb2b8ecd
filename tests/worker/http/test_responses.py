"""What is read of the bytes of a response, however they come and whatever they are."""

import pytest

from worker.http.connections import HEAD_LIMIT_BYTES, NotHttp, Reading

LIMIT = 10


def read(*pieces: bytes, has_body: bool = True) -> Reading:
    reading = Reading(LIMIT, has_body=has_body)
    for piece in pieces:
        reading.feed(piece)
    return reading


def by_byte(raw: bytes) -> list[bytes]:
    return [raw[place : place + 1] for place in range(len(raw))]


@pytest.mark.parametrize(
    ("raw", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
        (
            b"HTTP/1.1 500 \xc3\xa9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1;a=b\r\nk\r\n0\r\nA: b\r\n\r\n",
            500,
            b"ok",
        ),
        (b"HTTP/1.1 204 No\r\n\r\n", 204, b""),
        (b"HTTP/1.1 304 Not\r\nContent-Length: 7\r\n\r\n", 304, b""),
        (
            b"HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n"
            b"HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n",
            201,
            b"",
        ),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok"),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    ],
)
@pytest.mark.parametrize("cut", [lambda raw: [raw], by_byte])
def test_a_response_is_the_same_in_one_piece_and_in_many(raw, status, body, cut):
    reading = read(*cut(raw))

    assert (reading.status, reading.body) == (status, body)
    assert reading.has_ended and reading.is_complete and reading.keeps_connection
    assert "A" not in reading.headers


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokay",
    ],
)
def test_a_connection_is_not_kept_that_ends_or_on_which_more_came_than_was_asked_for(raw):
    reading = read(raw)

    assert (reading.status, reading.body, reading.is_complete) == (200, b"ok", True)
    assert not reading.keeps_connection


@pytest.mark.parametrize("status", [101, 199])
def test_after_a_response_that_only_sounds_interim_the_connection_is_not_kept(status):
    reading = read(f"HTTP/1.1 {status} Odd\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n".encode())

    assert (reading.status, reading.has_ended, reading.keeps_connection) == (status, True, False)


def test_headers_are_found_in_any_case_and_joined():
    reading = read(b"HTTP/1.1 200 OK\r\nX-A:  \xe9 \r\nx-a: 2\r\nContent-Length: 0\r\n\r\n")

    assert reading.headers["X-a"] == "\xe9, 2"


def test_the_response_to_head_has_no_body():
    reading = read(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", has_body=False)

    assert (reading.has_ended, reading.is_complete, reading.keeps_connection) == (True, True, False)


def test_a_body_is_read_up_to_the_limit_and_not_further():
    reading = read(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b"x" * LIMIT)
    assert not reading.has_ended

    reading.feed(b"y")
    assert (reading.has_ended, reading.is_complete, reading.body) == (True, False, b"x" * LIMIT)


@pytest.mark.parametrize(
    ("raw", "is_clean", "is_complete"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\nok", True, True),
        (b"HTTP/1.1 200 OK\r\n\r\nok", False, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", True, False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok", True, False),
    ],
)
def test_a_body_without_a_length_ends_with_the_connection(raw, is_clean, is_complete):
    reading = read(raw)
    reading.end_with_connection(is_clean=is_clean)

    assert (reading.status, reading.body, reading.is_complete) == (200, b"ok", is_complete)
    assert not reading.keeps_connection


def test_a_status_counts_though_the_connection_ends_in_the_headers():
    reading = read(b"HTTP/1.1 202 OK\r\nA: b\r\nC")
    assert not reading.has_head

    reading.end_with_connection(is_clean=True)
    assert (reading.status, reading.body) == (202, b"")


@pytest.mark.parametrize("wrong", [b"Content-Length: 2\r\nContent-Length: 3\r\n", b"Content-Length: x\r\n", b"a\r\n"])
def test_a_status_counts_though_what_follows_is_wrong(wrong):
    reading = read(b"HTTP/1.1 202 OK\r\n" + wrong + b"\r\nok")

    assert (reading.status, reading.has_ended, reading.is_complete) == (202, True, False)
    assert not reading.keeps_connection


NO_RESPONSES = (b"SSH-2.0-x\r\n", b"HTTP/1.1 abc OK\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 099 OK\r\n\r\n")


@pytest.mark.parametrize("raw", NO_RESPONSES)
def test_what_is_no_response_is_told(raw):
    with pytest.raises(NotHttp):
        read(raw)


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 2", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_connection_that_ends_before_the_status_has_said_nothing(raw):
    reading = read(*[raw][: len(raw)])

    with pytest.raises(NotHttp):
        reading.end_with_connection(is_clean=True)


@pytest.mark.parametrize("end", [b"\r\nX-A: ", b""])
def test_headers_without_an_end_are_not_read_on(end):
    reading = read(b"HTTP/1.1 200 OK\r\nX-A: b")

    with pytest.raises(NotHttp):
        feed_without_end(reading, b"b" * 1000 + end)


@pytest.mark.parametrize("piece", [b"b" * 1000, b"b\r\nX-A: "])
def test_headers_without_an_end_behind_a_body_are_not_read_on(piece):
    reading = read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n0\r\nX-A: ")
    feed_without_end(reading, piece)

    assert (reading.status, reading.body, reading.is_complete, reading.keeps_connection) == (200, b"o", False, False)


def feed_without_end(reading: Reading, piece: bytes) -> None:
    for _ in range(HEAD_LIMIT_BYTES // len(piece) + 1):
        reading.feed(piece)
    assert reading.has_ended


def test_a_body_may_come_byte_by_byte():
    reading = Reading(HEAD_LIMIT_BYTES)
    reading.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(1000):
        reading.feed(b"1\r\no\r\n" * 100)
    reading.feed(b"0\r\n\r\n")

    assert reading.is_complete and reading.keeps_connection and len(reading.body) == 100_000
