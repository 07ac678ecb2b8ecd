"""Reads a change of a number: messages of people, and what became of ours."""

from collections.abc import Sequence
from typing import Any

from channels.calls import Call, Event, Media, Received, State, Status
from channels.reading import mapping, mappings, moment, word
from channels.whatsapp.errors import reason_of

STATES: dict[str, State] = {"sent": "sent", "delivered": "delivered", "read": "read", "failed": "failed"}
FILES = ("image", "audio", "video", "document", "sticker")
REFERRAL = {"referrer_id": "source_id", "source": "source_type", "url": "source_url", "headline": "headline"}


def read_change(value: dict[str, Any]) -> list[Event]:
    """The events in a value. Reactions, messages of groups and those that the platform itself cannot show are none."""
    names = {
        id_: word(mapping(contact.get("profile")).get("name"))
        for contact in mappings(value.get("contacts"))
        for id_ in (word(contact.get("wa_id")), word(contact.get("user_id")))
        if id_
    }
    said = [event for each in mappings(value.get("messages")) for event in _said(each, names)]
    return [*said, *(status for each in mappings(value.get("statuses")) for status in _status(each))]


def _said(message: dict[str, Any], names: dict[str, str]) -> list[Event]:
    """People who hide their number have only an id for this business."""
    number, user_id = word(message.get("from")), word(message.get("from_user_id"))
    sender = number or user_id
    if not sender or message.get("group_id"):
        return []
    name, on = names.get(number) or names.get(user_id) or "", moment(message.get("timestamp"))
    if message.get("type") == "request_welcome":
        return [Call(sender, "welcome_message", on, name=name)]
    text, payload = _text(message)
    files = tuple(_files(message))
    told: list[Event] = []
    referral = mapping(message.get("referral"))
    if referral:
        extra = {ours: word(referral.get(theirs)) for ours, theirs in REFERRAL.items() if word(referral.get(theirs))}
        told.append(Call(sender, "referral", on, name=name, extra=extra))
    if text or files:
        told.append(Received(sender, text, word(message.get("id")), on, name, files, payload))
    return told


def _text(message: dict[str, Any]) -> tuple[str, str]:
    """The text of a message and what a button carries beside it."""
    kind = word(message.get("type"))
    content = mapping(message.get(kind))
    if kind == "text":
        return word(content.get("body")), ""
    if kind == "button":
        return word(content.get("text")), word(content.get("payload"))
    if kind == "interactive":
        return _chosen(content)
    if kind in FILES:
        return word(content.get("caption")), ""
    if kind == "location":
        return ", ".join(each for each in map(word, (content.get("name"), content.get("address"))) if each), ""
    if kind == "contacts":
        return "\n".join(filter(None, map(_card, mappings(message.get("contacts"))))), ""
    return (word(content.get("text")), "") if kind == "order" else ("", "")


def _chosen(interactive: dict[str, Any]) -> tuple[str, str]:
    """A title that was cut to fit is the beginning of its id, which is the whole text."""
    form = mapping(interactive.get("nfm_reply"))
    if form:
        return word(form.get("body")), word(form.get("response_json"))
    reply = mapping(interactive.get("button_reply")) or mapping(interactive.get("list_reply"))
    title, id_ = word(reply.get("title")), word(reply.get("id"))
    return (id_ if title and id_.startswith(title) else title), id_


def _card(contact: dict[str, Any]) -> str:
    name = word(mapping(contact.get("name")).get("formatted_name"))
    numbers = [word(each.get("phone")) for each in mappings(contact.get("phones"))]
    return " ".join(each for each in (name, *numbers) if each)


def _files(message: dict[str, Any]) -> Sequence[Media]:
    kind = word(message.get("type"))
    content = mapping(message.get(kind))
    if kind == "location":
        latitude, longitude = word(content.get("latitude")), word(content.get("longitude"))
        return [Media("geo", url=f"{latitude},{longitude}")] if latitude and longitude else []
    if kind not in FILES or not word(content.get("id")):
        return []
    return [Media(word(content.get("mime_type")).partition(";")[0].strip(), reference=word(content.get("id")))]


def _status(given: dict[str, Any]) -> list[Status]:
    state, wamid = STATES.get(word(given.get("status"))), word(given.get("id"))
    if state is None or not wamid:
        return []
    reason = next((reason_of(each) for each in mappings(given.get("errors"))), "")
    return [Status(state, wamid, on=moment(given.get("timestamp")), reason=reason)]
