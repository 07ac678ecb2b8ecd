"""The e-mail of flows and about accounts, sent by one mail server (flow format, send_email)."""

import logging
import smtplib
import socket
import ssl
from collections.abc import Callable, Sequence
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import Any, BinaryIO

from flows.engine.services import ServiceError
from relayboard.base.certificates import explain_tls
from relayboard.base.mail_server import STARTTLS, TLS, MailServer, is_address
from worker.http.connections import Deadline, Watchdog
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

ADDRESSES = 50
REPLIES_BYTES = 256 * 1024
"""What a mail server may say in all: it may go on with one reply for ever."""
LATE = "the mail server did not answer in time"
_WATCHDOG = Watchdog()


class FlowEmail:
    """Sends e-mail to the mail server, each within the time limit of a webhook call and only once. `before_call` is
    called before each, because mail servers may take long.
    """

    def __init__(self, runtime: Runtime, server: MailServer, before_call: Callable[[], None]) -> None:
        self._runtime = runtime
        self._server = server
        self._before_call = before_call

    def send(self, addresses: Sequence[str], subject: str, body: str) -> None:
        """Sends one message to all addresses. Raises ServiceError, which never contains anything that was sent to the
        server."""
        message = self._write(addresses, subject, body)
        self._before_call()
        with Deadline(_WATCHDOG, self._runtime.settings.webhook_timeout_seconds) as deadline:
            try:
                self._hand_in(message, list(dict.fromkeys(addresses)), deadline)
            except (OSError, smtplib.SMTPException, ValueError) as error:
                problem = _explain(error) if deadline.seconds_left else LATE
                logger.warning("an e-mail was not sent: %s", problem)
                raise ServiceError(problem) from error

    def _write(self, addresses: Sequence[str], subject: str, body: str) -> EmailMessage:
        if len(addresses) > ADDRESSES:
            raise ServiceError(f"an e-mail has at most {ADDRESSES} addresses")
        if not all(is_address(each) for each in addresses):
            raise ServiceError("not an e-mail address")
        sender = self._server.sender
        message = EmailMessage(policy=SMTP)
        try:
            message["From"] = sender
            message["To"] = ", ".join(dict.fromkeys(addresses))
            message["Subject"] = subject
            message["Date"] = format_datetime(self._runtime.database.clock())
            message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
            message["Auto-Submitted"] = "auto-generated"
            message.set_content(body)
        except (MessageError, ValueError) as error:
            raise ServiceError("the subject or the body cannot be sent as e-mail") from error
        return message

    def _hand_in(self, message: EmailMessage, addresses: Sequence[str], deadline: Deadline) -> None:
        with sign_in(self._server, deadline) as client:
            refused = client.send_message(message, self._server.sender, addresses)
        if refused:
            raise smtplib.SMTPRecipientsRefused(refused)


def check_mail_server(server: MailServer, seconds: float) -> None:
    """Signs in and sends nothing. Raises ServiceError with what went wrong."""
    with Deadline(_WATCHDOG, seconds) as deadline:
        try:
            with sign_in(server, deadline) as client:
                client.noop()
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise ServiceError(_explain(error) if deadline.seconds_left else LATE) from error


def sign_in(server: MailServer, deadline: Deadline) -> smtplib.SMTP:
    """A client that may hand in messages. Raises OSError, SMTPException and ValueError."""
    limit, context = max(deadline.seconds_left, 0.001), ssl.create_default_context()
    if server.security == TLS:
        client: smtplib.SMTP = _TlsClient(server.host, server.port, timeout=limit, context=context, deadline=deadline)
    else:
        client = _Client(server.host, server.port, timeout=limit, deadline=deadline)
    try:
        if server.security == STARTTLS:
            client.starttls(context=context)
        if server.user:
            client.login(server.user, server.password)
    except BaseException:
        client.close()
        raise
    return client


class _Client(smtplib.SMTP):
    """All that a server says comes until a deadline, and within a limit of bytes."""

    def __init__(self, *place: Any, deadline: Deadline, **options: Any) -> None:
        self._deadline = deadline
        self._heard = 0
        super().__init__(*place, **options)

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


class _TlsClient(_Client, smtplib.SMTP_SSL):
    """The same, with TLS from the start."""


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


def _explain(error: Exception) -> str:
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
