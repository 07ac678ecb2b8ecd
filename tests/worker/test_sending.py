"""Handing messages to HTTP gateways: the requests, the outcomes, the retries."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree.ElementTree import fromstring

import pytest
from sqlalchemy import select, update

from flows.urns import Urn
from persistence.channels import channel, create_external_channel
from persistence.contact_urns import ensure_owners
from persistence.database import Database
from persistence.gateway_sends import GatewaySend
from persistence.messages import message
from persistence.outgoing import Draft, create_outgoing
from persistence.workspaces import Workspace
from relayboard.settings import Settings
from tests.conftest import Clock
from tests.worker.receivers import Receiver, Reply
from worker.gateway_request import make_requests, split_text
from worker.sending import begin_sending
from worker.services import Services, open_http


def send_with(text: str = "Kaze & ikaze", **config: Any) -> GatewaySend:
    config = {"send_url": "https://gateway.example.org/send?to={{to_no_plus}}", **config}
    return GatewaySend(7, 1, "tel:+250788000111", text, (), (), 0, 3, "+250788000000", "RW", config)


class TestRequests:
    def test_the_usual_body_is_a_form_of_all_variables(self) -> None:
        (request,) = make_requests(send_with())

        form = parse_qs((request.body or b"").decode())
        assert form["text"] == ["Kaze & ikaze"]
        assert (form["id"], form["to"], form["from_no_plus"]) == (["7"], ["+250788000111"], ["250788000000"])
        assert urlsplit(request.url).query == "to=250788000111"

    def test_json_values_bring_their_own_quotes(self) -> None:
        (request,) = make_requests(send_with('say "hi"', content_type="json", body='{"t": "{{text}}", "n": {{id}}}'))

        assert request.body == b'{"t": "say \\"hi\\"", "n": "7"}'

    def test_json_values_amid_a_longer_text_bring_none(self) -> None:
        body = '{"a": "To {{to}}: \\"{{text}}\\"", "b": "{{text}}", "c": {{quick_replies}}, "d": "{{quick_replies}}"}'
        (request,) = make_requests(send_with('say "hi"', content_type="json", body=body))

        assert json.loads(request.body or b"") == {
            "a": 'To +250788000111: "say "hi""',
            "b": 'say "hi"',
            "c": [],
            "d": [],
        }

    def test_values_fit_into_attributes_of_xml(self) -> None:
        body = '<sms to="{{to}}" text="{{text}}"/>'
        (request,) = make_requests(send_with('a "b" & <c>', content_type="xml", body=body))

        assert fromstring((request.body or b"").decode()).attrib == {"to": "+250788000111", "text": 'a "b" & <c>'}

    def test_a_get_has_no_body(self) -> None:
        (request,) = make_requests(send_with(method="GET"))

        assert (request.method, request.body) == ("GET", None)

    def test_long_texts_are_split_at_words(self) -> None:
        text = "word " * 100

        parts = split_text(text.strip(), 160)

        assert max(len(part) for part in parts) <= 160
        assert " ".join(parts) == text.strip()

    def test_numbers_can_be_national(self) -> None:
        (request,) = make_requests(send_with(use_national=True, method="GET"))

        assert request.url.endswith("to=788000111")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(lambda _request: Reply(200))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def services(settings: Settings, database: Database) -> Iterator[Services]:
    with ExitStack() as closing:
        yield Services(settings, database, open_http(settings), closing=closing)


def queue_message(database: Database, workspace: Workspace, url: str, **config: Any) -> int:
    with database.writing() as tx:
        config = {"send_url": url, **config}
        options = {"schemes": ["tel"], "country": "RW", "config": config}
        create_external_channel(tx, workspace.id, name="Gateway", address="+250788000000", **options)
        urn = Urn("tel", "+250788000111")
        owner = ensure_owners(tx, workspace.id, [urn])[urn.identity]
        return create_outgoing(tx, workspace.id, [Draft(owner.contact_id, "Welcome")])[0]


def state(database: Database, message_id: int) -> tuple[str, str | None]:
    with database.reading() as tx:
        columns = (message.c.status, message.c.failed_reason)
        row = tx.execute(select(*columns).where(message.c.id == message_id)).one()
        return row.status, row.failed_reason


class TestSending:
    def test_an_accepted_message_is_wired(self, services: Services, workspace: Workspace, receiver: Receiver) -> None:
        message_id = queue_message(services.database, workspace, receiver.url)

        begin_sending(services)()

        assert state(services.database, message_id) == ("wired", None)
        assert len(receiver.received) == 1

    def test_the_third_error_fails_it_with_a_reason(
        self, services: Services, workspace: Workspace, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.respond = lambda _request: Reply(500)
        message_id = queue_message(services.database, workspace, receiver.url)
        step = begin_sending(services)
        seen = []
        for _ in range(3):
            step()
            seen.append(state(services.database, message_id))
            step()
            clock.advance(minutes=11)

        assert seen == [("errored", None), ("errored", None), ("failed", "gateway_failed")]
        assert len(receiver.received) == 3

    def test_an_answer_without_the_check_text_is_an_error(
        self, services: Services, workspace: Workspace, receiver: Receiver
    ) -> None:
        message_id = queue_message(services.database, workspace, receiver.url, mt_response_check="ACCEPTED")

        begin_sending(services)()

        assert state(services.database, message_id)[0] == "errored"

    def test_a_gateway_whose_settings_are_lost_does_not_keep_others_from_sending(
        self, services: Services, workspace: Workspace, receiver: Receiver
    ) -> None:
        lost = queue_message(services.database, workspace, receiver.url)
        with services.database.writing() as tx:
            tx.execute(update(channel).values(config=None))
        sent = queue_message(services.database, workspace, receiver.url)

        begin_sending(services)()

        assert [state(services.database, each)[0] for each in (lost, sent)] == ["errored", "wired"]
