"""Typed constructors of triggers and resumes, which start and continue sessions (flow format, triggers and resumes).
Both are plain mappings, ready for JSON; `start` and `resume` accept any such mapping. Datetimes are aware; by default
the time of the session's clock is used.
"""

import uuid as uuid_module
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self, TypeAlias

from flows.definition import Flow
from flows.environment import write_moment

Reference: TypeAlias = Mapping[str, Any]
"""An asset by `uuid` and `name`."""
KeywordMatch: TypeAlias = Literal["first_word", "only_word"]
CallEnd: TypeAlias = Literal["answered", "no_answer", "busy", "failed"]


class Trigger(dict[str, Any]):
    """A trigger, which starts a session in a flow.

    >>> flow = {"uuid": "50c3706e-fedb-42c0-8eab-dda3335714b7", "name": "Ask"}
    >>> Trigger.manual(flow, params={"source": "site"})["params"]
    {'source': 'site'}
    """

    @classmethod
    def manual(
        cls,
        flow: Flow | Reference,
        *,
        params: Mapping[str, Any] | None = None,
        user: Reference | None = None,
        origin: str | None = None,
        triggered_on: datetime | None = None,
    ) -> Self:
        """A person or program chose the contact; `params` is the value of `@trigger.params`."""
        return cls._make("manual", flow, triggered_on, params=params, user=user, origin=origin)

    @classmethod
    def message(
        cls,
        flow: Flow | Reference,
        text: str,
        *,
        urn: str | None = None,
        channel: Reference | None = None,
        attachments: Sequence[str] = (),
        payload: Mapping[str, Any] | None = None,
        uuid: str | None = None,
        keyword: str | None = None,
        match: KeywordMatch = "first_word",
        triggered_on: datetime | None = None,
    ) -> Self:
        """A message of the contact, which is the first input; `keyword` is its word that matched. `payload` is
        additional data, such as the answers of a form: `@input.payload`.
        """
        event = _make_message(text, urn, channel, attachments, payload, uuid, triggered_on)
        matched = {"type": match, "keyword": keyword} if keyword else None
        return cls._make("msg", flow, triggered_on, event=event, keyword_match=matched)

    @classmethod
    def campaign(
        cls,
        flow: Flow | Reference,
        campaign: Reference,
        *,
        point_uuid: str | None = None,
        triggered_on: datetime | None = None,
    ) -> Self:
        """An event of a campaign was due."""
        event = _without_none(type="campaign_fired", campaign=dict(campaign), point_uuid=point_uuid)
        return cls._make("campaign", flow, triggered_on, event=event)

    @classmethod
    def chat(
        cls,
        flow: Flow | Reference,
        channel: Reference,
        *,
        params: Mapping[str, Any] | None = None,
        triggered_on: datetime | None = None,
    ) -> Self:
        """The contact opened a conversation in a channel, with the channel's data about it."""
        event = _without_none(type="chat_started", channel=dict(channel), params=_copy(params))
        return cls._make("chat", flow, triggered_on, event=event)

    @classmethod
    def call(cls, flow: Flow | Reference, call: Reference, *, triggered_on: datetime | None = None) -> Self:
        """The contact called; the session needs the same `call` (`{uuid, channel, urn}`)."""
        return cls._make("call", flow, triggered_on, event={"type": "call_received", "call": dict(call)})

    @classmethod
    def ticket(cls, flow: Flow | Reference, ticket: Reference, *, triggered_on: datetime | None = None) -> Self:
        """A ticket of the contact was closed."""
        return cls._make("ticket", flow, triggered_on, event={"type": "ticket_closed", "ticket": dict(ticket)})

    @classmethod
    def flow_action(
        cls,
        flow: Flow | Reference,
        run_summary: Mapping[str, Any],
        history: Mapping[str, Any],
        *,
        triggered_on: datetime | None = None,
    ) -> Self:
        """The session of another contact started it; both parts are those of its event `session_triggered`."""
        return cls._make("flow_action", flow, triggered_on, run_summary=run_summary, history=history)

    @classmethod
    def _make(cls, kind: str, flow: Flow | Reference, triggered_on: datetime | None, **fields: Any) -> Self:
        named = {"uuid": flow.uuid, "name": flow.name} if isinstance(flow, Flow) else flow
        reference = {name: named[name] for name in ("uuid", "name") if name in named}
        moment = write_moment(triggered_on) if triggered_on else None
        return cls(_without_none(type=kind, flow=reference, triggered_on=moment, **fields))


class Resume(dict[str, Any]):
    """A resume, which continues a waiting session.

    >>> Resume.message("Yes", urn="tel:+12065551212")["event"]["msg"]
    {'text': 'Yes', 'urn': 'tel:+12065551212'}
    """

    @classmethod
    def message(
        cls,
        text: str,
        *,
        urn: str | None = None,
        channel: Reference | None = None,
        attachments: Sequence[str] = (),
        payload: Mapping[str, Any] | None = None,
        uuid: str | None = None,
        resumed_on: datetime | None = None,
    ) -> Self:
        """The contact sent a message."""
        return cls._make(
            "msg", resumed_on, event=_make_message(text, urn, channel, attachments, payload, uuid, resumed_on)
        )

    @classmethod
    def dial(cls, status: CallEnd, *, duration: float = 0, resumed_on: datetime | None = None) -> Self:
        """The call that the session waited for has ended, after so many seconds."""
        event = {"type": "dial_ended", "dial": {"status": status, "duration": duration}}
        return cls._make("dial", resumed_on, event=event)

    @classmethod
    def callback(cls, body: str = "", *, resumed_on: datetime | None = None) -> Self:
        """Another system called the address that it got from `@resume.url`, with this body."""
        event = {"type": "callback_received", "callback": {"body": body}}
        return cls._make("callback", resumed_on, event=event)

    @classmethod
    def timeout(cls, *, resumed_on: datetime | None = None) -> Self:
        """The contact did not answer within the wait's timeout."""
        return cls._make("wait_timeout", resumed_on)

    @classmethod
    def expiration(cls, *, resumed_on: datetime | None = None) -> Self:
        """The contact did not answer until the wait expired; the run ends."""
        return cls._make("wait_expiration", resumed_on)

    @classmethod
    def _make(cls, kind: str, resumed_on: datetime | None, **fields: Any) -> Self:
        moment = write_moment(resumed_on) if resumed_on else None
        return cls(_without_none(type=kind, resumed_on=moment, **fields))


def _make_message(
    text: str,
    urn: str | None,
    channel: Reference | None,
    attachments: Sequence[str],
    payload: Mapping[str, Any] | None,
    uuid: str | None,
    created_on: datetime | None,
) -> dict[str, Any]:
    message = _without_none(
        text=text,
        urn=urn,
        channel=_copy(channel),
        attachments=list(attachments) or None,
        payload=_copy(payload),
    )
    moment = write_moment(created_on) if created_on else None
    identity = uuid or str(uuid_module.uuid4())
    return _without_none(uuid=identity, type="msg_received", created_on=moment, msg=message)


def _copy(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if given is None else dict(given)


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
