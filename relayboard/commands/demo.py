"""`relayboard demo`: a running service with sample data, in which a simulated phone receives and sends a message.

What gives the workspace of `relayboard demo` its life: contacts, messages and tickets of three weeks, a flow that
people answer, a campaign, and somebody who writes from time to time.
"""

import contextlib
import itertools
import logging
import os
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import requests

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.channels.channels import list_channel_facts, set_channel_webhook
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.fields import create_field
from persistence.groups.groups import create_group
from persistence.labels import create_label
from persistence.secrets.encryption import KeyRing
from persistence.sql.columns import new_uuid
from persistence.tokens import create_token
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace, list_workspaces
from persistence.workspaces.sample import FLOW as EXAMPLE_FLOW
from persistence.workspaces.sample import fill_sample, fill_team, name_examples
from persistence.workspaces.writes import create_workspace
from relayboard.base.logs import configure_logging
from relayboard.base.settings import Settings, load_settings
from relayboard.commands.output import CommandFailed
from relayboard.commands.processes import bound, prepare
from relayboard.phone.phone import Phone, load_state, save_state
from relayboard.phone.wire import HttpTransport, NoReply
from relayboard.processes import Supervisor, listen, service_children, stopped_by_signals
from relayboard.usage.parts import Options
from relayboard.usage.services import DEFAULT_PORT
from relayboard.webhook_listener import WebhookListener

NAME = "Demo clinic"
EMAIL = "demo@example.org"
PHONE_NUMBER = "+250788123123"
CALLER = "+250788000111"
QUESTION = "Is the clinic open on Monday?"
ANSWER = "Yes, from 8 to 12. Bring your card."
STORY = ("mo_sms", "mt_sent", "mt_dlvd")
WAIT_SECONDS = 40.0
LOOPBACK = "127.0.0.0/8"
HOST = "127.0.0.1"
NEIGHBORS = 20

FLOW = "Visit survey"
GROUP = "Health workers"
NOTICE = "Staff meeting on Friday at 9, in the big room. Please confirm with your team."
REPLIES = ("Good", "Very good, thank you", "Bad, I waited for three hours", "good", "Hello?")
TALK = (
    "Good morning, is the nurse there today?",
    "Thank you for the reminder",
    "Can I get my medicine at another health post?",
    "My child has a rash. Should we come?",
)
TEAMS = (
    ("Clinic desk", ("Appointments", "Medicine"), ("Aline", "Eric")),
    ("Home visits", ("Complaints", "Home visits"), ("Beatrice",)),
)
"""The name of each team, its topics, and the first names of its members."""
SAVED_REPLIES = (
    ("Opening hours", "We are open from Monday to Friday, 8 to 17, and on Saturday from 8 to 12."),
    ("Lost card", "Hello @contact.first_name, come with your identity card; we make a new one for you."),
    ("Ask for a name", "Thank you for your message! What is your name, please?"),
    ("Call the nurse", "Please call the nurse on duty: +250788000000. She is there day and night."),
)
CAMPAIGNS = (
    (
        "After the birth",
        "Expecting mothers",
        ((1, "weeks", "Congratulations! Bring your baby for the first vaccine."), (6, "weeks", "How are you both?")),
    ),
    ("Bed nets", "Expecting mothers", ((-6, "weeks", "Your bed net is ready. Fetch it at the health post."),)),
)
"""The name of each campaign, its group, and its messages: how long after the due date, and what they say."""
WEEKLY = "Good morning! Please send us how many visits you made last week."
DRAFT = "From next month on, the clinic is open on Sundays, too."
TALK_EVERY = 20
"""Syncs between two messages of the people who talk."""


def say(text: str = "") -> None:
    print(text, flush=True)


def run_demo(options: Options) -> int:
    """Serve on the port or the first free one, run the story once, and continue to serve until SIGINT or SIGTERM."""
    os.environ.setdefault("RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS", LOOPBACK)
    settings = load_settings()
    configure_logging(settings.log_format, level=max(settings.log_level, logging.WARNING))
    prepare(settings)
    with bound(HOST, _free_port() if options.port is None else options.port) as listener:
        log = Path("var/demo.log")
        supervisor = Supervisor(service_children(listener, 1, with_worker=True, log=log))
        story = Story(settings, f"http://127.0.0.1:{listener.getsockname()[1]}", supervisor.stopped)
        threading.Thread(target=story.tell, name="story", daemon=True).start()
        with stopped_by_signals(supervisor):
            return supervisor.run()


