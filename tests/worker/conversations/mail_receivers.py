"""A real mail server that keeps what it gets."""

import contextlib
import socket
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword


class Mailbox:
    """Envelopes as they came; addresses in `refused` are refused."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.refused: set[str] = set()
        self.port = 0

    def url(self, user: str = "") -> str:
        return f"smtp://{user}127.0.0.1:{self.port}/?from=flows@example.org&tls=none"

    def read(self) -> EmailMessage:
        """The only message."""
        (envelope,) = self.envelopes
        read = message_from_bytes(bytes(envelope.content or b""), EmailMessage, policy=default)
        assert isinstance(read, EmailMessage)
        return read

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Envelope, address: str, _options: Any) -> str:
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        return "250 OK"


@contextlib.contextmanager
def receiving_mail(login: tuple[str, str] | None = None) -> Iterator[Mailbox]:
    """A mail server on this machine; with a login it takes nothing without it."""

    def authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: LoginPassword) -> AuthResult:
        return AuthResult(success=(given.login.decode(), given.password.decode()) == login, handled=False)

    mailbox = Mailbox()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        mailbox.port = free.getsockname()[1]
    options: dict[str, Any] = {"authenticator": authenticate, "auth_required": True, "auth_require_tls": False}
    controller = Controller(mailbox, "127.0.0.1", mailbox.port, **(options if login else {}))
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """The port of a server that lets everybody connect and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
