"""The story of a clinic's flows: an export is imported, contacts are started and answer, all as in the flows."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.answering import AnsweringPhone
from tests.console_script import call_forked
from tests.worker.receivers import Received, Receiver, Reply, receiving

EXPORT = Path(__file__).parents[1] / "flows" / "exports" / "registration.json"
CONTACTS = int(os.environ.get("RELAYBOARD_CONVERSATIONS", "4"))
PHONES, STARTED_AT_ONCE, EXCHANGES = 2, 100, 10
PLACE = "http://localhost:9000"
WELCOME = "Welcome to Riverside Clinic! What is your name?"


def number_of(index: int) -> str:
    return f"+250799{index:06}"


class Person:
    """One contact: gives its name, hesitates over its age and its consent, ten answers in all."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.said: list[str] = []

    @property
    def refuses(self) -> bool:
        return self.index % 4 == 3

    @property
    def has_no_clinic(self) -> bool:
        return self.index % 4 == 0

    @property
    def name(self) -> str:
        return f"Person {self.index}"

    @property
    def age(self) -> int:
        return 10 + self.index % 50

    def answer(self, text: str) -> str | None:
        """The next answer; nothing if the text asks nothing."""
        if not text.endswith("?") and not text.startswith("Please send your age"):
            return None
        answers = [self.name, *(f"about... {each}" for each in "abcde"), str(self.age), "perhaps", "hm"]
        answers.append("no" if self.refuses else "yes please")
        said = answers[len(self.said)]
        self.said.append(said)
        return said


class Clinics:
    """The service that the flow's webhook calls: it knows no clinic for every fourth contact."""

    def __init__(self) -> None:
        self.people: dict[str, Person] = {}
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []

    def respond(self, request: Received) -> Reply:
        body = json.loads(request.body)
        if request.path == "/clinics":
            self.asked.append(body)
            age = int(body["age"])
            return Reply(404) if (age - 10) % 4 == 0 else Reply(200, b'{"name": "Hill Side"}')
        self.told.append(body)
        return Reply(200)


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path) as running:
        running.start("worker two")
        yield running


@pytest.fixture
def clinics() -> Clinics:
    return Clinics()


@pytest.fixture
def receiver(clinics: Clinics) -> Iterator[Receiver]:
    with receiving(clinics.respond) as made:
        yield made


def command(service: RunningService, *arguments: str) -> Any:
    """The output of an operator's command."""
    done = call_forked(*arguments, folder=service.folder, environment=service.environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def bring_in(service: RunningService, receiver: Receiver, folder: Path) -> str:
    """Imports the export, creates the resthook and subscribes to it; returns the UUID of the flow Registration."""
    file = folder / "registration.json"
    file.write_text(EXPORT.read_text().replace(PLACE, receiver.url.removesuffix("/hook")))
    workspace = service.workspace.uuid
    command(service, "flow", "import", "--workspace", workspace, str(file))
    service.post("/api/v2/globals.json?key=clinic_phone", {"value": "+250788123123"})
    url = receiver.url.replace("/hook", "/mothers")
    service.post("/api/v2/resthook_subscribers.json", {"resthook": "new-registration", "target_url": url})
    flows = {each["name"]: each["uuid"] for each in everything(service, "/api/v2/flows.json")}
    assert sorted(flows) == ["Checkup Reminder", "Consent", "Registration"]
    return str(flows["Registration"])


def connect(service: RunningService, people: dict[str, Person]) -> list[AnsweringPhone]:
    phones = []
    for number in range(PHONES):
        phone = Phone(HttpTransport(service.url), is_lagging=number % 2 == 1)
        phone.register()
        body = {"claim_code": phone.state.claim_code, "phone": f"+25078812300{number}"}
        service.post("/api/v1/relayers.json", body)
        phones.append(AnsweringPhone(phone, lambda number, text: people[number].answer(text)))
    return phones


def everything(service: RunningService, path: str, **query: Any) -> list[Any]:
    """All records of a list, page by page."""
    found: list[Any] = []
    page = service.get(path, **query)
    while True:
        found += page["results"]
        if page["next"] is None:
            return found
        page = service.get(page["next"].removeprefix(service.url))


def test_a_thousand_conversations_end_as_the_flows_say(
    service: RunningService, receiver: Receiver, clinics: Clinics, tmp_path: Path
) -> None:
    flow_uuid = bring_in(service, receiver, tmp_path)
    people = {number_of(index): Person(index) for index in range(CONTACTS)}
    phones = connect(service, people)
    for phone in phones:
        phone.start()

    numbers = [f"tel:{number}" for number in people]
    for first in range(0, CONTACTS, STARTED_AT_ONCE):
        urns = numbers[first : first + STARTED_AT_ONCE]
        service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "urns": urns, "params": {"source": "story"}})

    def has_ended() -> bool:
        (record,) = service.get("/api/v2/flows.json", uuid=flow_uuid)["results"]
        return bool(record["runs"]["completed"] == CONTACTS)

    wait_until(has_ended, "the end of every run", PATIENCE_SECONDS + CONTACTS, pause_seconds=0.5)
    for phone in phones:
        phone.stopped.set()
        phone.join(PATIENCE_SECONDS)
    assert [phone.error for phone in phones] == [None] * PHONES

    check_messages(service, people)
    check_runs(service, flow_uuid, people)
    check_contacts(service, people)
    check_outside(service, clinics, people)


