"""Channels that send e-mail, at a mail server that says yes, later, never, or nothing any more."""

from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trustme
from sqlalchemy import select, update

from channels import calls
from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.channels.gateway_reports import find_gateway, record_events
from persistence.channels.settings import read_config
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel, gateway_call
from persistence.tables.contacts import contact
from persistence.tables.messages import gateway_send, message
from persistence.workspaces.records import Workspace
from testbed.gateways import SECRET, states_of
from testbed.running import wait_until
from tests.certificates import certified
from tests.worker.flows.mail_receivers import Mailbox, receiving_mail, silent_server
from worker.channels.email import begin_email
from worker.runtime import Runtime

PERSON = "zoe@example.com"
WIRED, QUEUED, ERRORED = ("wired", None), ("queued", None), ("errored", None)
FAILED = ("failed", "gateway_failed")


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with receiving_mail() as made:
        yield made


class Channel:
    """A channel that sends by a mail server on this machine."""

    def __init__(self, database: Database, workspace: Workspace, port: int, **config: str) -> None:
        self.database, self.workspace = database, workspace
        given = {"host": "127.0.0.1", "port": str(port), "security": "none", "from_address": "clinic@example.org"}
        options: dict[str, Any] = {"schemes": ["mailto"], "config": read_config("email", given | config)}
        with database.writing() as tx:
            address = {"name": "Mail", "address": "clinic@example.org", "secret": SECRET}
            self.uuid = create_gateway(tx, workspace.id, "email", **address, **options)
            self.id = tx.execute(select(channel.c.id).where(channel.c.uuid == self.uuid)).scalar_one()

    def send(self, text: str = "Good morning") -> int:
        urn = Urn("mailto", PERSON)
        with self.database.writing() as tx:
            owner = ensure_owners(tx, self.workspace.id, [urn])[urn.identity]
            return create_outgoing(tx, self.workspace.id, [Draft(owner.contact_id, text)], channel_id=self.id)[0]

    def hear(self, *events: calls.Event) -> None:
        with self.database.writing() as tx:
            record_events(tx, find_gateway(tx, "email", self.uuid, SECRET), events)

    def wait_for(self, message_id: int, state: tuple[str, str | None]) -> None:
        wait_until(lambda: states_of(self.database, [message_id]) == [state], f"the message to be {state}")

    def calls(self) -> list[tuple[Any, ...]]:
        rows = gateway_call.c
        with self.database.reading() as tx:
            return [
                tuple(row)
                for row in tx.execute(
                    select(rows.outcome, rows.status, rows.error).where(rows.direction == "out").order_by(rows.id)
                )
            ]

    def let_pauses_pass(self) -> None:
        with self.database.writing() as tx:
            tx.execute(update(gateway_send).values(due_on=gateway_send.c.created_on))
            tx.execute(update(channel).values(paused_until=None))


def test_a_message_is_handed_in_and_its_bounce_fails_it(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox
) -> None:
    made = Channel(runtime.database, workspace, mailbox.port)
    sent = made.send()

    begin_email(runtime)()

    made.wait_for(sent, WIRED)
    (envelope,), mail = mailbox.envelopes, mailbox.read()
    assert (envelope.mail_from, envelope.rcpt_tos) == ("clinic@example.org", [PERSON])
    assert mail.get_content().strip() == "Good morning"
    made.hear(calls.Status("failed", mail["Message-ID"].strip("<>"), reason="no mailbox"))
    assert [state for state, _ in states_of(runtime.database, [sent])] == ["failed"]


def test_an_answer_stands_under_the_last_mail_of_the_person(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox
) -> None:
    made = Channel(runtime.database, workspace, mailbox.port)
    for number in (1, 2):
        made.hear(calls.Received(PERSON, "Hello", f"m{number}@example.com", subject=f"Visit {number}"))
    sent = made.send("Welcome")

    begin_email(runtime)()

    made.wait_for(sent, WIRED)
    mail = mailbox.read()
    assert (mail["In-Reply-To"], mail["Subject"]) == ("<m2@example.com>", "Re: Visit 2")


@pytest.mark.parametrize(
    ("says", "state"),
    [("550 no such mailbox", FAILED), ("552 mailbox full", FAILED), ("452 mailbox full", QUEUED)],
)
def test_what_the_server_says_of_a_mailbox_counts(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, says: str, state: tuple[str, str | None]
) -> None:
    mailbox.refused.add(PERSON)
    mailbox.refuses_with = says
    made = Channel(runtime.database, workspace, mailbox.port)
    sent, step = made.send(), begin_email(runtime)

    step()

    wait_until(lambda: bool(made.calls()), "the server to be asked")
    made.wait_for(sent, state)
    assert made.calls() == [("refused", int(says[:3]), f"The mail server says {says[:3]}: {says[4:]}")]
    if state == QUEUED:
        mailbox.refused.clear()
        made.let_pauses_pass()
        step()
        made.wait_for(sent, WIRED)