@dataclass(frozen=True, slots=True)
class Sample:
    """The demo workspace, with a new token and a new password of its administrator."""

    workspace: Workspace
    token: str
    password: str
    user_id: int
    is_new: bool


def sample_workspace(settings: Settings) -> Sample:
    """The demo workspace, created on the first run."""
    database = Database(settings.database_url, keys=KeyRing.of(settings))
    try:
        with database.writing() as tx:
            known = [workspace for workspace in list_workspaces(tx) if workspace.name == NAME]
            workspace = known[0] if known else _create_sample(tx)
            user_id = find_member(tx, workspace.id, EMAIL) or _add_administrator(tx, workspace)
            token = create_token(tx, workspace.id, user_id, settings.secret_key)
            return Sample(workspace, token, renew_password(tx, user_id), user_id, is_new=not known)
    finally:
        database.close()


def renew_password(tx: Transaction, user_id: int) -> str:
    """A new password of the demo's administrator, which only the link of this start knows."""
    password = secrets.token_urlsafe(15)
    set_password(tx, user_id, Passwords().hash(password))
    return password


class People:
    """Those who answer the flow, and who write from time to time."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self._answered: set[str] = set()
        self._asked: list[str] = []
        self._replies = itertools.cycle(REPLIES)
        self._talk: Iterator[str] = itertools.cycle(TALK)
        self._turn = 0

    def act(self) -> None:
        """Answers the survey, one person at a time and not everybody; sometimes somebody writes."""
        for held in self.phone.state.messages.values():
            if held.text.startswith("How was your last visit") and held.phone not in self._answered:
                self._answered.add(held.phone)
                self._asked.append(held.phone)
        self._turn += 1
        if self._asked:
            number = self._asked.pop(0)
            if self._turn % 4:
                self.phone.receive_sms(number, next(self._replies))
        if self._turn % TALK_EVERY == 0:
            self.phone.receive_sms(f"+25078833{self._turn % 7:04}", next(self._talk))


def _create_sample(tx: Transaction) -> Workspace:
    languages = ("eng", "kin")
    workspace = create_workspace(tx, NAME, country="RW", timezone="Africa/Kigali", languages=languages)
    _add_administrator(tx, workspace)
    create_field(tx, workspace.id, "Due Date", "datetime")
    create_field(tx, workspace.id, "District", "text")
    return workspace


def _add_administrator(tx: Transaction, workspace: Workspace) -> int:
    return add_member(tx, workspace.id, EMAIL, "administrator", first_name="Demo", last_name="Administrator").id


def _post(session: requests.Session, url: str, body: dict[str, Any]) -> dict[str, Any]:
    response = session.post(url, json=body, headers={"Idempotency-Key": new_uuid()})
    response.raise_for_status()
    made: dict[str, Any] = response.json()
    return made


def _definitions() -> dict[str, Any]:
    empty: dict[str, Any] = {"campaigns": [], "triggers": [], "fields": [], "groups": []}
    return {"version": "13", "site": "https://relayboard.example.org", "flows": [_survey()], **empty}


def _uuid(word: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"https://relayboard.example.org/demo/{word}"))


def _say(word: str, text: str) -> dict[str, Any]:
    return {"type": "send_msg", "uuid": _uuid(f"say {word}"), "text": text}


def _survey() -> dict[str, Any]:
    """A question, and what is said to those who are content, to those who are not, and to everybody else."""
    texts = {
        "Good": "Thank you! We are glad that you were content.",
        "Bad": "We are sorry. The team reads your answer.",
        "Other": "Thank you for your answer.",
    }
    ends = [
        {
            "uuid": _uuid(name),
            "actions": [_say(name, text)],
            "exits": [{"uuid": _uuid(f"{name} end"), "destination_uuid": None}],
        }
        for name, text in texts.items()
    ]
    categories = [
        {"uuid": _uuid(f"{name} category"), "name": name, "exit_uuid": _uuid(f"{name} exit")} for name in texts
    ]
    cases = [
        {
            "uuid": _uuid(f"{name} case"),
            "type": "has_any_word",
            "arguments": [name.lower()],
            "category_uuid": _uuid(f"{name} category"),
        }
        for name in ("Good", "Bad")
    ]
    wait = {
        "uuid": _uuid("wait"),
        "actions": [],
        "exits": [{"uuid": _uuid(f"{name} exit"), "destination_uuid": _uuid(name)} for name in texts],
        "router": {
            "type": "switch",
            "operand": "@input.text",
            "wait": {"type": "msg"},
            "result_name": "Visit",
            "categories": categories,
            "cases": cases,
            "default_category_uuid": _uuid("Other category"),
        },
    }
    ask = {
        "uuid": _uuid("ask"),
        "actions": [_say("ask", "How was your last visit to the clinic? Good or bad?")],
        "exits": [{"uuid": _uuid("ask exit"), "destination_uuid": _uuid("wait")}],
    }
    return {
        "uuid": EXAMPLE_FLOW,
        "name": FLOW,
        "spec_version": "13.6.1",
        "language": "eng",
        "type": "messaging",
        "revision": 1,
        "expire_after_minutes": 1440,
        "localization": {},
        "nodes": [ask, wait, *ends],
    }


class Story:
    """One incoming and one outgoing SMS, over real HTTP, printed step by step."""

    def __init__(self, settings: Settings, url: str, stopping: threading.Event) -> None:
        self.settings = settings
        self.url = url
        self.stopping = stopping
        self.events: list[dict[str, Any]] = []
        self.changed = threading.Condition()
        self.token = ""
        self.session = requests.Session()
        self.session.trust_env = False

    def tell(self) -> None:
        """Run the story; if a step does not happen in time, it is reported, and life goes on."""
        try:
            self._wait_until(self._is_ready, "the API to answer")
            phone, people = self._begin()
        except (CommandFailed, requests.RequestException) as error:
            say(f"The demo could not begin: {error}")
            return
        try:
            self._tell(phone)
        except (CommandFailed, requests.RequestException, NoReply) as error:
            say(f"The story stopped: {error}. The service continues to run, and so does the simulated phone.")
        self._keep_syncing(phone, people)

    def _begin(self) -> tuple[Phone, People]:
        sample = sample_workspace(self.settings)
        self.token = sample.token
        self.session.headers["Authorization"] = f"Token {self.token}"
        console = f"{self.url}/#/demo?{urlencode({'email': EMAIL, 'password': sample.password})}"
        say(f"\n  Console    {console}   (open it: you are signed in)")
        say(f"  API        {self.url}/api/v2/docs   (look at every operation and try it)")
        say(f"  Token      {self.token}")
        phone = self._connect_phone(sample.workspace)
        people = self._give_life(sample, phone)
        if sys.stdout.isatty() and (sys.platform == "darwin" or os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}):
            webbrowser.open(console)
        return phone, people

    def _tell(self, phone: Phone) -> None:
        say(f'\n  1. {CALLER} sends an SMS to the phone: "{QUESTION}"')
        phone.receive_sms(CALLER, QUESTION)
        phone.sync()
        self._wait_until(lambda: self._has_come(QUESTION), "the SMS to reach the inbox")
        say("  2. It is in the inbox: GET /api/v2/messages.json?folder=inbox")
        self._wait_for_event("mo_sms")
        say("  3. The webhook receiver was told (event mo_sms)")
        self._answer(phone)
        say("\n  Everything works. The service continues to run (its log: var/demo.log); Ctrl-C stops it. Try:\n")
        say(f"    curl -H 'Authorization: Token {self.token}' {self.url}/api/v2/messages.json")
        say(f"    curl -H 'Authorization: Token {self.token}' {self.url}/api/v2/contacts.json\n")

    def _give_life(self, sample: Sample, phone: Phone) -> People:
        if sample.is_new:
            database = Database(self.settings.database_url, keys=KeyRing.of(self.settings))
            with contextlib.closing(database):
                fill_workspace(database, sample.workspace, phone.state.relayer_id or 0, sample.user_id)
                with database.writing() as tx:
                    fill_team(tx, sample.workspace)
            begin_work(self.session, self.url)
            set_up_team(self.session, self.url)
            say("  Life       200 contacts, three weeks of messages, tickets of teams, a flow and campaigns")
        return People(phone)

    def _connect_phone(self, workspace: Workspace) -> Phone:
        state = load_state(self._state_path())
        phone = Phone(HttpTransport(self.url), state)
        phone.register()
        say(f"  Claim code {phone.state.claim_code}   (shown by the simulated phone, claimed below)")
        claimed = self.session.get(f"{self.url}/api/v1/relayers.json", params={"phone": PHONE_NUMBER}).json()["results"]
        if phone.state.relayer_id not in {each["relayer"] for each in claimed}:
            body = {"claim_code": phone.state.claim_code, "phone": PHONE_NUMBER, "name": "Clinic phone"}
            self.session.post(f"{self.url}/api/v1/relayers.json", json=body).raise_for_status()
        phone.sync()
        receiver = self._receiver()
        database = Database(self.settings.database_url, keys=KeyRing.of(self.settings))
        with contextlib.closing(database), database.writing() as tx:
            channels = {each["id"]: each["uuid"] for each in list_channel_facts(tx, workspace.id)}
            mine = channels.get(phone.state.relayer_id)
            if mine is None:
                raise CommandFailed(f"the simulated phone is not claimed: delete {self._state_path()} and start again")
            set_channel_webhook(tx, workspace.id, mine, receiver.url)
        phone.sync()
        say(f"  Phone      {PHONE_NUMBER}, claimed through POST /api/v1/relayers.json")
        say(f"  Webhooks   go to a small receiver at {receiver.url}")
        return phone

    def _answer(self, phone: Phone) -> None:
        contact = self.session.get(f"{self.url}/api/v2/contacts.json", params={"urn": f"tel:{CALLER}"}).json()
        body = {"contact": contact["results"][0]["uuid"], "text": ANSWER}
        headers = {"Idempotency-Key": new_uuid()}
        answered = self.session.post(f"{self.url}/api/v2/messages.json", json=body, headers=headers)
        answered.raise_for_status()
        message = answered.json()
        say(f'  4. We answer through POST /api/v2/messages.json: "{ANSWER}" ({message["status"]})')
        phone.sync()
        phone.sync()
        say(f"  5. The phone holds it ({self._status(message['uuid'])}) and sends it")
        phone.send_waiting()

        def is_delivered() -> bool:
            phone.sync(force=True)
            return self._status(message["uuid"]) == "delivered"

        self._wait_until(is_delivered, "the phone to report the answer as delivered")
        self._wait_for_event("mt_sent")
        self._wait_for_event("mt_dlvd")
        came = {event["event"]["event"] for event in self.events}
        events = ", ".join(name for name in STORY if name in came)
        say(f"  6. It is {self._status(message['uuid'])}; the webhook receiver was told: {events}")

    def _keep_syncing(self, phone: Phone, people: People) -> None:
        while not self.stopping.wait(2):
            with contextlib.suppress(NoReply):
                phone.sync(force=True)
                people.act()
                phone.send_waiting()
            save_state(self._state_path(), phone.state)

    def _receiver(self) -> WebhookListener:
        def notice(event: dict[str, Any]) -> None:
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()

        receiver = WebhookListener(0, notice)
        receiver.start()
        return receiver

    def _state_path(self) -> Path:
        return Path("var/demo-phone.json")

    def _is_ready(self) -> bool:
        try:
            return self.session.get(f"{self.url}/health/ready", timeout=5).status_code == 200
        except requests.RequestException:
            return False

    def _has_come(self, text: str) -> bool:
        page = self.session.get(f"{self.url}/api/v2/messages.json", params={"folder": "incoming"}).json()
        return any(message["text"] == text for message in page["results"])

    def _status(self, uuid: str) -> str:
        page = self.session.get(f"{self.url}/api/v2/messages.json", params={"uuid": uuid}).json()
        return str(page["results"][0]["status"])

    def _wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_true():
            if time.monotonic() > deadline or self.stopping.wait(0.1):
                raise CommandFailed(f"waited in vain for {what}")

    def _wait_for_event(self, name: str) -> None:
        def has_come() -> bool:
            return any(event["event"].get("event") == name for event in self.events)

        with self.changed:
            if not self.changed.wait_for(has_come, WAIT_SECONDS):
                raise CommandFailed(f"waited in vain for the webhook {name}")


def fill_workspace(database: Database, workspace: Workspace, channel_id: int, user_id: int) -> None:
    """Contacts, messages, tickets and a flow, in one transaction. The fields of the workspace exist already."""
    with database.writing() as tx:
        ids = {
            "channel_id": channel_id,
            "user_id": user_id,
            "label_id": create_label(tx, workspace.id, "Question"),
            "group_id": create_group(tx, workspace.id, "Expecting mothers"),
        }
        fill_sample(tx, workspace, **ids, fields=("due_date", "district"))
        import_definitions(tx, workspace, _definitions())
        name_examples(tx, workspace, **ids)


def begin_work(session: requests.Session, url: str) -> None:
    """Starts the flow for the health workers, writes to them, and gives the campaign a reminder."""
    flows = session.get(f"{url}/api/v2/flows.json").json()["results"]
    groups = {group["name"]: group["uuid"] for group in session.get(f"{url}/api/v2/groups.json").json()["results"]}
    flow = next(each["uuid"] for each in flows if each["name"] == FLOW)
    _post(session, f"{url}/api/v2/flow_starts.json", {"flow": flow, "groups": [groups[GROUP]]})
    notice = {"text": {"eng": NOTICE}, "groups": [groups[GROUP]], "base_language": "eng"}
    _post(session, f"{url}/api/v2/broadcasts.json", notice)
    (campaign,) = session.get(f"{url}/api/v2/campaigns.json").json()["results"]
    reminder = {
        "campaign": campaign["uuid"],
        "relative_to": "due_date",
        "offset": -2,
        "unit": "weeks",
        "delivery_hour": 9,
        "message": {"eng": "Two weeks to go! Please come to the clinic once more."},
    }
    _post(session, f"{url}/api/v2/campaign_events.json", reminder)


def set_up_team(session: requests.Session, url: str) -> None:
    """What a team has after some weeks: teams, saved replies, triggers, campaigns, and broadcasts that wait."""

    def named(resource: str) -> dict[str, str]:
        found = session.get(f"{url}/api/v2/{resource}.json").json()["results"]
        return {each.get("name") or each["email"]: each["uuid"] for each in found}

    topics, groups, flow = named("topics"), named("groups"), named("flows")[FLOW]
    people = {name.split()[0]: uuid for name, uuid in named("users").items() if name}
    for name, whose, members in TEAMS:
        team = {"name": name, "topics": [topics[each] for each in whose], "members": [people[each] for each in members]}
        _post(session, f"{url}/api/v2/teams.json", team)
    for name, text in SAVED_REPLIES:
        _post(session, f"{url}/api/v2/saved_replies.json", {"name": name, "text": text})
    _post(session, f"{url}/api/v2/triggers.json", {"type": "keyword", "flow": flow, "keywords": ["visit", "survey"]})
    _post(session, f"{url}/api/v2/triggers.json", {"type": "missed_call", "flow": flow})
    for name, group, events in CAMPAIGNS:
        campaign = _post(session, f"{url}/api/v2/campaigns.json", {"name": name, "group": groups[group]})
        for offset, unit, text in events:
            about = {"campaign": campaign["uuid"], "relative_to": "due_date", "offset": offset, "unit": unit}
            event = {**about, "delivery_hour": 10, "message": {"eng": text}}
            _post(session, f"{url}/api/v2/campaign_events.json", event)
    monday = {"text": {"eng": WEEKLY}, "groups": [groups[GROUP]], "base_language": "eng", "repeat": "weekly"}
    first = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0) + timedelta(days=7)
    _post(session, f"{url}/api/v2/broadcasts.json", {**monday, "days": "M", "scheduled_on": first.isoformat()})
    draft = {"text": {"eng": DRAFT}, "groups": [groups["Expecting mothers"]], "base_language": "eng", "draft": True}
    _post(session, f"{url}/api/v2/broadcasts.json", draft)


def _free_port() -> int:
    """The default port, or the next free one; 0 (any port) if the next ports are all in use."""
    for port in range(DEFAULT_PORT, DEFAULT_PORT + NEIGHBORS):
        with contextlib.suppress(OSError):
            listen(HOST, port).close()
            return port
    return 0
