"""E-mail of flows through a real mail server (flow format, send_email)."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from flows.engine.services import ServiceError
from testbed.flow_rows import definition, node, say, store_flow, uuid_of
from testbed.set_by_name import by_name
from tests.worker.conftest import ON_SQLITE
from tests.worker.flows.conftest import Stage
from tests.worker.flows.mail_receivers import Mailbox, receiving_mail, silent_server
from tests.worker.flows.service_settings import with_settings
from worker.flows.services.email import FlowEmail
from worker.runtime import Runtime

AMINA = "+254722000111"
pytestmark = ON_SQLITE


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with receiving_mail() as made:
        yield made


def with_mail(runtime: Runtime, url: str, **changes: Any) -> Runtime:
    return with_settings(runtime, **by_name(SMTP_URL=url), **changes)


def open_email(runtime: Runtime, url: str, before_call: Any = lambda: None, **changes: Any) -> FlowEmail:
    made = with_mail(runtime, url, **changes)
    assert made.settings.smtp_url is not None
    return FlowEmail(made, made.settings.smtp_url, before_call)


def send(stage: Stage, *addresses: str) -> int:
    """A flow that sends an e-mail and goes on to a message is started for Amina; returns her id."""
    email = {
        "type": "send_email",
        "uuid": uuid_of("email"),
        "addresses": list(addresses),
        "subject": "Visit of @contact.name",
        "body": "Zwölf Uhr.\nBye",
    }
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(
        store_flow(stage.database, stage.workspace, definition("Mail", [node("a", [email, say("Done")])])), amina
    )
    stage.work()
    return amina


class TestInFlows:
    @pytest.fixture
    def runtime(self, runtime: Runtime, mailbox: Mailbox) -> Runtime:
        return with_mail(runtime, mailbox.url())

    def test_an_email_reaches_all_its_addresses(self, stage: Stage, mailbox: Mailbox) -> None:
        amina = send(stage, "a@example.org", "b@example.org")

        message = mailbox.read()
        assert mailbox.envelopes[0].mail_from == "flows@example.org"
        assert mailbox.envelopes[0].rcpt_tos == ["a@example.org", "b@example.org"]
        assert (message["Subject"], message["From"]) == ("Visit of Amina", "flows@example.org")
        assert message.get_content().splitlines() == ["Zwölf Uhr.", "Bye"]
        assert stage.sent_to(amina) == ["Done"]

    def test_a_refused_address_does_not_stop_the_flow(self, stage: Stage, mailbox: Mailbox) -> None:
        mailbox.refused = {"a@example.org"}

        amina = send(stage, "a@example.org")

        assert (mailbox.envelopes, stage.sent_to(amina)) == ([], ["Done"])


def test_without_a_mail_server_the_flow_goes_on(stage: Stage) -> None:
    amina = send(stage, "a@example.org")

    assert stage.sent_to(amina) == ["Done"]


@pytest.mark.parametrize(
    "address", ["a@example.org, b@example.org", "a@example.org\r\nBcc: c@example.org", "a", "<a@b>"]
)
def test_only_plain_addresses_are_written_to(runtime: Runtime, mailbox: Mailbox, address: str) -> None:
    with pytest.raises(ServiceError, match="not an e-mail address"):
        open_email(runtime, mailbox.url()).send([address], "Hi", "Body")

    assert mailbox.envelopes == []


def test_fifty_addresses_are_written_to_and_no_more(runtime: Runtime, mailbox: Mailbox) -> None:
    addresses = [f"a{number}@example.org" for number in range(51)]
    email = open_email(runtime, mailbox.url())

    email.send(addresses[:50], "Hi", "Body")
    with pytest.raises(ServiceError, match="at most 50"):
        email.send(addresses, "Hi", "Body")

    assert [each.rcpt_tos for each in mailbox.envelopes] == [addresses[:50]]


def test_an_address_that_is_named_twice_is_written_to_once(runtime: Runtime, mailbox: Mailbox) -> None:
    open_email(runtime, mailbox.url()).send(["a@example.org", "b@example.org", "a@example.org"], "Hi", "Body")

    assert mailbox.envelopes[0].rcpt_tos == ["a@example.org", "b@example.org"]


def test_one_refused_address_fails_the_email_that_the_others_got(runtime: Runtime, mailbox: Mailbox) -> None:
    mailbox.refused = {"a@example.org"}

    with pytest.raises(ServiceError, match="refused an address"):
        open_email(runtime, mailbox.url()).send(["a@example.org", "b@example.org"], "Hi", "Body")

    assert [each.rcpt_tos for each in mailbox.envelopes] == [["b@example.org"]]


def test_a_subject_cannot_add_headers(runtime: Runtime, mailbox: Mailbox) -> None:
    with pytest.raises(ServiceError, match="subject"):
        open_email(runtime, mailbox.url()).send(["a@example.org"], "Hi\r\nBcc: c@example.org", "Body")

    assert mailbox.envelopes == []


def test_a_login_is_used_and_a_refused_one_is_told_without_the_password(runtime: Runtime, caplog: Any) -> None:
    with receiving_mail(("flows", "hidden-pass")) as mailbox:
        open_email(runtime, mailbox.url("flows:hidden-pass@")).send(["a@example.org"], "Hi", "Body")
        with caplog.at_level(logging.DEBUG), pytest.raises(ServiceError, match="refused the login") as failed:
            open_email(runtime, mailbox.url("flows:hidden-no@")).send(["a@example.org"], "Hi", "Body")

    assert len(mailbox.envelopes) == 1
    assert "hidden" not in caplog.text + str(failed.value)


def test_a_server_without_starttls_gets_nothing(runtime: Runtime, mailbox: Mailbox) -> None:
    url = mailbox.url().replace("&tls=none", "")

    with pytest.raises(ServiceError, match="does not support what the settings require"):
        open_email(runtime, url).send(["a@example.org"], "Hi", "Body")

    assert mailbox.envelopes == []


def test_a_silent_server_is_given_up(runtime: Runtime) -> None:
    with silent_server() as port:
        email = open_email(
            runtime, f"smtp://127.0.0.1:{port}/?from=a@example.org&tls=none", webhook_timeout_seconds=0.2
        )

        with pytest.raises(ServiceError, match="in time"):
            email.send(["a@example.org"], "Hi", "Body")


def test_whoever_holds_turns_is_told_before_each_email(runtime: Runtime, mailbox: Mailbox) -> None:
    seen: list[int] = []
    email = open_email(runtime, mailbox.url(), lambda: seen.append(len(mailbox.envelopes)))

    email.send(["a@example.org"], "Hi", "Body")
    email.send(["a@example.org"], "Hi", "Body")

    assert seen == [0, 1]
