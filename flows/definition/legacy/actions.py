"""Actions of old definitions (flow format, versions and migrations).

Calls of old webhooks, which always posted the state of the run (flow format, versions and migrations).

References of old definitions to groups, labels, flows and contacts (flow format, versions and migrations).
"""

from collections.abc import Callable, Mapping
from typing import Any

from flows.definition.legacy.conversion import Conversion, read_translations, write_text
from flows.definition.legacy.templates import TemplateOptions
from flows.definition.raw_parts import JsonObject, list_objects
from flows.urns import SCHEMES
from flows.words import told

# Sets only the first name and keeps the rest of the name.
REST_OF_NAME = "@(word_slice(contact.name, 1, -1))"
DEFAULT_MEDIA_TYPE = "image"

Writer = Callable[[Conversion, str, JsonObject], JsonObject]

IN_URL = TemplateOptions(url_encode=True)

# The event that flows have always posted: contact, flow, run, path, results and the last message.
RUN_PAYLOAD = """@(json(object(
    "contact", object("uuid", contact.uuid, "name", contact.name, "urn", contact.urn),
    "flow", run.flow,
    "run", object("uuid", run.uuid, "created_on", run.created_on),
    "path", run.path,
    "results", foreach_value(results, (result) => extract_object(
        result, "name", "value", "category", "category_localized", "node_uuid", "input", "created_on"
    )),
    "channel", default(input.channel, null),
    "input", if(is_error(input.uuid), null, object(
        "uuid", input.uuid,
        "type", input.type,
        "created_on", input.created_on,
        "channel", input.channel,
        "urn", if(is_error(urn_parts(input.urn)), null, object(
            "scheme", urn_parts(input.urn).scheme,
            "path", urn_parts(input.urn).path,
            "display", format_urn(input.urn)
        )),
        "text", input.text,
        "attachments", foreach(input.attachments, attachment_parts)
    ))
)))"""

NEW_CONTACT = "@new_contact"


def migrate_action(conversion: Conversion, given: object) -> JsonObject:
    """The new form of an old action; raises DefinitionError for an unknown type."""
    if not isinstance(given, Mapping):
        raise conversion.fail(f"an action is an object, not {told(given)}", "actions")
    action = dict(given)
    kind = action.get("type")
    if not isinstance(kind, str) or kind not in _WRITERS:
        raise conversion.fail(f"{told(kind)} is not a type of action", "actions.type")
    uuid = conversion.keep_uuid(action.get("uuid"))
    return {"uuid": uuid, **_WRITERS[kind](conversion, uuid, action)}