@pytest.mark.parametrize(
    ("says", "pauses_channel"),
    [("451 come again", False), ("421 closing", True), ("554 spam", None), ("552 too large", None)],
)
def test_what_the_server_says_to_the_text_counts(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, says: str, pauses_channel: bool | None
) -> None:
    mailbox.says = says
    made = Channel(runtime.database, workspace, mailbox.port)
    sent, step = made.send(), begin_email(runtime)

    step()

    wait_until(lambda: bool(made.calls()), "the server to be asked")
    if pauses_channel is None:
        made.wait_for(sent, FAILED)
        return
    made.wait_for(sent, QUEUED)
    with runtime.database.reading() as tx:
        paused = tx.execute(select(channel.c.paused_until).where(channel.c.id == made.id)).scalar_one()
    assert (paused is not None) == pauses_channel
    mailbox.says = "250 OK"
    made.let_pauses_pass()
    step()
    made.wait_for(sent, WIRED)
    first, second = (message_from_bytes(bytes(each.content or b""), policy=default) for each in mailbox.envelopes)
    assert first["Message-ID"] == second["Message-ID"]


def test_a_connection_that_ends_after_the_text_leaves_it_open_whether_it_arrived(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox
) -> None:
    mailbox.says = ""
    made = Channel(runtime.database, workspace, mailbox.port)
    sent = made.send()

    begin_email(runtime)()

    made.wait_for(sent, ERRORED)
    ((outcome, status, error),) = made.calls()
    assert (outcome, status) == ("unanswered", None)
    assert error.endswith("Nobody knows whether the mail server has the message.")


def test_a_server_that_nobody_reaches_is_asked_three_times(runtime: Runtime, workspace: Workspace) -> None:
    with receiving_mail() as gone:
        pass
    made = Channel(runtime.database, workspace, gone.port)
    sent, step = made.send(), begin_email(runtime)

    for number, state in enumerate((ERRORED, ERRORED, FAILED), start=1):
        made.let_pauses_pass()
        step()
        wait_until(partial(lambda count: len(made.calls()) == count, number), "the next attempt")
        made.wait_for(sent, state)
    assert made.calls()[0] == ("unanswered", None, "127.0.0.1 refused the connection.")


def test_a_private_network_is_called_only_if_the_operator_allows_it(runtime: Runtime, workspace: Workspace) -> None:
    runtime.http.allowed_networks = ()
    with receiving_mail() as mailbox:
        made = Channel(runtime.database, workspace, mailbox.port)
        sent = made.send()
        begin_email(runtime)()
        made.wait_for(sent, ERRORED)

    assert made.calls() == [("unanswered", None, "127.0.0.1 is in a network that this service may not call.")]
    assert mailbox.envelopes == []


def test_a_silent_server_holds_up_no_other_channel(runtime: Runtime, workspace: Workspace, mailbox: Mailbox) -> None:
    with silent_server() as port:
        silent = Channel(runtime.database, workspace, port)
        held = silent.send()
        quick = Channel(runtime.database, workspace, mailbox.port)
        sent = quick.send()
        begin_email(runtime)()
        quick.wait_for(sent, WIRED)
        assert states_of(runtime.database, [held])[0][0] in ("queued", "errored")


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_password_is_told_only_under_tls_to_a_server_that_proves_its_name(
    runtime: Runtime, workspace: Workspace, tmp_path: Path, security: str
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    secured = {security: certified(authority, tmp_path)}
    with receiving_mail(("clinic", "pass"), **secured) as mailbox:
        made = Channel(runtime.database, workspace, mailbox.port, security=security, user="clinic", password="pass")
        first, step = made.send(), begin_email(runtime)
        step()
        made.wait_for(first, ERRORED)
        assert mailbox.logins == []
        runtime.http.certificates = str(tmp_path / "authority.pem")
        made.let_pauses_pass()
        step()
        made.wait_for(first, WIRED)

    assert (mailbox.logins, mailbox.tls_versions) == (["clinic"], ["TLSv1.3"])
    assert "secure connection" in made.calls()[0][2]


def test_a_wrong_password_is_said_without_it(runtime: Runtime, workspace: Workspace, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    runtime.http.certificates = str(tmp_path / "authority.pem")
    with receiving_mail(("clinic", "pass"), tls=certified(authority, tmp_path)) as mailbox:
        made = Channel(runtime.database, workspace, mailbox.port, security="tls", user="clinic", password="wrong")
        sent = made.send()
        begin_email(runtime)()
        made.wait_for(sent, ERRORED)

    assert made.calls() == [("unanswered", None, "The mail server refused the login.")]


def test_whoever_unsubscribes_is_stopped(runtime: Runtime, workspace: Workspace, mailbox: Mailbox) -> None:
    made = Channel(runtime.database, workspace, mailbox.port)
    sent = made.send()
    made.hear(calls.Stopped(PERSON))

    with runtime.database.reading() as tx:
        assert tx.execute(select(contact.c.status)).scalars().all() == ["stopped"]
        assert tx.execute(select(message.c.status).where(message.c.id == sent)).scalar_one() == "failed"
