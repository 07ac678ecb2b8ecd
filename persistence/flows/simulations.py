"""Plays a flow with the assets of a workspace, for who writes it: nothing is stored and nobody is called. The session
is the caller's to keep, and is read as strangers' data when it comes back.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.asset_kinds import Channel
from flows.definition import DefinitionError, Flow, load
from flows.engine import (
    Contact,
    ContactError,
    EngineError,
    Event,
    Options,
    ResumeError,
    Session,
    SessionStateError,
)
from flows.engine.services import Services
from flows.environment import SYSTEM_CLOCK, Environment
from flows.simulation import CHANNEL, PHONE, SaidAnswers, Simulation, make_contact
from persistence.contacts.owners import find_contacts
from persistence.contacts.urns import environment_of
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.assets import StoredAssets
from persistence.flows.records import require_active_flow
from persistence.sessions.replies import load_contacts
from persistence.workspaces.records import Workspace

OPTIONS = Options(classifiers=True, groups_see_urns=True, extra=True)
"""Those of the worker, as far as they do not concern what others are told."""


def simulate(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], *, with_tickets: bool = True
) -> dict[str, Any]:
    """Starts a conversation, or with `session` continues it; returns the session, the events of this sprint, and what
    people look for in it. A copied contact has its open tickets only `with_tickets`. Raises InvalidInput.
    """
    _check_form(body)
    tx.may_pause()
    contact = _copy_contact(tx, workspace, body, with_tickets=with_tickets)
    unsaved = _read_unsaved(tx, workspace, body)
    assets = StoredAssets(tx, workspace, [Channel.from_json(CHANNEL)], unsaved)
    services = _read_services(body.get("services") or {}).as_services()
    if body.get("session") is None:
        flow = unsaved or _find_flow(assets, body["flow"])
        return _start(environment_of(workspace), body, flow, contact, assets, services)
    try:
        session = Session.from_json(body["session"])
    except SessionStateError as error:
        raise InvalidInput.on("session", str(error), "wrong_form") from error
    session.environment = environment_of(workspace)
    simulation = Simulation(assets, SYSTEM_CLOCK, session, services, OPTIONS)
    said = body["resume"]
    try:
        text = said.get("status" if said["type"] == "dial" else "text") or ""
        events = simulation.answer(said["type"], text, said.get("attachments") or ())
    except ResumeError as error:
        raise InvalidInput.on("resume", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    return _tell(simulation.session, events)


def _check_form(body: Mapping[str, Any]) -> None:
    """Which parts need or exclude each other. Raises InvalidInput."""
    if (body.get("definition") is None) == (body.get("flow") is None):
        raise InvalidInput.across("Send either a definition, or the UUID of a flow.")
    if body.get("contact") is not None and body.get("person") is not None:
        raise InvalidInput.across("Send either a contact, or what a person is like.")
    if body.get("session") is None and body.get("resume") is not None:
        raise InvalidInput.on("resume", "Only a conversation that has begun can go on: send its session.")
    if body.get("session") is not None and body.get("resume") is None:
        raise InvalidInput.on("resume", "Say how the conversation goes on.", "required")


def _start(
    environment: Environment,
    body: Mapping[str, Any],
    flow: Flow,
    contact: Contact | None,
    assets: StoredAssets,
    services: Services,
) -> dict[str, Any]:
    try:
        if contact is None:
            contact = make_contact(body.get("person") or {}, flow, assets, SYSTEM_CLOCK, environment)
        params = body.get("params") or {}
        simulation, events = Simulation.begin(
            assets, flow, contact, params, SYSTEM_CLOCK, environment, services=services, options=OPTIONS
        )
    except ContactError as error:
        raise InvalidInput.on("person", str(error), "wrong_form") from error
    except EngineError as error:
        raise InvalidInput.on("definition" if body.get("definition") else "flow", str(error)) from error
    return _tell(simulation.session, events)


def _read_unsaved(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> Flow | None:
    """The definition of the request; None if it names a flow, which then is one that can be started."""
    given = body.get("definition")
    if given is None:
        require_active_flow(tx, workspace.id, body["flow"].lower(), field="flow")
        return None
    try:
        return load(given)
    except DefinitionError as error:
        raise InvalidInput.on("definition", str(error), "wrong_form") from error


def _find_flow(assets: StoredAssets, uuid: str) -> Flow:
    try:
        flow = assets.find_flow(uuid.lower())
    except DefinitionError as error:
        raise InvalidInput.on("flow", str(error), "wrong_form") from error
    assert flow is not None, "it is there and not archived"
    return flow


def _copy_contact(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], *, with_tickets: bool
) -> Contact | None:
    """A contact of the workspace as it is now, with another number if people may not see its own."""
    if body.get("contact") is None:
        return None
    [contact_id] = find_contacts(tx, workspace, [body["contact"]], field="contact")
    contact = load_contacts(tx, workspace.id, [contact_id])[contact_id]
    changed: dict[str, Any] = {"urns": [PHONE]} if workspace.is_anonymous else {}
    changed |= {} if with_tickets else {"tickets": []}
    return Contact.from_json({**contact.to_json(), **changed}) if changed else contact


def _read_services(given: Mapping[str, Any]) -> SaidAnswers:
    failing = frozenset(name for name in ("airtime", "email") if given.get(name) == "fails")
    return SaidAnswers(given.get("webhooks") or (), given.get("classifiers") or (), given.get("llm"), failing)


def _tell(session: Session, events: Sequence[Event]) -> dict[str, Any]:
    first = session.runs[0].results if session.runs else {}
    return {
        "status": session.status,
        "events": events,
        "path": [{"flow": dict(run.flow), **step.to_json()} for run in session.runs for step in run.path],
        "results": {key: result.to_json() for key, result in first.items()},
        "contact": session.contact.to_json(),
        "session": session.to_json(),
    }
