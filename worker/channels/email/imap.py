"""A client for mailboxes (IMAP4rev1): it reads one folder and changes nothing in it. All that a server says comes until
a deadline and within a limit of bytes.
"""

import imaplib
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from socket import socket
from typing import Any, BinaryIO

from relayboard.base.certificates import explain_tls
from relayboard.base.mail_server import STARTTLS, TLS
from worker.http.connections import Deadline
from worker.smtp import Dial

REPLY_BYTES = 1024 * 1024
"""What a server may say to one command, beside the mail that is asked for: also the numbers of 100,000 mails."""
AROUND_MAIL_BYTES = 16 * 1024
NUMBER = re.compile(rb"\bUID (\d{1,10})\b")
SIZE = re.compile(rb"\bRFC822\.SIZE (\d{1,12})\b")
ARRIVED = re.compile(rb'\bINTERNALDATE "([^"]{1,40})"')
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
UNEXPECTED = "The mailbox does not speak IMAP as expected."


class Unreadable(Exception):
    """Why a mailbox cannot be read now, as a sentence in our own words: a server may repeat what was sent to it.
    `is_silent`: because it did not answer."""

    def __init__(self, sentence: str, *, is_silent: bool = False) -> None:
        super().__init__(sentence)
        self.is_silent = is_silent


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mailbox is; `security` is `tls` (from the start), `starttls`, or `none`."""

    host: str
    port: int
    security: str
    user: str
    password: str = field(repr=False)
    folder: str


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail in a folder: its number (UID), its size in bytes, and when it arrived there, if that can be read."""

    number: int
    size: int
    arrived_on: datetime | None


class Mailbox:
    """A folder that is open for reading; a context manager. `validity` changes when the server numbers its mails anew
    (UIDVALIDITY), `following` is less than the number of no mail that comes (UIDNEXT). Its methods raise Unreadable.
    """

    def __init__(self, place: Place, deadline: Deadline, dial: Dial, context: ssl.SSLContext) -> None:
        """Also raises SendFailed."""
        self._deadline = deadline
        with self._explained():
            self._client = _Client(place, deadline, dial, context)
        try:
            self._sign_in(place, context)
            self.validity, self.following = self._examine(place.folder)
        except BaseException:
            self._client.shutdown()
            raise

    def __enter__(self) -> "Mailbox":
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):
            self._client.send(b"END LOGOUT\r\n")  # nobody waits for the answer: nothing was changed
        self._client.shutdown()

    @property
    def seconds_left(self) -> float:
        """Until the deadline of the conversation."""
        return self._deadline.seconds_left

    def list_numbers(self, *criteria: str) -> list[int]:
        """The numbers of the mails that a search finds, ascending."""
        found = self._ask("SEARCH", *criteria)
        return sorted({int(each) for line in found if isinstance(line, bytes) for each in line.split()})

    def describe(self, numbers: Sequence[int]) -> list[Letter]:
        """These mails, without those that are gone, ascending."""
        letters = {}
        for line in self._ask("FETCH", ",".join(map(str, numbers)), "(UID RFC822.SIZE INTERNALDATE)"):
            said = line if isinstance(line, bytes) else b""
            number, size, arrived = NUMBER.search(said), SIZE.search(said), ARRIVED.search(said)
            if number is not None and size is not None:
                on = None if arrived is None else _read_time(arrived[1])
                letters[int(number[1])] = Letter(int(number[1]), int(size[1]), on)
        return [letters[each] for each in sorted(letters.keys() & set(numbers))]

    def read(self, letter: Letter) -> bytes | None:
        """A whole mail, which stays unread for others; None if it is gone by now."""
        room = letter.size + AROUND_MAIL_BYTES
        said = self._ask("FETCH", str(letter.number), "(UID BODY.PEEK[])", room=room)
        return next((each[1] for each in said if isinstance(each, tuple)), None)

    def _ask(self, command: str, *words: str, room: int = REPLY_BYTES) -> list[Any]:
        with self._explained():
            self._client.room = room
            kind, said = self._client.uid(command, *words)
            if kind != "OK":
                raise Unreadable(UNEXPECTED)
            return said

    def _sign_in(self, place: Place, context: ssl.SSLContext) -> None:
        client = self._client
        with self._explained():
            if place.security == STARTTLS:
                client.secure(context)
            try:
                if "AUTH=PLAIN" in client.capabilities:
                    client.authenticate("PLAIN", lambda _: f"\0{place.user}\0{place.password}".encode())
                else:
                    client.login(_quoted(place.user), place.password)
            except imaplib.IMAP4.abort:
                raise
            except (imaplib.IMAP4.error, UnicodeError):
                raise Unreadable("The mailbox refused the login.") from None

    def _examine(self, folder: str) -> tuple[int, int]:
        client = self._client
        with self._explained():
            client.room = REPLY_BYTES
            kind, _ = client.select(_quoted(folder), readonly=True)
            if kind != "OK":
                raise Unreadable(f"The mailbox has no folder {folder} that can be read.")
            validity, following = (client.response(name)[1][0] for name in ("UIDVALIDITY", "UIDNEXT"))
            if validity is None or following is None:
                raise Unreadable(UNEXPECTED)
            return int(validity), int(following)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ssl.SSLError as error:
            raise Unreadable(f"The secure connection to the mailbox failed: {explain_tls(error)}.") from error
        except (imaplib.IMAP4.abort, OSError) as error:
            is_late = self._deadline.has_expired or isinstance(error, TimeoutError)
            end = "did not answer in time" if is_late else "closed the connection"
            raise Unreadable(f"The mailbox {end}.", is_silent=is_late) from error
        except (imaplib.IMAP4.error, ValueError) as error:
            raise Unreadable(UNEXPECTED) from error


