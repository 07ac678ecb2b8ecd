"""HTTP gateways calling in: messages, delivery reports, opt-outs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text, update
from starlette.testclient import TestClient

from channels.calls import Later
from handlers.app import create_app
from persistence.channels.gateway_leases import SendOutcome, lease_sends, record_sends
from persistence.channels.settings import rotate_gateway_secret
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel, gateway_call
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.databases import open_database
from testbed.gateways import SECRET, add_gateway
from testbed.set_by_name import by_name
from tests.api import Api
from tests.conftest import Clock
from tests.phones import new_phone, status_of


@pytest.fixture
def gateway(api: Api) -> str:
    """The uuid and the secret of a gateway for phone numbers in Rwanda, as its address has them."""
    return f"{uuid_of(api, add_gateway(api.database, api.workspace, 'http://127.0.0.1:1/'))}/{SECRET}"


def uuid_of(api: Api, channel_id: int) -> str:
    with api.database.reading() as tx:
        return str(tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one())


class TestReceive:
    @pytest.mark.parametrize("path", ["/c/ex/{}/receive", "/c/ex/{}/receive/", "/handlers/external/received/{}/"])
    def test_a_form_becomes_an_incoming_message(self, api: Api, gateway: str, path: str) -> None:
        form = {"from": "0788 000 111", "text": "Muraho", "date": "2026-03-02T08:10:10Z"}

        response = api.client.post(path.format(gateway), data=form)

        (stored,) = api.results("/api/v2/messages.json")
        assert response.status_code == 200
        assert (stored["urn"], stored["text"]) == ("tel:+250788000111", "Muraho")
        assert stored["created_on"] == "2026-03-02T08:10:10.000000Z"

    def test_query_parameters_and_the_older_names_are_understood(self, api: Api, gateway: str) -> None:
        api.client.get(f"/c/ex/{gateway}/receive", params={"sender": "+250788000111", "message": "Muraho"})

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["Muraho"]

    @pytest.mark.parametrize("text", ["Muraho é ☕", "Muraho %C3%A9 %E2%98%95", "Muraho+é+☕"])
    def test_letters_of_all_languages_may_stand_in_a_form_as_they_are(self, api: Api, gateway: str, text: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        api.client.post(f"/c/ex/{gateway}/receive", content=f"from=0788000111&text={text}".encode(), headers=form)

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["Muraho é ☕"]

    def test_a_form_of_very_many_fields_is_refused(self, api: Api, gateway: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        response = api.client.post(f"/c/ex/{gateway}/receive", content="from=0788000111&" * 120, headers=form)

        assert response.status_code == 400

    def test_letters_that_are_no_utf8_are_read_as_what_they_are(self, api: Api, gateway: str) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        api.client.post(f"/c/ex/{gateway}/receive", content=b"from=0788000111&text=caf%E9", headers=form)
        api.client.get(f"/c/ex/{gateway}/receive?from=0788000111&text=na%EFf")

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["naïf", "café"]

    @pytest.mark.parametrize(
        "charset", ["undefined", "unicode_escape", "raw_unicode_escape", "hex", "utf-16", "x" * 99]
    )
    def test_an_odd_charset_is_no_reason_to_lose_a_message(self, api: Api, gateway: str, charset: str) -> None:
        form = {"Content-Type": f"application/x-www-form-urlencoded; charset={charset}"}
        body = b"from=0788000111&text=caf%E9%5Cud800%00"

        response = api.client.post(f"/c/ex/{gateway}/receive", content=body, headers=form)

        stored = [each["text"] for each in api.results("/api/v2/messages.json")]
        assert (response.status_code, stored) == (200, ["café\\ud800"])

    def test_a_message_is_not_lost_for_its_date(self, api: Api, gateway: str) -> None:
        for date in ("yesterday", "9" * 30, "0001-01-01"):
            form = {"from": "+250788000111", "text": "Muraho", "date": date}
            assert api.client.post(f"/c/ex/{gateway}/receive", data=form).status_code == 200

        assert len(api.results("/api/v2/messages.json")) == 3

    def test_a_text_under_another_name_is_refused_with_the_names_that_were_sent(self, api: Api, gateway: str) -> None:
        response = api.client.post(f"/c/ex/{gateway}/receive", data={"from": "0788000111", "body": "private"})

        assert (response.status_code, response.json()) == (
            400,
            {"detail": "The parameter text is required; there are body, from."},
        )

    def test_a_dated_report_is_stored_once(self, api: Api, gateway: str) -> None:
        form = {"from": "+250788000111", "text": "Muraho", "date": "2026-03-02T08:10:10+02:00"}
        for _ in range(2):
            api.client.post(f"/c/ex/{gateway}/receive", data=form)

        assert len(api.results("/api/v2/messages.json")) == 1

    @pytest.mark.together
    @pytest.mark.parametrize(
        "form",
        [
            {"text": "x"},
            {"from": "+250788000111", "body": "Muraho"},
        ],
    )
    def test_an_unusable_report_is_refused_and_changes_nothing(
        self, api: Api, gateway: str, form: dict[str, str]
    ) -> None:
        response = api.client.post(f"/c/ex/{gateway}/receive", data=form)

        assert (response.status_code, api.results("/api/v2/messages.json")) == (400, [])

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("sender", "path"),
        [
            ("12", "12"),
            (" " * 250 + "+250788000111", "+250788000111"),
            ("МТС", "мтс"),
            ("", "unknown"),
            ("!?", "unknown"),
        ],
    )
    def test_no_message_is_dropped_for_its_sender(self, api: Api, gateway: str, sender: str, path: str) -> None:
        response = api.client.post(f"/c/ex/{gateway}/receive", data={"from": sender, "text": "x"})

        assert response.status_code == 200
        assert api.results("/api/v2/messages.json")[0]["urn"] == f"tel:{path}"

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("scheme", "sender", "urn"),
        [
            ("telegram", "12345678", "telegram:12345678"),
            ("telegram", "telegram:١٢٣", "telegram:123"),
            ("telegram", "amina", "ext:amina"),
            ("telegram", "", "ext:unknown"),
            ("whatsapp", "whatsapp:+250 788-000-111", "whatsapp:250788000111"),
            ("whatsapp", "RW.abc!", "ext:RW.abc!"),
            ("mailto", "Amina <Amina@Example.org>", "mailto:amina@example.org"),
            ("mailto", "amina", "ext:amina"),
            ("mailto", "(" * 3000, "ext:" + "(" * 200),
            ("mailto", "a:" * 250, "ext:" + "a:" * 100),
            ("viber", "v" * 25, "ext:" + "v" * 25),
            ("twitterid", "x" * 300, "ext:" + "x" * 200),
            ("ext", "Größe 5", "ext:Größe 5"),
            ("ext", "am\x01ina", "ext:unknown"),
            ("ext", "\x00", "ext:unknown"),
        ],
    )
    def test_no_scheme_drops_a_message_for_its_sender(self, api: Api, scheme: str, sender: str, urn: str) -> None:
        path = self._open_gateway(api, scheme)

        response = api.client.post(f"{path}/receive", data={"from": sender, "text": "x"})

        assert response.status_code == 200
        assert api.results("/api/v2/messages.json")[0]["urn"] == urn

    @pytest.mark.together
    @pytest.mark.parametrize(("scheme", "sender"), [("ext", "am\x01ina"), ("ext", "\x00"), ("telegram", "amina")])
    def test_nobody_opts_out_by_an_impossible_address(self, api: Api, scheme: str, sender: str) -> None:
        response = api.client.post(f"{self._open_gateway(api, scheme)}/stopped", data={"from": sender})

        assert (response.status_code, api.results("/api/v2/contacts.json")) == (400, [])

    def _open_gateway(self, api: Api, scheme: str) -> str:
        uuid = uuid_of(api, add_gateway(api.database, api.workspace, "http://127.0.0.1:1/"))
        with api.database.writing() as tx:
            tx.execute(update(channel).values(schemes=[scheme]))
        return f"/c/ex/{uuid}/{SECRET}"

    @pytest.mark.together
    @pytest.mark.parametrize("path", ["/c/ex/nobody/receive", "/c/ex/11111111-1111-4111-8111-111111111111/receive"])
    def test_an_unknown_channel_is_refused(self, api: Api, path: str) -> None:
        assert api.client.post(path, data={"from": "+250788000111"}).status_code == 400

    def test_other_methods_are_not_allowed(self, api: Api, gateway: str) -> None:
        response = api.client.put(f"/c/ex/{gateway}/receive")

        assert (response.status_code, response.headers["Allow"]) == (405, "GET, POST")


class TestFates:
    def test_a_report_moves_the_message(self, api: Api, gateway: str) -> None:
        api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})
        with api.database.writing() as tx:
            contact_id = tx.execute(select(contact.c.id)).scalar_one()
            (message_id,) = create_outgoing(tx, api.workspace.id, [Draft(contact_id, "Welcome")])

        seen = []
        for action in ("sent", "delivered", "failed"):
            api.client.post(f"/c/ex/{gateway}/{action}", data={"id": str(message_id)})
            with api.database.reading() as tx:
                seen.append(tx.execute(select(message.c.status).where(message.c.id == message_id)).scalar_one())

        assert seen == ["sent", "delivered", "delivered"]

    def test_a_message_that_was_given_up_is_delivered_after_all(self, api: Api, gateway: str, clock: Clock) -> None:
        api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})
        with api.database.writing() as tx:
            contact_id = tx.execute(select(contact.c.id)).scalar_one()
            (message_id,) = create_outgoing(tx, api.workspace.id, [Draft(contact_id, "Welcome")])
            channel_id = tx.execute(select(channel.c.id)).scalar_one()
        for _ in range(3):
            clock.advance(minutes=20)
            with api.database.writing() as tx:
                (send,) = lease_sends(tx, {channel_id: 1}, timedelta(minutes=1)).sends
                record_sends(tx, [SendOutcome(send, Later("away"))])
        given_up = status_of(api.database, message_id)

        early = {"id": str(message_id), "date": "2026-03-02T08:00:00Z"}
        api.client.post(f"/c/ex/{gateway}/delivered", data=early)
        still = status_of(api.database, message_id)
        api.client.post(f"/c/ex/{gateway}/delivered", data={"id": str(message_id)})

        assert (given_up, still, status_of(api.database, message_id)) == ("failed", "failed", "delivered")

    def test_a_missing_id_is_refused(self, api: Api, gateway: str) -> None:
        assert api.client.post(f"/c/ex/{gateway}/sent").status_code == 400


def test_a_contact_that_opts_out_is_stopped(api: Api, gateway: str) -> None:
    api.client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hello"})

    api.client.post(f"/c/ex/{gateway}/stopped", data={"from": "+250788000111"})

    assert api.results("/api/v2/contacts.json")[0]["status"] == "stopped"
    assert api.results("/api/v2/channel_events.json")[0]["type"] == "stop-contact"


FORM = {"from": "+250788000111", "text": "Muraho"}


class TestSecret:
    def test_without_its_secret_nothing_can_be_reported(self, api: Api, gateway: str) -> None:
        uuid = gateway.partition("/")[0]
        tries = [f"/c/ex/{uuid}/receive", f"/c/ex/{uuid}/{'x' * 32}/receive", f"/handlers/external/received/{uuid}/"]

        answers = [api.client.post(path, data=FORM) for path in tries]

        assert [(each.status_code, each.headers["WWW-Authenticate"]) for each in answers] == [(401, "Bearer")] * 3
        assert (api.results("/api/v2/messages.json"), api.results("/api/v2/contacts.json")) == ([], [])

    def test_it_may_come_in_a_header(self, api: Api, gateway: str) -> None:
        uuid = gateway.partition("/")[0]
        for header, status in ((f"Bearer {SECRET}", 200), ("Bearer wrong", 401), (f"Basic {SECRET}", 401)):
            response = api.client.post(f"/c/ex/{uuid}/receive", data=FORM, headers={"Authorization": header})
            assert response.status_code == status

    def test_after_a_rotation_the_former_one_counts_for_a_day(self, api: Api, gateway: str, clock: Clock) -> None:
        uuid = gateway.partition("/")[0]
        with api.database.writing() as tx:
            new = rotate_gateway_secret(tx, api.workspace.id, uuid)

        def statuses() -> list[int]:
            paths = (f"/c/ex/{uuid}/{secret}/receive" for secret in (SECRET, new))
            return [api.client.post(path, data=FORM).status_code for path in paths]

        assert statuses() == [200, 200]
        clock.advance(hours=25)
        assert statuses() == [401, 200]

    def test_the_former_one_can_be_ended_at_once(self, api: Api, gateway: str) -> None:
        with api.database.writing() as tx:
            rotate_gateway_secret(tx, api.workspace.id, gateway.partition("/")[0], ends_former=True)

        assert api.client.post(f"/c/ex/{gateway}/receive", data=FORM).status_code == 401

    def test_no_list_of_channels_shows_it(self, api: Api, gateway: str) -> None:
        listed = api.client.get("/api/v2/channels.json", headers={"Authorization": f"Token {api.token}"})

        assert SECRET not in listed.text

    def test_it_stands_in_no_line_of_the_log(self, api: Api, gateway: str, caplog: pytest.LogCaptureFixture) -> None:
        uuid = gateway.partition("/")[0]
        with caplog.at_level("DEBUG"):
            api.client.post(f"/c/ex/{gateway}/receive", data=FORM)
            api.client.post(f"/handlers/external/received/{gateway}", data=FORM)

        assert f"/c/ex/{uuid}/***/receive" in caplog.text
        ours = [record.getMessage() for record in caplog.records if record.name != "httpx"]
        assert SECRET not in "".join(ours)


def test_calls_are_limited_per_channel_and_those_without_the_secret_do_not_count(
    make_client: Callable[..., Any], database: Database, workspace: Workspace, clock: Clock
) -> None:
    with make_client(**by_name(CALLBACK_LIMIT="3/minute")) as client:
        api = Api(client, database, workspace, "")
        first, second = (uuid_of(api, add_gateway(database, workspace, "http://127.0.0.1:1/")) for _ in range(2))

        def call(uuid: str, secret: str = SECRET) -> Any:
            return client.post(f"/c/ex/{uuid}/{secret}/receive", data={"from": "+250788000111", "text": "hi"})

        assert [call(first, "wrong").status_code for _ in range(5)] == [401] * 5
        assert [call(first).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        assert 1 <= int(call(first).headers["Retry-After"]) <= 60
        assert call(second).status_code == 200
        clock.advance(minutes=1)
        assert call(first).status_code == 200


def test_while_the_database_is_busy_gateways_and_phones_are_asked_to_come_again(
    settings: Settings, database_url: str, database: Database, workspace: Workspace, api: Api, gateway: str
) -> None:
    phone = new_phone(api)
    phone.register()
    path, query, body = phone.transport.requests[-1]  # type: ignore[attr-defined]
    impatient = open_database(database_url, clock=database.clock, statement_timeout_seconds=1)
    app: Any = create_app(settings, database=impatient)
    with TestClient(app) as client, database.writing() as busy:
        if not busy.sqlite:
            busy.execute(text("LOCK TABLE message, contact, channel, rate_window IN ACCESS EXCLUSIVE MODE"))
        answers = [
            client.post(f"/c/ex/{gateway}/receive", data={"from": "+250788000111", "text": "hi"}),
            client.post(path, params=query, content=body, headers={"Content-Type": "application/json"}),
        ]
    impatient.close()

    assert [(each.status_code, each.headers.get("Retry-After")) for each in answers] == [(503, "1")] * 2


class TestTraces:
    """The owner of a channel sees what its gateway said, and what became of it."""

    def calls(self, api: Api, **query: str) -> list[dict[str, Any]]:
        return api.results("/api/v2/channel_calls.json", **query)

    def test_a_stored_message_is_told_with_the_call_that_brought_it(self, api: Api, gateway: str) -> None:
        form = {"from": "0788000111", "text": "Muraho"}
        api.client.post(f"/c/ex/{gateway}/receive", data=form, headers={"Authorization": "Basic dXNlcjpwYXNzd29yZA=="})

        (call,) = self.calls(api, direction="in")
        (stored,) = api.results("/api/v2/messages.json")
        assert (call["direction"], call["outcome"], call["message"]) == ("in", "accepted", stored["id"])
        assert (call["result"], call["response"]["status"]) == (f"Message {stored['id']}", 200)
        assert call["request"]["body"] == "from=0788000111&text=Muraho"
        assert (SECRET in str(call), "dXNlcjpw" in str(call)) == (False, False)
        assert self.calls(api, direction="out") == []

    def test_what_was_refused_leaves_a_trace_with_its_reason_and_nothing_else(self, api: Api, gateway: str) -> None:
        text = {"Content-Type": "application/x-www-form-urlencoded; charset=iso-8859-1"}
        api.client.post(f"/c/ex/{gateway}/receive", content="from=12&body=é".encode("latin-1"), headers=text)

        (call,) = self.calls(api)
        assert (call["outcome"], call["message"], call["result"]) == ("refused", None, None)
        assert call["error"] == "The parameter text is required; there are body, from."
        assert (call["request"]["body"], call["response"]["status"]) == ("from=12&body=é", 400)
        assert api.results("/api/v2/messages.json") == []

    def test_a_status_of_nobody_says_so(self, api: Api, gateway: str) -> None:
        api.client.post(f"/c/ex/{gateway}/delivered", data={"id": "4711"})

        assert [each["result"] for each in self.calls(api)] == ['No message of this channel has the number "4711".']

    def test_who_does_not_know_the_secret_leaves_none(self, api: Api, gateway: str) -> None:
        uuid = gateway.partition("/")[0]
        api.client.post(f"/c/ex/{uuid}/{'x' * 30}/receive", data={"from": "0788000111", "text": "Muraho"})

        assert self.calls(api) == []

    def test_a_call_belongs_to_the_contact_with_whom_it_is_erased(self, api: Api, gateway: str) -> None:
        api.client.post(f"/c/ex/{gateway}/receive", data={"from": "0788000111", "text": "Muraho"})
        with api.database.reading() as tx:
            (contact_id,) = tx.execute(select(gateway_call.c.contact_id)).scalars()
            assert contact_id == tx.execute(select(contact.c.id)).scalar_one()
