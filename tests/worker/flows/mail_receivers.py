"""A real mail server that keeps what it gets."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from ssl import SSLContext
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword


class Mailbox:
    """Envelopes as they came and with which version of TLS, and who logged in; addresses in `refused` are refused.
    `says` has the reply to each whole mail: one that is empty ends the connection instead. The answer to the command
    `held` waits until it is `released`, `waiting` says that one does.
    """

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.tls_versions: list[str | None] = []
        self.logins: list[str] = []
        self.refused: set[str] = set()
        self.refuses_with = "550 no such mailbox"
        self.says = "250 OK"
        self.held = ""
        self.waiting, self.released = threading.Event(), threading.Event()
        self.port = 0

    def url(self, user: str = "", scheme: str = "smtp", tls: str = "&tls=none") -> str:
        return f"{scheme}://{user}127.0.0.1:{self.port}/?from=flows@example.org{tls}"

    def read(self) -> EmailMessage:
        """The only message."""
        (envelope,) = self.envelopes
        read = message_from_bytes(bytes(envelope.content or b""), EmailMessage, policy=default)
        assert isinstance(read, EmailMessage)
        return read

    async def handle_RCPT(self, _server: Any, _session: Any, envelope: Envelope, address: str, _options: Any) -> str:
        await self._hold("RCPT")
        if address in self.refused:
            return self.refuses_with
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, _session: Any, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        secure = None if server.transport is None else server.transport.get_extra_info("ssl_object")
        self.tls_versions.append(None if secure is None else secure.version())
        await self._hold("DATA")
        if not self.says and server.transport is not None:
            server.transport.close()
        return self.says or "250 OK"

    async def _hold(self, command: str) -> None:
        if self.held == command:
            self.waiting.set()
            await asyncio.to_thread(self.released.wait)


@contextlib.contextmanager
def receiving_mail(
    login: tuple[str, str] | None = None, *, starttls: SSLContext | None = None, tls: SSLContext | None = None
) -> Iterator[Mailbox]:
    """A mail server on this machine; with a login it takes nothing without it, with TLS nothing in clear."""

    def authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: LoginPassword) -> AuthResult:
        mailbox.logins.append(given.login.decode())
        return AuthResult(success=(given.login.decode(), given.password.decode()) == login, handled=False)

    mailbox = Mailbox()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        mailbox.port = free.getsockname()[1]
    options: dict[str, Any] = {"tls_context": starttls, "require_starttls": starttls is not None, "ssl_context": tls}
    if login:
        options |= {"authenticator": authenticate, "auth_required": True, "auth_require_tls": starttls is not None}
    controller = Controller(mailbox, "127.0.0.1", mailbox.port, **options)
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
