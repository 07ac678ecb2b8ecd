"""Conversations without a host: somebody answers in the contact's place, nothing is stored or sent, and services reply
as the caller says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from flows.asset_kinds import Classifier, Llm
from flows.definition import Flow
from flows.engine import (
    Assets,
    Contact,
    ContactEditor,
    ContactError,
    EventLog,
    Options,
    Session,
    apply_modifier,
    resume,
    start,
)
from flows.engine.options import DEFAULT_OPTIONS
from flows.engine.services import (
    NO_SERVICES,
    AirtimeTransfer,
    Classification,
    LlmReply,
    ServiceError,
    Services,
    WebhookReply,
    WebhookRequest,
)
from flows.engine.state import Event
from flows.environment import Clock, Environment, write_moment
from flows.urns import Urn

PHONE = "tel:+12065550123"
COUNTRY = "US"
CHANNEL: dict[str, Any] = {
    "uuid": "00000000-0000-4000-8000-000000000001",
    "name": "Terminal",
    "address": "+12065550100",
    "schemes": ["tel"],
    "roles": ["send", "receive", "call", "answer"],
    "country": COUNTRY,
}
DEFAULT_NAME = "Ann Lee"
UNDETERMINED = "und"
MESSAGE, DIAL, CALLBACK = "msg", "dial", "callback"
ADDRESS = "https://example.org/callbacks/"
"""How addresses begin that nobody listens at."""
CALL_SECONDS = 10
NO_ANSWER = "nobody said what this service answers"


def make_contact(
    given: Mapping[str, Any], flow: Flow, assets: Assets, clock: Clock, environment: Environment | None = None
) -> Contact:
    """A contact for a flow, with the given properties; fields may be plain strings. Raises ContactError."""
    fields = given.get("fields") or {}
    if not isinstance(fields, Mapping):
        raise ContactError("contact cannot be read: fields is of another type")
    plain = {key: value for key, value in fields.items() if not isinstance(value, Mapping)}
    base = {
        "uuid": clock.uuid(),
        "id": 1,
        "name": DEFAULT_NAME,
        "language": "" if flow.language == UNDETERMINED else flow.language,
        "created_on": write_moment(clock.now()),
        "urns": [PHONE],
    }
    full = {key: value for key, value in fields.items() if key not in plain}
    contact = Contact.from_json({**base, **given, "fields": full})
    known = environment or make_environment(flow)
    editor = ContactEditor(contact, assets, known, clock, EventLog(clock, assets.generation))
    for key, value in plain.items():
        reference = {"key": key, "name": key}
        apply_modifier(editor, {"type": "field", "field": reference, "value": "" if value is None else str(value)})
    return contact


def make_environment(flow: Flow) -> Environment:
    """The environment of a workspace with all languages of a flow."""
    languages = [flow.language, *flow.localization]
    known = tuple(dict.fromkeys(language for language in languages if language != UNDETERMINED))
    return Environment(allowed_languages=known, default_country=COUNTRY)


@dataclass(slots=True)
class Simulation:
    """A session with a person in the contact's place."""

    assets: Assets
    clock: Clock
    session: Session
    services: Services = NO_SERVICES
    options: Options = DEFAULT_OPTIONS

    @classmethod
    def begin(
        cls,
        assets: Assets,
        flow: Flow,
        contact: Contact,
        params: Mapping[str, Any],
        clock: Clock,
        environment: Environment | None = None,
        *,
        services: Services = NO_SERVICES,
        options: Options = DEFAULT_OPTIONS,
    ) -> tuple[Simulation, Sequence[Event]]:
        """Starts the flow with a manual trigger; raises EngineError."""
        trigger = {
            "type": "manual",
            "flow": {"uuid": flow.uuid, "name": flow.name},
            "triggered_on": write_moment(clock.now()),
            "params": dict(params),
        }
        channel = {"uuid": CHANNEL["uuid"], "name": CHANNEL["name"]}
        call = {"uuid": clock.uuid(), "channel": channel, "urn": PHONE} if flow.type == "voice" else None
        known = environment or make_environment(flow)
        session, events = start(
            assets, contact, trigger, known, clock=clock, services=services, options=options, call=call
        )
        return cls(assets, clock, session, services, options), events

    def answer(self, kind: str, text: str = "", attachments: Sequence[str] = ()) -> Sequence[Event]:
        """Continues by a resume of this kind: with a message, with how a call ended or the body of a callback
        (`text`), or without anything. Raises ResumeError.
        """
        moment = write_moment(self.clock.now())
        given: dict[str, Any] = {"type": kind, "resumed_on": moment}
        if kind == DIAL:
            given["event"] = {"type": "dial_ended", "dial": {"status": text, "duration": CALL_SECONDS}}
        elif kind == CALLBACK:
            given["event"] = {"type": "callback_received", "callback": {"body": text}}
        elif kind == MESSAGE:
            given["event"] = self._write_message(text, attachments, moment)
        self.session, events = resume(
            self.session, given, assets=self.assets, clock=self.clock, services=self.services, options=self.options
        )
        return events

    def _write_message(self, text: str, attachments: Sequence[str], moment: str) -> dict[str, Any]:
        urns = self.session.contact.urns
        message: dict[str, Any] = {"text": text, "channel": {"uuid": CHANNEL["uuid"], "name": CHANNEL["name"]}}
        if attachments:
            message["attachments"] = list(attachments)
        if urns:
            message["urn"] = urns[0].identity
        return {"uuid": self.clock.uuid(), "type": "msg_received", "created_on": moment, "msg": message}

    @property
    def waits_for_call(self) -> bool:
        """Whether the end of a call is awaited rather than a message."""
        run = self.session.waiting_run
        flow = self.assets.find_readable_flow(str(run.flow["uuid"])) if run else None
        node = flow.find_node(run.path[-1].node_uuid) if run and flow else None
        return bool(node and node.router and node.router.wait and node.router.wait.type == DIAL)