def _write_add_label(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {"type": "add_input_labels", "labels": write_matches(conversion, action.get("labels"))}


def _write_add_group(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {"type": "add_contact_groups", "groups": write_matches(conversion, action.get("groups"))}


def _write_delete_group(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    groups = write_matches(conversion, action.get("groups"))
    return {"type": "remove_contact_groups", **({"groups": groups} if groups else {"all_groups": True})}


def _write_language(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {"type": "set_contact_language", "language": write_text(action.get("lang"))}


def _write_channel(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    channel = {"uuid": write_text(action.get("channel")), "name": write_text(action.get("name"))}
    return {"type": "set_contact_channel", "channel": channel}


def _write_flow(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {"type": "enter_flow", "flow": write_reference(action.get("flow")), "terminal": True}


def _write_trigger_flow(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    start = {"type": "start_session", "flow": write_reference(action.get("flow"))}
    start |= write_recipients(conversion, action)
    return start | ({"create_contact": True} if NEW_CONTACT in list_variables(action) else {})


def _write_email(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {
        "type": "send_email",
        "addresses": [conversion.migrate(address) for address in list_items(action.get("emails"))],
        "subject": conversion.migrate(action.get("subject")),
        "body": conversion.localize(read_translations(action.get("msg")), uuid, "body"),
    }


def _write_reply(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    message = {"type": "send_msg", **_write_message(conversion, uuid, action)}
    return message | ({"all_urns": True} if action.get("send_all") is True else {})


def _write_send(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    message = _write_message(conversion, uuid, action)
    return {"type": "send_broadcast", **message, **write_recipients(conversion, action)}


def _write_save(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    field, value = write_text(action.get("field")), conversion.migrate(action.get("value"))
    if field == "name":
        return {"type": "set_contact_name", "name": value}
    if field == "first_name":
        return {"type": "set_contact_name", "name": f"{value.strip()} {REST_OF_NAME}"}
    scheme = "tel" if field == "tel_e164" else field
    if scheme in SCHEMES:
        return {"type": "add_contact_urn", "scheme": scheme, "path": value}
    label = write_text(action.get("label")) or field
    return {"type": "set_contact_field", "field": {"key": field, "name": label}, "value": value}


def _write_say(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    recording = read_translations(action.get("recording"))
    absolute = {language: _write_media_url(conversion, path) if path else "" for language, path in recording.items()}
    message: JsonObject = {
        "type": "say_msg",
        "text": conversion.localize(read_translations(action.get("msg")), uuid, "text"),
    }
    audio_url = conversion.localize(absolute, uuid, "audio_url")
    return message | ({"audio_url": audio_url} if audio_url else {})


def _write_play(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    return {"type": "play_audio", "audio_url": conversion.migrate(action.get("url"))}


def _write_webhook(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    headers = action.get("webhook_headers")
    return {"type": "call_webhook", **write_call(conversion, action.get("webhook"), action.get("action"), headers)}


_WRITERS: dict[str, Writer] = {
    "add_group": _write_add_group,
    "add_label": _write_add_label,
    "api": _write_webhook,
    "channel": _write_channel,
    "del_group": _write_delete_group,
    "email": _write_email,
    "flow": _write_flow,
    "lang": _write_language,
    "play": _write_play,
    "reply": _write_reply,
    "save": _write_save,
    "say": _write_say,
    "send": _write_send,
    "trigger-flow": _write_trigger_flow,
    "webhook": _write_webhook,
}


def write_call(conversion: Conversion, url: object, method: object, headers: object) -> JsonObject:
    """The properties of a call: the URL as a template, by default with POST."""
    verb = write_text(method).upper() or "POST"
    call: JsonObject = {"method": verb, "url": conversion.migrate(url, IN_URL)}
    written = {"Content-Type": "application/json"} if verb == "POST" else {}
    for header in list_objects(headers):
        name = write_text(header.get("name"))
        # Editors left rows without a name.
        if name:
            written[name] = conversion.migrate(header.get("value"))
    if written:
        call["headers"] = written
    if verb == "POST":
        call["body"] = RUN_PAYLOAD
    return call


def list_items(value: object) -> list[Any]:
    """The items of a list; empty for anything else."""
    return value if isinstance(value, list) else []


def write_reference(value: object) -> JsonObject:
    """The reference to a flow, channel or contact by UUID and name."""
    given = value if isinstance(value, Mapping) else {}
    return {"uuid": write_text(given.get("uuid")), "name": write_text(given.get("name"))}


def write_matches(conversion: Conversion, value: object) -> list[JsonObject]:
    """Groups or labels: by UUID if it is known, otherwise by a name, which may be a template."""
    references: list[JsonObject] = []
    for item in list_items(value):
        reference = write_reference(item)
        if reference["uuid"]:
            references.append(reference)
            continue
        name = reference["name"] or write_text(item)
        references.append({"name_match": conversion.migrate(name) if name.startswith("@") else name})
    return references


def write_recipients(conversion: Conversion, action: JsonObject) -> JsonObject:
    """The groups, contacts and variables of messages and flow starts; only those that are present."""
    contacts = [write_reference(item) for item in list_objects(action.get("contacts"))]
    recipients: JsonObject = {
        "contacts": [contact for contact in contacts if contact["uuid"]],
        "groups": write_matches(conversion, action.get("groups")),
        "legacy_vars": [conversion.migrate(name) for name in list_variables(action) if name != NEW_CONTACT],
    }
    return {key: items for key, items in recipients.items() if items}


def list_variables(action: JsonObject) -> list[str]:
    """The recipients by expression, as written."""
    items = list_items(action.get("variables"))
    return [write_text(item.get("id") if isinstance(item, Mapping) else item) for item in items]


def _write_message(conversion: Conversion, uuid: str, action: JsonObject) -> JsonObject:
    message: JsonObject = {"text": conversion.localize(read_translations(action.get("msg")), uuid, "text")}
    media = read_translations(action.get("media"))
    absolute = {language: _write_attachment(conversion, text) for language, text in media.items()}
    attachment = conversion.localize(absolute, uuid, "attachments")
    if attachment:
        message["attachments"] = [attachment]
    replies = [read_translations(item) for item in list_items(action.get("quick_replies"))]
    if replies:
        message["quick_replies"] = conversion.localize_list(replies, uuid, "quick_replies")
    return message


def _write_attachment(conversion: Conversion, attachment: str) -> str:
    kind, colon, path = attachment.partition(":")
    if not colon:
        kind, path = DEFAULT_MEDIA_TYPE, attachment
    # A URL with an expression is not an uploaded file.
    if not path or "@" in path:
        return attachment
    return f"{kind}:{_write_media_url(conversion, path)}"


def _write_media_url(conversion: Conversion, path: str) -> str:
    if path.startswith(("http://", "https://")):
        return path
    return f"{conversion.media_url.removesuffix('/')}/{path.removeprefix('/')}"
