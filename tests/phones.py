"""Simulated phones for tests: over the ASGI application, with replies that can be lost."""

from collections.abc import Callable, Mapping

from sqlalchemy import FromClause, func, select
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.relayers.relayers import claim_phone
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import NoReply, WireReply
from tests.api import Api


class AppTransport:
    """Requests to the application under test; `lose` decides whether the next reply is lost after it was made."""

    def __init__(self, client: TestClient, lose: Callable[[], bool] = lambda: False) -> None:
        self.client = client
        self.lose = lose
        self.replies: list[WireReply] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        self.requests.append((path, dict(query), body))
        headers = {"Content-Type": "application/json; charset=utf-8"}
        response = self.client.post(path, params=dict(query), content=body, headers=headers)
        reply = WireReply(response.status_code, response.json())
        if self.lose():
            raise NoReply("lost by the test")
        self.replies.append(reply)
        return reply

    def repeat_last(self) -> WireReply:
        """Send the very same bytes once more."""
        return self.post(*self.requests[-1])


def phone_clock(api: Api) -> Callable[[], int]:
    """The server's clock as the phone sees it, in milliseconds."""
    return lambda: int(api.database.clock().timestamp() * 1000)


def new_phone(api: Api, *, is_lagging: bool = False, lose: Callable[[], bool] = lambda: False) -> Phone:
    """A phone that has never spoken to the server."""
    return Phone(AppTransport(api.client, lose), PhoneState(), is_lagging=is_lagging, clock=phone_clock(api))


def claimed_phone(api: Api, *, number: str = "+250788123123", is_lagging: bool = False) -> Phone:
    """A phone that is claimed by the workspace of `api` and knows it."""
    phone = new_phone(api, is_lagging=is_lagging)
    phone.register()
    with api.database.writing() as tx:
        claim_phone(tx, api.workspace, phone.state.claim_code or "", number, None)
    phone.sync()
    phone.sync()
    assert phone.state.workspace_id == api.workspace.id
    return phone


def commands(phone: Phone) -> list[dict[str, object]]:
    """The commands of the last reply the phone got."""
    transport = phone.transport
    assert isinstance(transport, AppTransport)
    listed: list[dict[str, object]] = transport.replies[-1].document["cmds"]
    return listed


def count_rows(database: Database, table: FromClause) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def send_texts(api: Api, phone: Phone, *texts: str) -> list[int]:
    """Outgoing messages to one contact who wrote to this phone, in this order; returns their ids."""
    phone.receive_sms("+250788000111", "hello")
    phone.sync()
    with api.database.reading() as tx:
        contact_id = tx.execute(select(contact.c.id).order_by(contact.c.id)).scalars().first()
    assert contact_id is not None
    ids = []
    for text in texts:
        with api.database.writing() as tx:
            ids += create_outgoing(tx, api.workspace.id, [Draft(contact_id, text)])
    return ids


def status_of(database: Database, message_id: int) -> str:
    with database.reading() as tx:
        return str(tx.execute(select(message.c.status).where(message.c.id == message_id)).scalar_one())


def repeat_last(phone: Phone) -> WireReply:
    """The very bytes of the phone's last request once more."""
    assert isinstance(phone.transport, AppTransport)
    return phone.transport.repeat_last()


def last_reply(phone: Phone) -> WireReply:
    assert isinstance(phone.transport, AppTransport)
    return phone.transport.replies[-1]
