"""Reads a response as its bytes come in; the only exception of HTTP calls."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httptools
from urllib3 import HTTPHeaderDict

HEAD_LIMIT_BYTES = 256 * 1024
FRAME_BYTES = 8
"""What may surround each byte of a body that comes in chunks."""
FRAMES = ("content-length", "transfer-encoding")
"""The headers that say where a body ends; without them it ends with the connection."""
INTERIM = (100, 102, 103)
"""After them the response itself comes."""
FIRST_OF_STATUSES, FIRST_OF_RESPONSES = 100, 200


class NotHttp(Exception):
    """What came is no response, or its head is too long."""


class Reading:
    """One response. Only the status says whether something was accepted: when it is known, whatever follows may be
    incomplete, too long or wrong.
    """

    def __init__(self, limit_bytes: int, *, has_body: bool = True) -> None:
        """`has_body` is false for the response to HEAD, whose headers speak of a body that does not come."""
        self.status: int | None = None
        self.headers = HTTPHeaderDict()
        self.has_head = False
        self.is_complete = False
        self.has_ended = False
        self.keeps_connection = False
        self._limit_bytes = limit_bytes
        self._has_body = has_body
        self._other_bytes = 0
        self._chunks: list[bytes] = []
        self._body_bytes = 0
        self._parser = httptools.HttpResponseParser(self)
        # What old servers write, and what the library of Python reads as well.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    @property
    def body(self) -> bytes:
        return b"".join(self._chunks)[: self._limit_bytes]

    def feed(self, data: bytes) -> None:
        """Raises NotHttp. Once it `has_ended` there is nothing more to feed."""
        self._other_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(is_complete=True)
        except httptools.HttpParserError as error:
            self._break_off(error)
        if not self.has_ended and self._other_bytes > HEAD_LIMIT_BYTES + FRAME_BYTES * self._body_bytes:
            # The parser collects headers, also those behind a body, however long they become.
            if not self.has_head:
                raise NotHttp("the head is too long")
            self._end(is_complete=False)

    def end_with_connection(self, *, is_clean: bool) -> None:
        """There is nothing more to come. Raises NotHttp if nothing was said."""
        if self.status is None:
            raise NotHttp("the connection ended before the status")
        if not self.has_ended:
            self._end(is_complete=is_clean and not any(name in self.headers for name in FRAMES))

    def on_message_begin(self) -> None:
        if self.has_ended:
            # What nobody asked for would be taken for the response to the next request.
            self.keeps_connection = False

    def on_status(self, _reason: bytes) -> None:
        self._note_status()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:  # what comes behind a body is none of them
            self._note_status()
            self.headers.add(name.decode("latin-1"), value.strip().decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self.has_ended:
            return
        self._note_status()
        self.has_head = not self._is_interim()
        if self.has_head and not self._has_body:
            self._end(is_complete=True)

    def on_body(self, data: bytes) -> None:
        if self.has_ended:
            return
        self._chunks.append(data)
        self._body_bytes += len(data)
        self._other_bytes -= len(data)
        if self._body_bytes > self._limit_bytes:
            self._end(is_complete=False)

    def on_message_complete(self) -> None:
        if self.has_ended:
            return
        if self._is_interim():
            self.status = None
            self.headers = HTTPHeaderDict()
        else:
            self._end(is_complete=True)
            is_usual = self._parser.get_status_code() >= FIRST_OF_RESPONSES
            self.keeps_connection = is_usual and self._parser.should_keep_alive()

    def _note_status(self) -> None:
        if self.status is None:
            status = self._parser.get_status_code()
            if status < FIRST_OF_STATUSES:
                raise NotHttp(f"{status} is no status")
            self.status = status

    def _is_interim(self) -> bool:
        return self.status in INTERIM

    def _break_off(self, error: httptools.HttpParserError) -> None:
        self.keeps_connection = False
        if self.status is None:
            raise NotHttp("not HTTP") from error
        if not self.has_ended:
            self._end(is_complete=False)

    def _end(self, *, is_complete: bool) -> None:
        self.has_ended = self.has_head = True
        self.is_complete = is_complete


class SendFailed(Exception):
    """There was no response. `kind` is one word for counters, the message a sentence for users. Kinds: `url`, `header`
    (cannot be sent), `address` (not allowed), `dns`, `connect`, `timeout`, `tls`, `broken` (closed or not HTTP).
    """

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


def read_retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that the header `Retry-After` asks for, as a number or a date; None if it asks for nothing."""
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
