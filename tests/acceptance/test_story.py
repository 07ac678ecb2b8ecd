"""The story of one phone and one message each way: real HTTP, real processes, a real receiver."""

import random
from collections.abc import Iterator

import pytest

from persistence.channels.channels import set_channel_webhook
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport, NoReply, Transport, WireReply
from testbed.running import Receiver, RunningService, forked_service, wait_until

QUESTION, ANSWER = "Is it open on Monday? ☕", "Yes, from 8 to 12."


class LossyTransport:
    """Requests over real HTTP of which every third reply, by a fixed chance, never arrives."""

    def __init__(self, inner: Transport, seed: int) -> None:
        self.inner = inner
        self.chance = random.Random(seed)

    def post(self, path: str, query: dict[str, str], body: bytes) -> WireReply:  # type: ignore[override]
        reply = self.inner.post(path, query, body)
        if self.chance.random() < 0.33:
            raise NoReply("lost by the test")
        return reply


@pytest.fixture(scope="module")
def service(shared_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with forked_service(shared_database_url, tmp_path_factory.mktemp("story")) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def sync(phone: Phone, times: int = 1) -> None:
    """Sync, and try again if a reply is lost, as the app does the next time."""
    for _ in range(times):
        for _attempt in range(20):
            try:
                phone.sync()
                break
            except NoReply:
                continue


def connect(service: RunningService, receiver: Receiver, *, is_lagging: bool) -> Phone:
    phone = Phone(LossyTransport(HttpTransport(service.url), seed=7), is_lagging=is_lagging)
    while phone.state.claim_code is None:
        sync(phone)
    body = {"claim_code": phone.state.claim_code, "phone": "0788 123 123", "name": "Clinic phone"}
    claimed = service.post("/api/v1/relayers.json", body)
    assert claimed["phone"] == "+250788123123"
    channel = service.get("/api/v2/channels.json")["results"][0]
    with service.database.writing() as tx:
        set_channel_webhook(tx, service.workspace.id, channel["uuid"], receiver.url)
    while phone.state.workspace_id == -1:
        sync(phone)
    return phone


@pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])
def test_a_message_travels_each_way_once_with_every_status_and_event_in_order(
    service: RunningService, receiver: Receiver, is_lagging: bool
) -> None:
    service = service.with_new_workspace()
    phone = connect(service, receiver, is_lagging=is_lagging)

    phone.receive_sms("0788000111", QUESTION)
    while phone.state.queue:
        sync(phone)
    wait_until(lambda: len(service.get("/api/v2/messages.json", folder="inbox")["results"]) == 1, "the inbox")
    wait_until(lambda: receiver.names() == ["mo_sms"], "the event mo_sms")

    contact = service.get("/api/v2/contacts.json", urn="tel:+250788000111")["results"][0]
    message = service.post("/api/v2/messages.json", {"contact": contact["uuid"], "text": ANSWER})
    seen = [message["status"]]

    def look() -> str:
        status: str = service.get("/api/v2/messages.json", uuid=message["uuid"])["results"][0]["status"]
        if status != seen[-1]:
            seen.append(status)
        return status

    while look() != "wired":
        sync(phone)
    phone.send_result(message["id"])
    while look() != "sent":
        sync(phone)
    wait_until(lambda: receiver.names()[1:] == ["mt_sent"], "the event mt_sent")
    phone.delivery(message["id"])
    while look() != "delivered":
        sync(phone)
    wait_until(lambda: receiver.names()[2:] == ["mt_dlvd"], "the event mt_dlvd")

    assert seen == ["queued", "wired", "sent", "delivered"]
    assert phone.state.messages[message["id"]].copies == 1
    assert receiver.events[0]["text"] == QUESTION
    assert receiver.events[0]["phone"] == "+250788000111"
    sync(phone, 4)
    assert receiver.names() == ["mo_sms", "mt_sent", "mt_dlvd"]
    texts = [each["text"] for each in service.get("/api/v2/messages.json")["results"]]
    assert texts == [ANSWER, QUESTION]


def test_processes_stop_cleanly_on_sigterm(service: RunningService) -> None:
    codes = service.stop("api"), service.stop("worker")
    service.start("worker")
    service.start("api")
    service.wait_until_ready()

    assert codes == (0, 0)