def check_messages(service: RunningService, people: dict[str, Person]) -> None:
    """Everybody was asked in order, and nobody twice."""
    said: dict[str, list[str]] = {}
    heard: dict[str, list[str]] = {}
    for record in reversed(everything(service, "/api/v2/messages.json")):
        lines = said if record["direction"] == "in" else heard
        lines.setdefault(record["urn"].removeprefix("tel:"), []).append(record["text"])
    for number, person in people.items():
        assert len(person.said) == EXCHANGES
        assert said[number] == person.said
        first = person.name.split()[0]
        age = ["Please send your age as a number, like 27."] * 5
        consent = [f"May we send {person.name} a reminder before each checkup?"] * 3
        asked = [WELCOME, f"Thanks {first}. How old are you?", *age, *consent]
        assert heard[number][:-1] == asked, (heard[number], said[number])
        assert heard[number][-1] == farewell(person)


def farewell(person: Person) -> str:
    if person.refuses:
        return "That is fine. Send JOIN when you change your mind."
    if clinic_is_missing(person):
        return "Thanks, a colleague will look for a clinic near you."
    return f"You are registered, {person.name}. Your clinic is Hill Side. Call +250788123123 with any question."


def clinic_is_missing(person: Person) -> bool:
    return (person.age - 10) % 4 == 0


def check_runs(service: RunningService, flow_uuid: str, people: dict[str, Person]) -> None:
    runs = everything(service, "/api/v2/runs.json", flow=flow_uuid)
    assert Counter(run["exit_type"] for run in runs) == {"completed": CONTACTS}
    assert all(run["responded"] and run["start"] for run in runs)
    ages = {run["contact"]["urn"].removeprefix("tel:"): run["values"]["age"]["value"] for run in runs}
    assert ages == {number: str(person.age) for number, person in people.items()}
    children = [run for run in everything(service, "/api/v2/runs.json") if run["flow"]["name"] == "Consent"]
    assert Counter(run["values"]["consent"]["category"] for run in children) == Counter(
        "No" if person.refuses else "Yes" for person in people.values()
    )


def check_contacts(service: RunningService, people: dict[str, Person]) -> None:
    records = everything(service, "/api/v2/contacts.json")
    found = {record["urns"][0].removeprefix("tel:"): record for record in records}
    for number, person in people.items():
        record = found[number]
        groups = {"Registered"} | ({"Adults"} if person.age >= 18 else set())
        groups |= {"Open Tickets"} if not person.refuses and clinic_is_missing(person) else set()
        assert (record["name"], record["fields"]["age"], record["flow"]) == (person.name, str(person.age), None)
        assert {group["name"] for group in record["groups"]} == groups
        assert (record["fields"]["consent_date"] is None) == person.refuses
    labels = {each["name"]: each["count"] for each in everything(service, "/api/v2/labels.json")}
    assert labels["Consent given"] == sum(not person.refuses for person in people.values())


def check_outside(service: RunningService, clinics: Clinics, people: dict[str, Person]) -> None:
    willing = [person for person in people.values() if not person.refuses]
    lost = [person for person in willing if clinic_is_missing(person)]
    registered = len(willing) - len(lost)
    assert Counter(int(body["age"]) for body in clinics.asked) == Counter(person.age for person in willing)
    tickets = everything(service, "/api/v2/tickets.json")
    assert Counter(ticket["topic"]["name"] for ticket in tickets) == {"Registrations": len(lost)}
    assert all(ticket["opened_in"]["name"] == "Registration" for ticket in tickets)
    events = everything(service, "/api/v2/resthook_events.json", resthook="new-registration")
    assert len(events) == registered == len(clinics.told)
    assert {body["contact"]["uuid"] for body in clinics.told} == {event["data"]["contact"]["uuid"] for event in events}
    assert all(event["data"]["flow"]["name"] == "Registration" for event in events)