@dataclass(frozen=True, slots=True)
class SaidAnswers:
    """All services of a host, answering what somebody said. `webhooks` have `url` (how the URL begins), `status` (0 for
    no response) and `body`; `classifiers` have `name` and `intents` with `name` and `confidence`. The first that fits
    counts. `failing` names services that fail: airtime, email.
    """

    webhooks: Sequence[Mapping[str, Any]] = ()
    classifiers: Sequence[Mapping[str, Any]] = ()
    llm: str | None = None
    failing: frozenset[str] = field(default_factory=frozenset)

    def as_services(self) -> Services:
        """The services of the engine."""
        return Services(webhook=self, email=self, classifier=self, llm=self, airtime=self, callbacks=self)

    def call(self, request: WebhookRequest) -> WebhookReply:
        """A response without headers; `{}` with status 200 if nothing is said."""
        fits = (each for each in self.webhooks if request.url.startswith(str(each.get("url") or "")))
        said = next(fits, {})
        status, body = int(said.get("status", 200)), str(said.get("body", "{}")).encode()
        sent = f"{request.method} {request.url} HTTP/1.1\r\n\r\n{request.body}"
        if not status:
            return WebhookReply(0, sent, request_bytes=len(sent.encode()))
        got = f"HTTP/1.1 {status}\r\n\r\n{body.decode()}"
        sizes = len(sent.encode()), len(got.encode())
        return WebhookReply(status, sent, got, body, {}, request_bytes=sizes[0], response_bytes=sizes[1])

    def address(self, contact_uuid: str, session_uuid: str, session_began_on: str, number: int) -> str:
        """An address at which nobody listens."""
        return f"{ADDRESS}{session_uuid}/{number}"

    def send(self, addresses: Sequence[str], subject: str, body: str) -> None:
        """Sends nothing; raises ServiceError if e-mail fails."""
        self._may_fail("email")

    def classify(self, classifier: Classifier, text: str) -> Classification:
        """The intents of the first answer of a classifier's name; raises ServiceError."""
        fits = (each for each in self.classifiers if str(each.get("name") or classifier.name) == classifier.name)
        said = next(fits, None)
        if said is None:
            raise ServiceError(NO_ANSWER)
        intents = said.get("intents") or ()
        return Classification([(str(each["name"]), Decimal(str(each["confidence"]))) for each in intents])

    def respond(self, llm: Llm, instructions: str, text: str) -> LlmReply:
        """The answer of every model; raises ServiceError."""
        if self.llm is None:
            raise ServiceError(NO_ANSWER)
        return LlmReply(self.llm)

    def transfer(
        self, sender: Urn | None, recipient: Urn, amounts: Mapping[str, Decimal], transfer_uuid: str
    ) -> AirtimeTransfer:
        """Gives the first amount; raises ServiceError if transfers fail."""
        self._may_fail("airtime")
        currency, amount = next(iter(amounts.items()), ("", Decimal(0)))
        return AirtimeTransfer(transfer_uuid, currency, amount, amount)

    def _may_fail(self, name: str) -> None:
        if name in self.failing:
            raise ServiceError(f"{name} fails, as was asked for")
