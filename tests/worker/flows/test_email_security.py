"""E-mail of flows through servers that speak TLS, with certificates made for the test (flow format, send_email)."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from flows.engine.services import ServiceError
from relayboard.base.mail_server import read_mail_server
from tests.worker.flows.conftest import Stage
from tests.worker.flows.mail_receivers import Mailbox, receiving_mail
from tests.worker.flows.service_settings import with_settings
from tests.worker.flows.services.test_email import open_email, send
from worker.runtime import Runtime

HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusted(authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine trusts the authority."""
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))


def certify(authority: trustme.CA, name: str) -> ssl.SSLContext:
    """What a server needs to be known by a name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.mark.usefixtures("trusted")
class TestTrusted:
    @pytest.fixture
    def mailbox(self, authority: trustme.CA) -> Iterator[Mailbox]:
        with receiving_mail(("flows", "pass"), starttls=certify(authority, HERE)) as made:
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

    def test_smtps_speaks_tls_from_the_start(self, runtime: Runtime, authority: trustme.CA) -> None:
        with receiving_mail(tls=certify(authority, HERE)) as mailbox:
            open_email(runtime, mailbox.url(scheme="smtps", tls="")).send(["a@example.org"], "Hi", "Body")

        assert mailbox.tls_versions == ["TLSv1.3"]

    def test_a_certificate_for_another_name_is_refused(self, runtime: Runtime, authority: trustme.CA) -> None:
        with receiving_mail(starttls=certify(authority, "mail.example.org")) as mailbox:
            email = open_email(runtime, mailbox.url(tls=""))
            with pytest.raises(ServiceError, match="the secure connection to the mail server failed"):
                email.send(["a@example.org"], "Hi", "Body")

        assert mailbox.envelopes == []


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_of_an_unknown_authority_is_refused_before_the_login(
    runtime: Runtime, authority: trustme.CA, scheme: str
) -> None:
    context = certify(authority, HERE)
    secured = {"starttls": context} if scheme == "smtp" else {"tls": context}
    with receiving_mail(("flows", "pass"), **secured) as mailbox:
        email = open_email(runtime, mailbox.url("flows:pass@", scheme, ""))
        with pytest.raises(ServiceError, match="the secure connection to the mail server failed"):
            email.send(["a@example.org"], "Hi", "Body")

    assert (mailbox.envelopes, mailbox.logins) == ([], [])
