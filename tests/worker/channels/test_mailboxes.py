"""Mails that channels fetch by IMAP, from a mailbox on this machine: what is new is stored once, whatever ends."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from sqlalchemy import select

from channels import calls
from persistence.channels.channels import create_gateway
from persistence.channels.connections import BOUND, FAILED
from persistence.channels.gateway_reports import find_gateway, record_events
from persistence.channels.health import read_connection
from persistence.channels.settings import change_config, read_config
from persistence.tables.channels import channel, channel_connection, gateway_call
from persistence.tables.messages import INCOMING, media, message
from persistence.workspaces.records import Workspace
from testbed.gateways import SECRET
from testbed.mailboxes import Mailbox, running_mailbox, write_mail
from testbed.running import wait_until
from tests.certificates import certified
from tests.conftest import Clock
from tests.worker.conftest import ON_SQLITE
from tests.worker.flows.mail_receivers import silent_server
from worker.channels.email import begin_email, fetching
from worker.http.safe_http import SafeHttp
from worker.runtime import Runtime

MINUTE = timedelta(minutes=1)
READ = (BOUND, None)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with running_mailbox() as running:
        yield running


class Fetched:
    """A channel whose mails are fetched, and a worker that does it when it is told."""

    def __init__(self, runtime: Runtime, workspace: Workspace, port: int, clock: Clock, **config: str) -> None:
        self.runtime, self.database, self.workspace, self.clock = runtime, runtime.database, workspace, clock
        given = {"host": "127.0.0.1", "from_address": "clinic@example.org", "user": "clinic", "password": "pass"}
        given |= {"imap_host": "127.0.0.1", "imap_port": str(port), "imap_security": "none"}
        named: dict[str, Any] = {"name": "Mail", "address": "clinic@example.org", "schemes": ["mailto"]}
        with self.database.writing() as tx:
            stored = read_config("email", given | config)
            self.uuid = create_gateway(tx, workspace.id, "email", **named, secret=SECRET, config=stored)
            self.id = tx.execute(select(channel.c.id).where(channel.c.uuid == self.uuid)).scalar_one()
        self.step = begin_email(runtime)

    def texts(self) -> list[str]:
        with self.database.reading() as tx:
            rows = select(message.c.text).where(message.c.direction == INCOMING, message.c.channel_id == self.id)
            return list(tx.execute(rows.order_by(message.c.id)).scalars())

    @property
    def state(self) -> tuple[str | None, str | None]:
        with self.database.reading() as tx:
            found = read_connection(tx, self.workspace.id, self.id)
        return (None, None) if found is None else (found["state"], found["reason"])

    def look(self, state: tuple[str | None, str | None] = READ) -> None:
        """One look into the mailbox, up to its end, which leaves this state."""
        turns = self.turns()
        self.clock.advance(hours=1)
        self.step()
        wait_until(lambda: self.turns() not in ([], turns) and self.state == state, f"the mailbox to be {state}")

    def turns(self) -> list[Any]:
        """What differs after each turn, once the mailbox rests; empty before that."""
        rows = channel_connection.c
        with self.database.reading() as tx:
            found = select(rows.leased_until).where(rows.channel_id == self.id, rows.holder.is_(None))
            return list(tx.execute(found).scalars())

    def told(self) -> list[tuple[str, str | None, str | None]]:
        """The log of what came in: outcome, result, error."""
        rows = gateway_call.c
        with self.database.reading() as tx:
            found = select(rows.outcome, rows.result, rows.error).where(rows.direction == "in")
            return list(tx.execute(found.order_by(rows.id)).tuples())


@pytest.fixture
def made(runtime: Runtime, workspace: Workspace, mailbox: Mailbox, clock: Clock) -> Fetched:
    return Fetched(runtime, workspace, mailbox.port, clock)


def test_what_is_new_is_a_message_and_the_mailbox_stays_as_it_is(made: Fetched, mailbox: Mailbox, clock: Clock) -> None:
    mailbox.add(write_mail("Long ago"), clock() - timedelta(days=3))
    mailbox.add(write_mail("Hello", Message_ID="<m1@example.com>"), clock())

    made.look()
    assert made.texts() == ["Hello"]
    mailbox.add(write_mail("Yes", Message_ID="<m2@example.com>"), clock())
    mailbox.add(write_mail("Yes", Message_ID="<m3@example.com>"), clock())
    made.look()

    assert made.texts() == ["Hello", "Yes", "Yes"]
    assert mailbox.reads == [2, 3, 4]
    words = {each.split('"')[0].split(" ")[0] for each in mailbox.commands}
    assert words <= {"CAPABILITY", "EXAMINE", "UID", "LOGOUT"}


def test_more_mails_than_one_look_takes_are_taken_one_look_after_the_other(
    made: Fetched, mailbox: Mailbox, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MAILS_AT_ONCE", 2)
    for number in range(5):
        mailbox.add(write_mail(f"Mail {number}"), clock())

    made.step()

    wait_until(lambda: len(made.texts()) == 5, "all mails")
    assert sorted(made.texts()) == [f"Mail {number}" for number in range(5)]


def test_a_mail_that_is_posted_and_fetched_is_one_message(made: Fetched, mailbox: Mailbox, clock: Clock) -> None:
    posted = calls.Received("zoe@example.com", "Hello", "m1@example.com", subject="Re: x")
    with made.database.writing() as tx:
        record_events(tx, find_gateway(tx, "email", made.uuid, SECRET), [posted])
    mailbox.add(write_mail("Hello", Message_ID="<m1@example.com>"), clock())

    made.look()

    assert made.texts() == ["Hello"]


def test_mails_that_are_numbered_anew_are_no_new_messages(made: Fetched, mailbox: Mailbox, clock: Clock) -> None:
    mailbox.add(write_mail("Hello", Message_ID="<m1@example.com>"), clock())
    mailbox.add(write_mail("Without id"), clock())
    made.look()

    mailbox.renumber(first=1)
    mailbox.add(write_mail("More", Message_ID="<m2@example.com>"), clock())
    made.look()

    assert made.texts() == ["Hello", "Without id", "More"]


def test_what_is_too_large_is_not_fetched_and_what_nobody_can_read_is_passed_over(
    made: Fetched, mailbox: Mailbox, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "MOST_BYTES", 2000)
    mailbox.add(write_mail("x" * 3000), clock())
    mailbox.add(b"Subject: of nobody\r\n\r\nHello", clock())
    mailbox.add(write_mail("Hello"), clock())

    made.look()

    assert (made.texts(), mailbox.reads) == (["Hello"], [2, 3])
    large, strange, good = made.told()
    assert (large[0], large[2]) == (
        "refused",
        f"The mail has {len(mailbox.mails[1].content)} bytes; at most 2000 are read.",
    )
    assert strange == ("refused", None, "The mail has no sender: expected the header From with an address.")
    assert (good[0], good[2]) == ("accepted", None)


def test_files_are_kept_as_far_as_there_is_room(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, clock: Clock
) -> None:
    small = replace(runtime, settings=replace(runtime.settings, media_quota_bytes=1000))
    made = Fetched(small, workspace, mailbox.port, clock)
    for size in (2000, 900):
        mailbox.add(write_mail(f"{size} bytes", file=b"x" * size), clock())

    made.look()

    with made.database.reading() as tx:
        files = [each or [] for each in tx.execute(select(message.c.attachments).order_by(message.c.id)).scalars()]
        assert tx.execute(select(media.c.size)).scalars().all() == [900]
    assert (made.texts(), [len(each) for each in files]) == (["2000 bytes", "900 bytes"], [0, 1])


def test_a_mail_with_which_the_connection_ends_each_time_is_passed_over(
    made: Fetched, mailbox: Mailbox, clock: Clock
) -> None:
    def end(number: int) -> None:
        if number == 1:
            raise ConnectionError

    mailbox.before_giving = end
    mailbox.add(write_mail("Bad"), clock())
    mailbox.add(write_mail("Good"), clock())

    for _ in range(3):
        made.look((FAILED, "The mailbox closed the connection."))
        assert made.texts() == []
    made.look()

    assert (made.texts(), mailbox.reads) == (["Good"], [1, 1, 1, 2])
    assert made.told()[0][2] == fetching.TOO_OFTEN


def test_a_refused_login_is_said_and_tried_at_once_with_other_settings(
    made: Fetched, mailbox: Mailbox, clock: Clock
) -> None:
    mailbox.password = "another one"
    mailbox.add(write_mail("Hello"), clock())
    made.look((FAILED, "The mailbox refused the login."))

    with made.database.writing() as tx:
        change_config(tx, made.workspace.id, made.uuid, {"imap_password": "another one"})
    made.step()

    wait_until(lambda: made.state == READ, "the mailbox to be read")
    assert (made.texts(), mailbox.logins) == (["Hello"], ["clinic", "clinic"])


def test_settings_that_change_while_the_mailbox_is_read_are_tried_right_after(
    made: Fetched, mailbox: Mailbox, clock: Clock
) -> None:
    released = threading.Event()
    mailbox.before_giving = lambda _number: released.wait()
    mailbox.add(write_mail("Hello"), clock())
    made.step()
    wait_until(lambda: mailbox.reads == [1], "the mail to be asked for")

    with made.database.writing() as tx:
        change_config(tx, made.workspace.id, made.uuid, {"imap_folder": "Other"})
    released.set()

    gone = (FAILED, "The mailbox has no folder Other that can be read.")
    wait_until(lambda: made.state == gone, "the other folder to be looked for")
    assert made.texts() == ["Hello"]


@ON_SQLITE
def test_after_failures_the_mailbox_is_left_alone_for_longer(made: Fetched, mailbox: Mailbox, clock: Clock) -> None:
    mailbox.password = "another one"
    pauses = []
    for _ in range(6):
        made.look((FAILED, "The mailbox refused the login."))
        with made.database.reading() as tx:
            until = tx.execute(select(channel_connection.c.leased_until)).scalar_one()
            pauses.append(round((until - clock()) / MINUTE))

    assert pauses == [1, 2, 4, 8, 15, 15]


@ON_SQLITE
@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"imap_folder": "Other"}, "The mailbox has no folder Other that can be read."),
        ({"imap_security": "starttls"}, "The mailbox does not offer STARTTLS."),
        ({"imap_host": ""}, None),
    ],
)
def test_what_is_wrong_with_the_settings_is_said(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, clock: Clock, setting: dict[str, str], reason: str | None
) -> None:
    made = Fetched(runtime, workspace, mailbox.port, clock, **setting)

    made.look((None, None) if reason is None else (FAILED, reason))


@ON_SQLITE
def test_a_server_that_says_more_than_was_asked_for_is_not_listened_to(made: Fetched, mailbox: Mailbox) -> None:
    mailbox.babble = b"* OK babble\r\n" * 100_000

    made.look((FAILED, "The mailbox says more than was asked for."))


@ON_SQLITE
def test_a_private_network_is_called_only_if_the_operator_allows_it(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, clock: Clock
) -> None:
    made = Fetched(replace(runtime, http=SafeHttp()), workspace, mailbox.port, clock)

    made.look((FAILED, "127.0.0.1 is in a network that this service may not call."))
    assert mailbox.commands == []


@ON_SQLITE
@pytest.mark.parametrize(
    ("security", "offers", "password"),
    [("starttls", "IMAP4rev1", 'pa"ss\\'), ("tls", "IMAP4rev1 AUTH=PLAIN", "päss")],
)
def test_a_password_is_told_only_under_tls_to_a_server_that_proves_its_name(
    runtime: Runtime, workspace: Workspace, clock: Clock, tmp_path: Path, security: str, offers: str, password: str
) -> None:
    authority, file = trustme.CA(), tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    context = certified(authority, tmp_path)
    secured: dict[str, Any] = {security: context}
    with running_mailbox(**secured) as mailbox:
        mailbox.capabilities, mailbox.password = offers, password
        mailbox.add(write_mail("Hello"), clock())
        made = Fetched(runtime, workspace, mailbox.port, clock, imap_security=security, imap_password=password)
        made.step()
        wait_until(lambda: made.state[0] == FAILED, "the refusal")
        assert "secure connection" in str(made.state[1])
        assert mailbox.logins == []
        runtime.http.certificates = str(file)
        made.look()

    assert (made.texts(), mailbox.logins) == (["Hello"], ["clinic"])


def test_a_silent_mailbox_holds_up_no_other(
    runtime: Runtime, workspace: Workspace, mailbox: Mailbox, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TURN_SECONDS", 2.0)
    monkeypatch.setattr(fetching, "LAST_SECONDS", 0.0)
    mailbox.add(write_mail("Hello"), clock())
    with silent_server() as port:
        silent = Fetched(runtime, workspace, port, clock)
        made = Fetched(runtime, workspace, mailbox.port, clock)
        made.step()
        wait_until(lambda: made.texts() == ["Hello"], "the mail of the other one")
        wait_until(lambda: silent.state == (FAILED, "The mailbox did not answer in time."), "the end of the silence")


def test_two_workers_read_a_mailbox_in_turn(runtime: Runtime, made: Fetched, mailbox: Mailbox, clock: Clock) -> None:
    released = threading.Event()
    mailbox.before_giving = lambda _number: released.wait()
    for number in range(3):
        mailbox.add(write_mail(f"Mail {number}"), clock())
    other = replace(runtime, closing=type(runtime.closing)(), stopping=type(runtime.stopping)())
    with other.closing:
        steps = (made.step, begin_email(other))
        for step in steps:
            step()
        wait_until(lambda: mailbox.reads == [1], "the first mail to be asked for")
        for step in steps:
            step()
        released.set()
        wait_until(lambda: len(made.texts()) == 3, "all mails")

    assert (mailbox.reads, mailbox.most_open) == ([1, 2, 3], 1)
