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

from flows.engine.services import ServiceError
from relayboard.base.certificates import explain_tls
from relayboard.base.mail_server import STARTTLS, TLS, MailServer, is_address
from worker.http.deadlines import Deadline, Watchdog
from worker.runtime import Runtime

logger = logging.getLogger("relayboard.worker")

ADDRESSES = 50
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
                problem = _explain(error) if deadline.seconds_left else "the mail server did not answer in time"
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
        with self._connect(deadline) as client:
            if self._server.security == STARTTLS:
                client.starttls(context=ssl.create_default_context())
                _watch(client, deadline)
            if self._server.user:
                client.login(self._server.user, self._server.password)
            refused = client.send_message(message, self._server.sender, addresses)
        if refused:
            raise smtplib.SMTPRecipientsRefused(refused)

    def _connect(self, deadline: Deadline) -> smtplib.SMTP:
        limit = max(deadline.seconds_left, 0.001)
        host, port = self._server.host, self._server.port
        if self._server.security == TLS:
            client: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=limit, context=ssl.create_default_context())
        else:
            client = smtplib.SMTP(host, port, timeout=limit)
        _watch(client, deadline)
        return client


def _watch(client: smtplib.SMTP, deadline: Deadline) -> None:
    if isinstance(client.sock, socket.socket):
        deadline.watch(client.sock)


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
        (smtplib.SMTPException, "the mail server closed the connection"),
        (TimeoutError, "the mail server did not answer in time"),
    )
    return next((words for kind, words in sentences if isinstance(error, kind)), "the mail server cannot be reached")
