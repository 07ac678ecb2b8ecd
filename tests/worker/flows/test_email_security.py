"""E-mail of flows through servers that speak TLS, with certificates made for the test (flow format, send_email)."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import trustme

from flows.engine.services import ServiceError
from relayboard.base.mail_server import read_mail_server
from testbed.patience import PATIENCE_SECONDS
from tests.certificates import HERE, REFUSED, certified
from tests.worker.flows.conftest import Stage
from tests.worker.flows.mail_receivers import Mailbox, receiving_mail
from tests.worker.flows.service_settings import with_settings
from tests.worker.flows.services.test_email import open_email, send
from worker.flows.services.email import check_mail_server
from worker.runtime import Runtime


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine trusts the authority."""
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


@pytest.mark.usefixtures("trusted")
class TestTrusted:
    @pytest.fixture
    def mailbox(self, authority: trustme.CA, tmp_path: Path) -> Iterator[Mailbox]:
        with receiving_mail(("flows", "pass"), starttls=certified(authority, tmp_path)) as made:
            yield made

    @pytest.fixture
    def runtime(self, runtime: Runtime, mailbox: Mailbox) -> Runtime:
        return with_settings(runtime, smtp_url=read_mail_server(mailbox.url("flows:pass@", tls="")))

    def test_a_flow_logs_in_and_sends_under_starttls(self, stage: Stage, mailbox: Mailbox) -> None:
        amina = send(stage, "a@example.org")

        assert mailbox.read()["Subject"] == "Visit of Amina"
        assert mailbox.tls_versions == ["TLSv1.3"]
        assert stage.sent_to(amina) == ["Done"]

    def test_a_server_that_wants_tls_gets_nothing_in_clear(self, runtime: Runtime, mailbox: Mailbox) -> None:
        with pytest.raises(ServiceError):
            open_email(runtime, mailbox.url(tls="&tls=none")).send(["a@example.org"], "Hi", "Body")

        assert mailbox.envelopes == []

    def test_smtps_speaks_tls_from_the_start(self, runtime: Runtime, authority: trustme.CA, tmp_path: Path) -> None:
        with receiving_mail(tls=certified(authority, tmp_path)) as mailbox:
            open_email(runtime, mailbox.url(scheme="smtps", tls="")).send(["a@example.org"], "Hi", "Body")

        assert mailbox.tls_versions == ["TLSv1.3"]

    @pytest.mark.parametrize("kind", REFUSED)
    @pytest.mark.parametrize("scheme", ["smtp", "smtps"])
    def test_a_certificate_that_is_not_accepted_is_told_by_its_kind_before_the_login(
        self, runtime: Runtime, authority: trustme.CA, tmp_path: Path, scheme: str, kind: str
    ) -> None:
        context = certified(authority, tmp_path, kind)
        secured = {"starttls": context} if scheme == "smtp" else {"tls": context}
        said = f"the secure connection to the mail server failed: {REFUSED[kind]}"
        with receiving_mail(("flows", "pass"), **secured) as mailbox:
            url = mailbox.url("flows:pass@", scheme, "")
            with pytest.raises(ServiceError, match=said):
                open_email(runtime, url).send(["a@example.org"], "Hi", "Body")
            server = read_mail_server(url)
            assert server is not None
            with pytest.raises(ServiceError, match=said):
                check_mail_server(server, PATIENCE_SECONDS)

        assert (mailbox.envelopes, mailbox.logins) == ([], [])


ENDLESS = {
    "lines without an end": [b"220-mail.example.org is here\r\n"] * 100_000,
    "a line without an end": [b"220 " + b"x" * 65536] * 100,
    "no number": [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_mail_server_that_says_too_much_or_something_else_is_left(runtime: Runtime, name: str) -> None:
    with speaking(ENDLESS[name]) as url, pytest.raises(ServiceError, match=r"does not speak SMTP as expected|closed"):
        open_email(runtime, url).send(["a@example.org"], "Hi", "Body")


def test_a_mail_server_that_speaks_byte_by_byte_has_the_time_of_one_call(runtime: Runtime) -> None:
    drips = [b"220-", *[b"x"] * 500]
    with speaking(drips, pause_seconds=0.02) as url:
        with pytest.raises(ServiceError, match="did not answer in time"):
            open_email(runtime, url, webhook_timeout_seconds=0.5).send(["a@example.org"], "Hi", "Body")
        server = read_mail_server(url)
        assert server is not None
        with pytest.raises(ServiceError, match="did not answer in time"):
            check_mail_server(server, 0.5)


@contextlib.contextmanager
def speaking(pieces: Sequence[bytes], pause_seconds: float = 0.0) -> Iterator[str]:
    """The URL of a mail server that says this to whoever connects."""
    stopped = threading.Event()

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client, contextlib.suppress(OSError):
                for piece in pieces:
                    stopped.wait(pause_seconds)
                    client.sendall(piece)

    with socket.create_server((HERE, 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"smtp://{HERE}:{listening.getsockname()[1]}/?from=flows@example.org&tls=none"
        stopped.set()
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()
