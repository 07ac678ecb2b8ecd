"""A phone that is claimed under the number of another one replaces it; a released channel hands over what it has not
got yet.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from sqlalchemy import select, update

from persistence.messages.outgoing import Draft, create_outgoing
from persistence.relayers.relayers import claim_phone
from persistence.sql.columns import time_text
from persistence.tables.channels import channel
from persistence.tables.contacts import contact_urn
from persistence.tables.messages import broadcast, gateway_send, message
from relayboard.phone.phone import Phone
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.api import Api
from tests.channel_rows import add_channel, add_contact
from tests.handlers.relay.test_moving import is_archived, listen, make_trigger, signer_of_next
from tests.phones import claimed_phone, commands, new_phone, send_texts, status_of
from tests.waits_for_locks import backend_of, is_awaited

RELAYERS = "/api/v1/relayers.json"
RELEASES = "/api/v2/channel_releases.json"
SETTINGS = "/api/v2/channel_settings.json"
NUMBER = "+250788123123"
Result = TypeVar("Result")


def claim(api: Api, phone: Phone, number: str = NUMBER, **body: Any) -> dict[str, Any]:
    """The response to the claim of a phone that registers now; the phone learns of it."""
    phone.register()
    response = api.post(RELAYERS, {"claim_code": phone.state.claim_code, "phone": number, **body})
    assert response.status_code == 201, response.text
    phone.sync()
    record: dict[str, Any] = response.json()
    return record


def offered(phone: Phone) -> list[int]:
    """The messages that the last reply asked a phone to send."""
    sent: list[Any] = [each["to"] for each in commands(phone) if each["cmd"] == "mt_bcast"]
    return [one["id"] for to in sent for one in to]


def answer(api: Api, message_id: int, text: str) -> int:
    """The id of one more message to the contact who got a message."""
    with api.database.writing() as tx:
        contact_id = tx.execute(select(message.c.contact_id).where(message.c.id == message_id)).scalar_one()
        return create_outgoing(tx, api.workspace.id, [Draft(contact_id, text)])[0]


def uuid_of(api: Api, address: str) -> str:
    (found,) = api.results("/api/v2/channels.json", address=address)
    return str(found["uuid"])


def add_broadcast(api: Api, channel_id: int | None) -> int:
    """A broadcast of the future that is to go by this channel."""
    body = {"text": "Clinic opens at 8", "groups": [api.post("/api/v2/groups.json", {"name": "All"}).json()["uuid"]]}
    with api.database.writing() as tx:
        later = time_text(tx.now + timedelta(days=1))
    made = api.post("/api/v2/broadcasts.json", {**body, "scheduled_on": later})
    assert made.status_code == 201, made.text
    with api.database.writing() as tx:
        tx.execute(update(broadcast).where(broadcast.c.id == made.json()["id"]).values(channel_id=channel_id))
    return int(made.json()["id"])


def channel_of_broadcast(api: Api, broadcast_id: int) -> int | None:
    with api.database.reading() as tx:
        return tx.execute(select(broadcast.c.channel_id).where(broadcast.c.id == broadcast_id)).scalar_one()


def relayer_of(api: Api, message_id: int) -> int | None:
    with api.database.reading() as tx:
        return tx.execute(select(message.c.channel_id).where(message.c.id == message_id)).scalar_one()


class TestReplacing:
    def test_the_new_phone_gets_what_waits_and_what_comes(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        waiting = send_texts(api, old, "Welcome", "Welcome again")

        record = claim(api, new)

        assert (record["replaced"]["handed_over"], record["replaced"]["failed"]) == (2, 0)
        assert offered(new) == waiting
        assert relayer_of(api, answer(api, waiting[0], "Later")) == new.state.relayer_id

    def test_the_response_names_the_phone_that_was_replaced_which_is_released(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        (former,) = api.results("/api/v2/channels.json")

        record = claim(api, new)

        replaced = {"relayer": old.state.relayer_id, "uuid": former["uuid"], "name": None}
        assert record["replaced"] == {**replaced, "handed_over": 0, "failed": 0}
        assert [each["relayer"] for each in api.results(RELAYERS)] == [new.state.relayer_id]
        old.sync()
        assert [each["cmd"] for each in commands(old)] == ["rel"]

    def test_what_the_old_phone_was_asked_to_send_is_not_sent_again(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        (asked,) = send_texts(api, old, "Perhaps sent")
        old.sync()
        assert offered(old) == [asked]
        waiting = answer(api, asked, "Not yet")

        record = claim(api, new)

        assert (record["replaced"]["handed_over"], record["replaced"]["failed"]) == (1, 1)
        assert (offered(new), status_of(api.database, asked)) == ([waiting], "failed")

    def test_the_old_phone_has_nothing_to_say_any_more(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        (waiting,) = send_texts(api, old, "Welcome")
        claim(api, new)

        for report in ("mt_sent", "mt_dlvd", "mt_fail"):
            old._report(report, waiting)
        old.sync()

        assert (status_of(api.database, waiting), [each["cmd"] for each in commands(old)]) == ("queued", ["rel"])

    def test_name_receiver_contacts_and_triggers_go_along(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        listen(api)
        api.post(SETTINGS, {"name": "Front desk"}, uuid=uuid_of(api, NUMBER))
        api.post(SETTINGS, {"allow_international": True}, uuid=api.results("/api/v2/channels.json")[0]["uuid"])
        trigger_id = make_trigger(api, old.state.relayer_id)
        old.receive_sms("+250788000111", "hello")
        old.sync()
        before = signer_of_next(api)

        record = claim(api, new)

        assert (record["name"], is_archived(api, trigger_id)) == ("Front desk", False)
        assert [each["allow_international"] for each in api.results(SETTINGS)] == [True]
        with api.database.reading() as tx:
            assert list(tx.execute(select(contact_urn.c.channel_id)).scalars()) == [new.state.relayer_id]
        assert (before is not None, signer_of_next(api)) == (True, before)
        (receiver,) = api.results("/api/v2/webhook_receivers.json")
        assert (receiver["url"], receiver["channel"]["name"]) == ("https://old.example.org/events", "Front desk")

    def test_a_name_that_is_given_counts(self, api: Api) -> None:
        claim(api, new_phone(api), name="Old")

        assert claim(api, new_phone(api), name="New")["name"] == "New"

    def test_a_second_phone_is_attached_beside_the_first(self, api: Api) -> None:
        first = claimed_phone(api)
        (waiting,) = send_texts(api, first, "Welcome")

        record = claim(api, new_phone(api), second_phone=True)

        assert "replaced" not in record
        assert len(api.results(RELAYERS)) == 2
        assert relayer_of(api, waiting) == first.state.relayer_id

    def test_of_two_phones_with_the_number_the_silent_one_is_replaced(self, api: Api) -> None:
        first, second = claimed_phone(api), new_phone(api)
        claim(api, second, second_phone=True)
        first.sync()

        assert claim(api, new_phone(api))["replaced"]["relayer"] == second.state.relayer_id

    def test_a_phone_claimed_again_under_its_own_number_replaces_none(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.state.secret = None

        record = claim(api, phone)

        assert ("replaced" in record, len(api.results(RELAYERS))) == (False, 1)

    def test_phones_of_others_and_gateways_with_the_number_are_not_touched(self, api: Api, other_api: Api) -> None:
        theirs = claimed_phone(other_api)
        (waiting,) = send_texts(other_api, theirs, "Welcome")
        gateway = add_channel(api.database, api.workspace, type="external", address=NUMBER)

        record = claim(api, new_phone(api))

        assert "replaced" not in record
        assert [each["relayer"] for each in other_api.results(RELAYERS)] == [theirs.state.relayer_id]
        assert relayer_of(api, waiting) == theirs.state.relayer_id
        with api.database.reading() as tx:
            assert tx.execute(select(channel.c.is_active).where(channel.c.id == gateway)).scalar_one()

    def test_a_refused_claim_replaces_none(self, api: Api) -> None:
        old = claimed_phone(api)

        response = api.post(RELAYERS, {"claim_code": "K7QW3ZP9M", "phone": NUMBER})

        assert response.status_code == 400
        assert [each["relayer"] for each in api.results(RELAYERS)] == [old.state.relayer_id]

    def test_broadcasts_to_come_go_by_the_new_phone(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        broadcast_id = add_broadcast(api, old.state.relayer_id)

        claim(api, new)

        assert channel_of_broadcast(api, broadcast_id) == new.state.relayer_id

    def test_the_statements_are_as_many_however_much_waits(self, api: Api, statements: list[str]) -> None:
        counts = []
        for texts in (1, 40):
            old = claimed_phone(api, number=f"+2507881231{texts:02}")
            send_texts(api, old, *[f"Text {number}" for number in range(texts)])
            new = new_phone(api)
            new.register()
            body = {"claim_code": new.state.claim_code, "phone": f"+2507881231{texts:02}"}
            statements.clear()
            assert api.post(RELAYERS, body).json()["replaced"]["handed_over"] == texts
            counts.append(len(statements))
        assert counts[1] <= counts[0]


class TestAtOnce:
    def test_of_two_claims_of_one_number_the_later_one_replaces_the_earlier(self, api: Api) -> None:
        old, first, second = claimed_phone(api), new_phone(api), new_phone(api)
        (waiting,) = send_texts(api, old, "Welcome")
        for phone in (first, second):
            phone.register()
        body = {"claim_code": second.state.claim_code, "phone": NUMBER}

        response = while_claiming(api, first, lambda: api.post(RELAYERS, body))

        assert response.json()["replaced"]["relayer"] == first.state.relayer_id
        assert [each["relayer"] for each in api.results(RELAYERS)] == [second.state.relayer_id]
        assert relayer_of(api, waiting) == second.state.relayer_id

    def test_a_message_that_is_made_meanwhile_goes_by_the_new_phone(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        (waiting,) = send_texts(api, old, "Welcome")
        new.register()

        made = while_claiming(api, new, lambda: answer(api, waiting, "Welcome again"))

        assert (relayer_of(api, made), status_of(api.database, made)) == (new.state.relayer_id, "queued")

    def test_a_sync_of_the_old_phone_that_waits_is_asked_for_nothing(self, api: Api) -> None:
        old, new = claimed_phone(api), new_phone(api)
        send_texts(api, old, "Welcome")
        new.register()

        while_claiming(api, new, old.sync)

        assert [each["cmd"] for each in commands(old)] == ["rel"]


def while_claiming(api: Api, phone: Phone, work: Callable[[], Result]) -> Result:
    """The result of work that begins before the claim of a phone ends, and ends after it."""
    with ThreadPoolExecutor(1) as threads:
        with api.database.writing() as tx:
            holder = None if tx.sqlite else backend_of(tx)
            claim_phone(tx, api.workspace, phone.state.claim_code or "", NUMBER, None)
            working = threads.submit(work)
            if holder is not None:
                wait_until(lambda: is_awaited(api.database, holder), "the work to wait for the claim")
        return working.result(PATIENCE_SECONDS)


class TestHandingOver:
    def test_the_statements_are_as_many_however_much_is_handed_over(self, api: Api, statements: list[str]) -> None:
        claimed_phone(api, number="+250788123124")
        counts = []
        for texts in (1, 40):
            phone = claimed_phone(api)
            send_texts(api, phone, *[f"Text {number}" for number in range(texts)])
            statements.clear()
            told = api.delete(RELAYERS, relayer=phone.state.relayer_id).headers
            counts.append(len(statements))
            assert told["Messages-Handed-Over"] == str(texts)
        assert counts[1] <= counts[0]

    def test_what_waits_for_a_released_phone_goes_by_another(self, api: Api) -> None:
        phone, other = claimed_phone(api), claimed_phone(api, number="+250788123124")
        waiting = send_texts(api, phone, "Welcome")
        uuid = uuid_of(api, NUMBER)
        assert api.get(RELEASES, uuid=uuid).json() == {"handed_over": 1, "failed": 0}

        response = api.delete(RELAYERS, relayer=phone.state.relayer_id)

        told = (response.headers["Messages-Handed-Over"], response.headers["Messages-Failed"])
        assert (response.status_code, told) == (204, ("1", "0"))
        other.sync()
        assert offered(other) == waiting

    def test_with_nobody_left_it_says_how_many_fail(self, api: Api) -> None:
        phone = claimed_phone(api)
        waiting = send_texts(api, phone, "Welcome", "Again")
        uuid = uuid_of(api, NUMBER)
        assert api.get(RELEASES, uuid=uuid).json() == {"handed_over": 0, "failed": 2}
        assert status_of(api.database, waiting[0]) == "queued"

        response = api.delete(SETTINGS, uuid=uuid)

        told = (response.headers["Messages-Handed-Over"], response.headers["Messages-Failed"])
        assert (response.status_code, told) == (204, ("0", "2"))
        assert [status_of(api.database, one) for one in waiting] == ["failed", "failed"]

    def test_a_channel_of_another_country_or_scheme_takes_none(self, api: Api) -> None:
        phone = claimed_phone(api)
        waiting = send_texts(api, phone, "Welcome")
        add_channel(api.database, api.workspace, allow_international=False)
        add_channel(api.database, api.workspace, type="external", schemes=["telegram"], country=None)

        api.delete(RELAYERS, relayer=phone.state.relayer_id)

        assert status_of(api.database, waiting[0]) == "failed"

    def test_a_gateway_that_takes_over_has_it_in_its_queue(self, api: Api) -> None:
        phone = claimed_phone(api)
        waiting = send_texts(api, phone, "Welcome")
        gateway = add_channel(api.database, api.workspace, type="external", country="RW", address="8181")

        api.delete(RELAYERS, relayer=phone.state.relayer_id)

        with api.database.reading() as tx:
            rows = tx.execute(select(gateway_send.c.channel_id, gateway_send.c.message_id)).all()
        assert [tuple(row) for row in rows] == [(gateway, waiting[0])]

    @pytest.mark.parametrize(("begun", "taken"), [(0, True), (1, False)])
    def test_a_gateway_gives_only_what_it_has_not_begun(self, api: Api, begun: int, taken: bool) -> None:
        gateway = add_channel(api.database, api.workspace, type="external", country="KE", address="8181")
        contact_id = add_contact(api.database, api.workspace)
        with api.database.writing() as tx:
            (waiting,) = create_outgoing(tx, api.workspace.id, [Draft(contact_id, "Welcome")])
            tx.execute(update(gateway_send).values(parts_begun=begun))
        phone = add_channel(api.database, api.workspace)

        api.delete(SETTINGS, uuid=uuid_of(api, "8181"))

        assert (relayer_of(api, waiting), status_of(api.database, waiting)) == (
            (phone, "queued") if taken else (gateway, "failed")
        )
        with api.database.reading() as tx:
            assert tx.execute(select(gateway_send.c.id)).all() == []

    def test_broadcasts_to_come_go_by_the_channel_that_comes_nearest(self, api: Api) -> None:
        phone, other = claimed_phone(api), claimed_phone(api, number="+250788123124")
        broadcast_id = add_broadcast(api, phone.state.relayer_id)

        api.delete(RELAYERS, relayer=phone.state.relayer_id)

        assert channel_of_broadcast(api, broadcast_id) == other.state.relayer_id

    def test_nobody_foresees_for_channels_of_others(self, api: Api, other_api: Api) -> None:
        claimed_phone(other_api)

        assert api.get(RELEASES, uuid=uuid_of(other_api, NUMBER)).status_code == 404
