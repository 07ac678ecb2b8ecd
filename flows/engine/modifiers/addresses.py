"""Changes the URNs of a contact and their preferred channels (flow format, actions on contacts)."""

from collections.abc import Sequence

from flows.engine.assets import Channel
from flows.engine.contact import channel_uuid_of, with_channel
from flows.engine.modifiers.editor import ContactEditor
from flows.urns import Urn, UrnError, normalize, parse, validate

APPEND = "append"
REMOVE = "remove"
SET = "set"
Route = tuple[str, Channel | None]


def change_routes(editor: ContactEditor, routes: Sequence[Route], modification: str) -> bool:
    """Appends, removes or sets URNs, each with its preferred channel, or None to keep the channel. Appending a URN that
    the contact has already does not change it or its channel. URNs that are invalid or belong to another contact are
    reported and left out. Returns whether any changed.
    """
    wanted = [(urn, channel) for text, channel in routes if (urn := read_urn(editor, text)) is not None]
    if modification == REMOVE:
        gone = {urn.identity for urn, _ in wanted}
        return _replace(editor, [urn for urn in editor.contact.urns if urn.identity not in gone])
    kept = list(editor.contact.urns) if modification == APPEND else []
    for urn, channel in wanted:
        known = next((item for item in editor.contact.urns if item.identity == urn.identity), None)
        if known is None and not _claim(editor, urn, kept):
            continue
        chosen = known or urn
        if channel is not None and (known is None or modification == SET):
            chosen = with_channel(chosen, channel.uuid)
        _put(kept, chosen)
    return _replace(editor, kept)


def read_urn(editor: ContactEditor, text: str) -> Urn | None:
    """The valid, normalized URN of a string; None, with an error event, if it is not valid."""
    try:
        urn = normalize(parse(text), editor.environment.default_country)
        validate(urn)
    except UrnError:
        editor.log.error(f"'{text}' is not valid URN", "urn:invalid", {"urn": text})
        return None
    return urn


def set_affinity(editor: ContactEditor, urn: Urn, channel: Channel | None) -> bool:
    """Moves a URN of the contact to the front and sets its channel; returns whether anything changed."""
    known = next((item for item in editor.contact.urns if item.identity == urn.identity), None)
    if known is None:
        return False
    front = with_channel(known, channel.uuid) if channel else known
    return _replace(editor, [front, *(item for item in editor.contact.urns if item is not known)])


def prefer_channel(editor: ContactEditor, channel: Channel | None) -> bool:
    """Makes a channel preferred for the URNs that it serves, which move to the front; None clears all preferences.
    Phone numbers may change their channel; other URNs belong to the channel that they have. A channel that cannot send
    is reported. Returns whether anything changed.
    """
    urns = editor.contact.urns
    if channel is None:
        return _replace(editor, [with_channel(urn, "") for urn in urns])
    if not channel.can_send:
        editor.log.error("Can't set channel that can't send as the preferred channel")
        return False
    served = [_offer_channel(urn, channel) for urn in urns]
    first = [urn for urn in served if channel_uuid_of(urn) == channel.uuid]
    return _replace(editor, first + [urn for urn in served if channel_uuid_of(urn) != channel.uuid])


def _offer_channel(urn: Urn, channel: Channel) -> Urn:
    is_free = urn.scheme == "tel" or not channel_uuid_of(urn)
    return with_channel(urn, channel.uuid) if is_free and urn.scheme in channel.schemes else urn


def _claim(editor: ContactEditor, urn: Urn, kept: list[Urn]) -> bool:
    if len(kept) >= editor.options.urns_per_contact:
        editor.log.error(f"Contact has too many URNs, limit is {editor.options.urns_per_contact}")
        return False
    service = editor.services.urns
    if service is not None and not service.claim(editor.contact.uuid, urn):
        editor.log.error("URN is taken by another contact", "urn:taken", {"urn": urn.identity})
        return False
    return True


def _put(urns: list[Urn], urn: Urn) -> None:
    for index, known in enumerate(urns):
        if known.identity == urn.identity:
            urns[index] = urn
            return
    urns.append(urn)


def _replace(editor: ContactEditor, urns: list[Urn]) -> bool:
    if urns == editor.contact.urns:
        return False
    editor.contact.urns = urns
    editor.log.add("contact_urns_changed", {"urns": [str(urn) for urn in urns]})
    return True
