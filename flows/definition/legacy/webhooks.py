"""Calls of old webhooks, which always posted the state of the run (flow format, versions and migrations)."""

from flows.definition.legacy.conversion import Conversion, write_text
from flows.definition.legacy.templates import TemplateOptions
from flows.definition.raw_parts import JsonObject, list_objects

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
