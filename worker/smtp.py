"""A client for mail servers: all that a server says comes until a deadline and within a limit of bytes."""

import smtplib
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from relayboard.base.certificates import explain_tls
from relayboard.base.mail_server import STARTTLS, TLS, MailServer
from worker.http.connections import Deadline, Watchdog

REPLIES_BYTES = 256 * 1024
"""What a mail server may say in all: it may go on with one reply for ever."""
LATE = "the mail server did not answer in time"
_WATCHDOG = Watchdog()

Dial = Callable[[str, int, float], socket.socket]
"""Connects to a host and port within so many seconds. Raises OSError and SendFailed."""


def time_limit(seconds: float) -> Deadline:
    """The end of a conversation with a mail server; a context manager."""
    return Deadline(_WATCHDOG, seconds)


def _dial(host: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((host, port), seconds)


def sign_in(
    server: MailServer, deadline: Deadline, dial: Dial = _dial, context: ssl.SSLContext | None = None
) -> smtplib.SMTP:
    """A client that may hand in messages. Raises OSError, SMTPException and ValueError, and what `dial` raises."""
    limit, secured = max(deadline.seconds_left, 0.001), context or ssl.create_default_context()
    around = secured if server.security == TLS else None
    client = _Client(server.host, server.port, timeout=limit, deadline=deadline, dial=dial, context=around)
    try:
        if server.security == STARTTLS:
            client.starttls(context=secured)
        if server.user:
            client.login(server.user, server.password)
    except BaseException:
        client.close()
        raise
    return client


class _Client(smtplib.SMTP):
    """With a `context`, TLS is spoken from the start."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout: float,
        deadline: Deadline,
        dial: Dial,
        context: ssl.SSLContext | None,
    ) -> None:
        self._deadline, self._dial, self._context = deadline, dial, context
        self._heard = 0
        super().__init__(host, port, timeout=timeout)

    def connect(self, host: str = "localhost", port: int = 0, source_address: Any = None) -> tuple[int, bytes]:
        sock = self._dial(host, port, self.timeout)
        try:
            self._deadline.watch(sock)
            self.sock = sock if self._context is None else self._context.wrap_socket(sock, server_hostname=host)
        except BaseException:
            sock.close()
            raise
        self.file = None
        return self.getreply()

    def getreply(self) -> tuple[int, bytes]:
        if isinstance(self.sock, socket.socket):
            self._deadline.watch(self.sock)
            if self.file is None:
                self.file = _Replies(self.sock.makefile("rb"), self._hear)
        return super().getreply()

    def _hear(self, count: int) -> None:
        self._heard += count
        if self._heard > REPLIES_BYTES:
            raise smtplib.SMTPResponseException(500, "")


class _Replies:
    """What is read from a server's socket, which the library reads by lines."""

    def __init__(self, file: BinaryIO, hear: Callable[[int], None]) -> None:
        self._file = file
        self._hear = hear
        self.close = file.close

    def readline(self, size: int) -> bytes:
        line = self._file.readline(size)
        self._hear(len(line))
        return line


def explain(error: Exception) -> str:
    """What went wrong, in our own words, because a server may repeat what was sent to it."""
    if isinstance(error, ssl.SSLError):
        return f"the secure connection to the mail server failed: {explain_tls(error)}"
    sentences: Sequence[tuple[type[Exception], str]] = (
        (smtplib.SMTPAuthenticationError, "the mail server refused the login"),
        (smtplib.SMTPRecipientsRefused, "the mail server refused an address"),
        (smtplib.SMTPSenderRefused, "the mail server refused the sender"),
        (smtplib.SMTPDataError, "the mail server refused the message"),
        (smtplib.SMTPNotSupportedError, "the mail server does not support what the settings require"),
        (smtplib.SMTPServerDisconnected, "the mail server closed the connection"),
        (smtplib.SMTPException, "the mail server does not speak SMTP as expected"),
        (TimeoutError, LATE),
    )
    return next((words for kind, words in sentences if isinstance(error, kind)), "the mail server cannot be reached")
