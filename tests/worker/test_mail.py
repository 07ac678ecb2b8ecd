"""Letters about accounts: links to sign in and invitations, from the request to the mailbox and back."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from persistence.accounts.invitations import finish_letter
from persistence.changes import change_messages
from persistence.contacts.participants import mention
from persistence.database import Database, Transaction
from persistence.tables.accounts import account_mail, sign_in_link, user
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from relayboard.base.mail_server import read_mail_server
from relayboard.base.settings import RateLimit, Settings
from testbed.tokens import make_token
from tests.accounts import ACCOUNT, EMAIL, LABELS, PASSWORD, Browser, add_person, serving
from tests.conftest import Clock
from tests.factories import id_of, make_contact, make_messages
from tests.worker.flows.mail_receivers import Mailbox, receiving_mail
from tests.worker.flows.service_settings import with_settings
from worker import jobs
from worker.jobs import begin_mail, begin_reminders
from worker.runtime import Runtime

LINKS, ENTER = "/api/v2/sign_in_links.json", "/api/v2/link_sessions.json"


@pytest.fixture(scope="module")
def mail_server() -> Iterator[Mailbox]:
    with receiving_mail() as mailbox:
        yield mailbox


def message_text(content: Any) -> str:
    text: str = message_from_bytes(bytes(content or b""), EmailMessage, policy=default).get_content()
    return text


@dataclass
class Post:
    """A service and a worker with a mail server."""

    client: TestClient
    mailbox: Mailbox
    runtime: Runtime

    def deliver(self) -> list[str]:
        """Works off what is due; returns the links in the letters that came."""
        self.mailbox.envelopes.clear()
        step = begin_mail(self.runtime)
        while step():
            pass
        texts = [message_text(each.content) for each in self.mailbox.envelopes]
        return [next(line for line in text.splitlines() if "/#/" in line) for text in texts]


@pytest.fixture
def post(
    mail_server: Mailbox, runtime: Runtime, database: Database, settings: Settings, workspace: Workspace
) -> Iterator[Post]:
    mail_server.refused.clear()
    add_person(database, workspace, password=None)
    changes: dict[str, Any] = {"smtp_url": read_mail_server(mail_server.url()), "base_url": "http://testserver"}
    changes["sign_in_limit"] = RateLimit(3, timedelta(hours=1))
    with serving(database, settings, **changes) as client:
        yield Post(client, mail_server, with_settings(runtime, **changes))


def ask(post: Post, email: str = EMAIL) -> int:
    return Browser(post.client).post(LINKS, {"email": email}).status_code


def secret_in(link: str) -> str:
    return link.rpartition("/")[2]


def test_a_mailed_link_signs_in_once(post: Post) -> None:
    assert ask(post, EMAIL.title()) == 204
    (link,) = post.deliver()
    browser = Browser(post.client)

    assert link.startswith("http://testserver/#/sign-in/rbl_")
    statuses = [browser.post(ENTER, {"link": secret_in(link)}).status_code for _ in range(2)]
    assert statuses == [201, 403]
    assert browser.get(LABELS).status_code == 200


def test_who_came_by_a_link_sets_a_password_without_the_old_one_but_only_soon(post: Post, clock: Clock) -> None:
    ask(post)
    browser = Browser(post.client)
    browser.post(ENTER, {"link": secret_in(post.deliver()[0])})
    browser.headers["X-CSRF-Token"] = browser.get(ACCOUNT).json()["csrf_token"]

    assert browser.post(ACCOUNT, {"password": PASSWORD}).status_code == 200
    clock.advance(minutes=16)
    assert browser.post(ACCOUNT, {"password": "another long sentence"}).status_code == 400
    assert Browser(post.client).sign_in().status_code == 201


def test_who_chose_so_is_mailed_once_of_what_waits_when_they_have_not_looked_for_an_hour(
    post: Post, database: Database, workspace: Workspace, clock: Clock
) -> None:
    def choose(of: str) -> None:
        assert browser.post(ACCOUNT, {"mail_of": of, "mail_language": "fr"}).json()["workspace"]["mail_of"] == of

    def look() -> None:
        assert browser.post("/api/v2/participants.json", {"contact": amina, "state": "gone"}).status_code == 204

    def mails() -> list[str]:
        for _ in range(2):
            begin_reminders(post.runtime)()
        return post.deliver()

    ask(post)
    browser = Browser(post.client)
    browser.post(ENTER, {"link": secret_in(post.deliver()[0])})
    browser.headers["X-CSRF-Token"] = browser.get(ACCOUNT).json()["csrf_token"]
    amina = make_contact(database, workspace, "+250788000111")
    made = make_messages(database, workspace, amina)
    with database.writing() as tx:
        change_messages(tx, workspace.id, made, {"contact_id": message.c.contact_id})
    clock.advance(hours=2)
    assert mails() == []

    choose("unassigned")
    look()
    assert mails() == []
    clock.advance(hours=1)
    assert mails() == ["http://testserver/#/inbox?folder=unread"]
    (letter,) = post.mailbox.envelopes
    assert "1" in message_text(letter.content) and "non lues" in message_text(letter.content)
    clock.advance(hours=2)
    assert mails() == []
    other = id_of(database, make_contact(database, workspace, "+250788000222"))
    with database.writing() as tx:
        # To be named is not to look.
        mention(tx, workspace.id, [other], [tx.execute(select(user.c.id).where(user.c.email == EMAIL)).scalar_one()])
    clock.advance(hours=1)
    assert mails() == []

    look()
    choose("mine")
    clock.advance(hours=1)
    assert mails() == []
    choose("all")
    assert len(mails()) == 1
    look()
    assert browser.post("/api/v2/conversations.json", {"contacts": [amina], "action": "read"}).status_code == 204
    clock.advance(hours=1)
    assert mails() == []


def test_a_link_lasts_fifteen_minutes(post: Post, clock: Clock) -> None:
    ask(post)
    (link,) = post.deliver()
    clock.advance(minutes=15)

    assert Browser(post.client).post(ENTER, {"link": secret_in(link)}).status_code == 403


def test_nobody_learns_who_has_an_account(post: Post) -> None:
    assert ask(post, "nobody@example.org") == 204
    assert post.deliver() == []


def test_requests_for_links_are_limited_for_every_address(post: Post) -> None:
    assert [ask(post, "nobody@example.org") for _ in range(4)] == [204, 204, 204, 429]


def test_only_the_last_five_links_work(post: Post, clock: Clock, database: Database) -> None:
    for _ in range(2):
        for _ in range(3):
            ask(post)
        post.deliver()
        clock.advance(minutes=1)
        with database.writing() as tx:
            tx.connection.exec_driver_sql("DELETE FROM sign_in_window")

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(sign_in_link)).scalar_one() == 5


def test_a_letter_that_is_not_taken_is_tried_again_until_it_is_too_late(post: Post, clock: Clock) -> None:
    post.mailbox.refused.add(EMAIL)
    ask(post)
    assert post.deliver() == []
    post.mailbox.refused.clear()
    assert post.deliver() == []
    clock.advance(seconds=31)
    assert len(post.deliver()) == 1

    ask(post)
    clock.advance(minutes=16)
    assert post.deliver() == []


def test_a_letter_that_was_sent_while_the_database_went_away_is_not_sent_again(
    post: Post, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = [OperationalError(None, None, Exception("the server closed the connection"))]

    def finish_or_fail(tx: Transaction, letter_id: int) -> None:
        if away:
            raise away.pop()
        finish_letter(tx, letter_id)

    monkeypatch.setattr(jobs, "finish_letter", finish_or_fail)
    assert ask(post) == 204
    post.mailbox.envelopes.clear()
    step = begin_mail(post.runtime)
    with pytest.raises(OperationalError):
        step()
    clock.advance(minutes=10)
    while step():
        pass

    assert len(post.mailbox.envelopes) == 1
    with post.runtime.database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(account_mail)).scalar_one() == 0


def test_an_invitation_is_mailed_and_its_letter_is_encrypted_until_then(
    post: Post, database: Database, workspace: Workspace
) -> None:
    headers = {"Authorization": f"Token {make_token(database, workspace, 'administrator')}"}
    body = {"email": "grace@example.org", "role": "agent"}
    post.client.post("/api/v2/invitations.json", json=body, headers=headers)
    with database.reading() as tx:
        stored = tx.connection.exec_driver_sql("SELECT content FROM account_mail").scalar_one()
    (link,) = post.deliver()

    assert secret_in(link).startswith("rbi_") and "rbi_" not in stored
    accepted = Browser(post.client).post(
        "/api/v2/invitation_sessions.json", {"invitation": secret_in(link), "password": PASSWORD}
    )
    assert accepted.status_code == 201
    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(account_mail)).scalar_one() == 0


def test_without_a_mail_server_the_service_says_so(
    database: Database, settings: Settings, workspace: Workspace
) -> None:
    with serving(database, settings) as client:
        assert Browser(client).post(LINKS, {"email": EMAIL}).status_code == 400
