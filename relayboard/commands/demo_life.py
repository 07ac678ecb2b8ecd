"""What gives the workspace of `relayboard demo` its life: contacts, messages and tickets of three weeks, a flow that
people answer, a campaign, and somebody who writes from time to time.
"""

import itertools
import secrets
from collections.abc import Iterator
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import requests

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.groups.groups import create_group
from persistence.labels import create_label
from persistence.sample import fill_sample
from persistence.sample_names import FLOW as EXAMPLE_FLOW
from persistence.sample_names import name_examples
from persistence.sql.columns import new_uuid
from persistence.workspaces import Workspace
from relayboard.phone.phone import Phone

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
TALK_EVERY = 20
"""Syncs between two messages of the people who talk."""


def renew_password(tx: Transaction, user_id: int) -> str:
    """A new password of the demo's administrator, which only the link of this start knows."""
    password = secrets.token_urlsafe(15)
    set_password(tx, user_id, Passwords().hash(password))
    return password


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


def _post(session: requests.Session, url: str, body: dict[str, Any]) -> dict[str, Any]:
    response = session.post(url, json=body, headers={"Idempotency-Key": new_uuid()})
    response.raise_for_status()
    made: dict[str, Any] = response.json()
    return made


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