class _Client(imaplib.IMAP4):
    """Bounded: `room` is how many bytes the server may say until it is set again."""

    def __init__(self, place: Place, deadline: Deadline, dial: Dial, context: ssl.SSLContext) -> None:
        self.room = REPLY_BYTES
        self._deadline, self._connect_to = deadline, dial
        self._context = context if place.security == TLS else None
        self._heard: socket | None = None
        self._lines: BinaryIO | None = None
        super().__init__(place.host, place.port, timeout=max(deadline.seconds_left, 0.001))

    def open(self, host: str = "", port: int = 0, timeout: float | None = None) -> None:
        self.host, self.port = host, port
        self.sock = self._connect_to(host, port, timeout or 0.001)
        try:
            self._deadline.watch(self.sock)
            if self._context is not None:
                self.sock = self._context.wrap_socket(self.sock, server_hostname=host)
        except BaseException:
            self.sock.close()
            raise

    def secure(self, context: ssl.SSLContext) -> None:
        """What the server said before in clear, and nobody has read, is forgotten."""
        if "STARTTLS" not in self.capabilities:
            raise Unreadable("The mailbox does not offer STARTTLS.")
        self.starttls(context)

    def read(self, size: int) -> bytes:
        self._spend(size)
        return self._replies().read(size)

    def readline(self) -> bytes:
        line = self._replies().readline(self.room + 1)
        self._spend(len(line))
        return line

    def send(self, data: Any) -> None:
        self.sock.sendall(data)

    def shutdown(self) -> None:
        with suppress(OSError):
            if self._lines is not None:
                self._lines.close()
            self.sock.close()

    def _replies(self) -> BinaryIO:
        """What is read from the socket, which is another one under TLS."""
        if self._lines is None or self._heard is not self.sock:
            self._deadline.watch(self.sock)
            self._heard, self._lines = self.sock, self.sock.makefile("rb")
        return self._lines

    def _spend(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise Unreadable("The mailbox says more than was asked for.")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _read_time(text: bytes) -> datetime | None:
    try:
        found = parsedate_to_datetime(text.decode("ascii").strip())
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
