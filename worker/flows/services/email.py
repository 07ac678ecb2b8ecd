"""The e-mail of flows and about accounts, sent by one mail server (flow format, send_email)."""

import logging
import smtplib
from collections.abc import Callable, Sequence
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid

from flows.engine.services import ServiceError
from relayboard.base.mail_server import MailServer, is_address
from worker.http.connections import Deadline
from worker.runtime import Runtime
from worker.smtp import LATE, explain, sign_in, time_limit

logger = logging.getLogger("relayboard.worker")

ADDRESSES = 50


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
        with time_limit(self._runtime.settings.webhook_timeout_seconds) as deadline:
            try:
                self._hand_in(message, list(dict.fromkeys(addresses)), deadline)
            except (OSError, smtplib.SMTPException, ValueError) as error:
                problem = explain(error) if deadline.seconds_left else LATE
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
    with time_limit(seconds) as deadline:
        try:
            with sign_in(server, deadline) as client:
                client.noop()
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise ServiceError(explain(error) if deadline.seconds_left else LATE) from error
