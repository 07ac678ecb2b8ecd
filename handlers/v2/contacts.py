"""`/api/v2/contacts.json`, and what begins with `contact_`: actions, imports, merges, notes, queries, routes, the
timeline."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson

from flows.environment import parse_moment
from flows.numbers import PlainNumber, render_decimal
from flows.phones import is_country
from flows.urns import Urn
from handlers.answers import (
    Answer,
    ListAnswer,
    as_json,
    changed_record,
    check_record_unchanged,
    created_record,
    no_content,
    with_link,
)
from handlers.asgi.uploads import SIZE_LIMIT_BYTES
from handlers.contract.operations import may_use
from handlers.request import Request
from persistence.campaigns.schedules import read_contact_schedule as read_schedule
from persistence.contact_imports.columns import Choice
from persistence.contact_imports.contact_imports import (
    CONTACT_IMPORTS,
    cancel_import,
    create_import,
    read_again,
    start_import,
)
from persistence.contact_imports.taking_back import count_taking_back, take_back
from persistence.contacts import bulk, deletion, queries
from persistence.contacts import jobs as contact_jobs
from persistence.contacts import writes as contact_writes
from persistence.contacts.actions import act, check_choices, find_group, uuids_of
from persistence.contacts.bulk import ContactRow, Outcome
from persistence.contacts.jobs import CONTACT_JOBS
from persistence.contacts.merging import DOUBLES, EXAMPLES, Renumbering, count_doubles, merge_doubles, renumber_some
from persistence.contacts.merging import merge_contacts as merge
from persistence.contacts.owners import find_contact, find_contacts, hold_owners, read_lookup, read_urns
from persistence.contacts.participants import find_mentioned, mention
from persistence.contacts.records import CONTACTS
from persistence.contacts.timeline import CONTACT_NOTES, delete_note, write_note
from persistence.contacts.timeline import read_timeline as read_page
from persistence.contacts.writes import ContactChange
from persistence.errors import InvalidInput, RecordMissing
from persistence.groups.groups import find_manual_groups, hold_contacts
from persistence.lists import read_record, read_records
from persistence.media.store import place_of_import
from persistence.messages.outgoing import describe_route
from persistence.pages import InvalidCursor, Order, decode_cursor, encode_cursor
from persistence.sql.columns import time_text
from persistence.stamps import read_visible_clock
from persistence.tables.contacts import contact

list_contacts = ListAnswer(CONTACTS, has_etag=True)

list_contact_doubles = ListAnswer(DOUBLES)

READING = ("encoding", "date_style", "decimal_sign", "unread")

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")

list_contact_jobs = ListAnswer(CONTACT_JOBS)

CHOSEN_BY = {"query": "query", "group": "members_of"}
"""The parameters of the list of contacts, and what they are called beside the group of an action."""

list_contact_imports = ListAnswer(CONTACT_IMPORTS, show=with_link("rejects_url"))

list_contact_notes = ListAnswer(CONTACT_NOTES)

LISTED_BY = {
    "created": "list_contacts",
    "run_started": "list_runs",
    "run_ended": "list_runs",
    "ticket_event": "list_tickets",
    "note": "list_contact_notes",
    "channel_event": "list_channel_events",
    "message": "list_conversations",
}
"""The operation that shows each kind of events; who may not use it does not get them."""
WHOLE_LISTS = {"urns": ("add_urns",), "groups": ("add_groups", "remove_groups")}
"""The lists of a contact that a request replaces, and what changes them otherwise."""
ORDER = Order(contact.c.last_seen_on, contact.c.id)
"""Cursors of the timeline contain a time and a number, as those of a list by this column, which there is none of."""


def write_contact(request: Request, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = request.workspace
    if urn is not None and "urns" in request.body:
        raise InvalidInput.on("urns", "Not allowed together with the parameter urn.")
    address = None if urn is None else read_lookup(request.tx, workspace, urn)
    contact_id = None if uuid is None and address is None else _find(request, uuid, address)
    if request.if_match is not None:
        if contact_id is not None:
            hold_contacts(request.tx, workspace.id, [contact_id])
        check_record_unchanged(request, CONTACTS, contact_id)
    changes_urns = next((name for name in ("urns", "add_urns") if name in request.body), None)
    if workspace.is_anonymous and contact_id is not None and changes_urns:
        raise InvalidInput.on(changes_urns, "URNs cannot be changed in an anonymous workspace.")
    change = _read_change(request, address if contact_id is None else None)
    if contact_id is None and uuid is not None:
        raise RecordMissing
    if contact_id is None:
        contact_id = contact_writes.create_contact(request.tx, workspace, change, by_agent=request.is_agent)
        return created_record(request, CONTACTS, contact_id)
    contact_writes.change_contact(request.tx, workspace, contact_id, change, by_agent=request.is_agent)
    return changed_record(request, CONTACTS, contact_id)


def upsert_contacts(request: Request) -> Answer:
    rows = [
        ContactRow(
            number,
            uuid=item.get("uuid"),
            name=_or_cleared(item, "name"),
            language=_or_cleared(item, "language"),
            urns=item.get("urns", ()),
            fields=_as_texts(item.get("fields", {})),
            groups=item.get("add_groups", ()),
        )
        for number, item in enumerate(request.body["contacts"])
    ]
    outcomes = bulk.write_contacts(request.tx, request.workspace, rows)
    shown = read_records(request.tx, CONTACTS, request.workspace, [each.contact_id for each in outcomes])
    results = [_show_outcome(each, shown) for each in outcomes]
    return as_json(200, {"results": results})


def delete_contact(request: Request, *, uuid: str | None = None, urn: str | None = None) -> Answer:
    workspace = request.workspace
    contact_id = _find(request, uuid, None if urn is None else read_lookup(request.tx, workspace, urn))
    if contact_id is None:
        raise RecordMissing
    deletion.delete_contacts(request.tx, workspace.id, [contact_id])
    return no_content()


def act_on_contacts(request: Request) -> Answer:
    tx, workspace, body = request.tx, request.workspace, request.body
    action, changed = body["action"], _read_period(body)
    check_choices(action, lists_changed=bool(body.get("list_changed")), has_time=changed is not None)
    contact_ids = find_contacts(tx, workspace, body["contacts"])
    group_id = find_group(tx, workspace.id, action, body.get("group"))
    before = read_visible_clock(tx, workspace.id) if body.get("list_changed") else None
    acted = act(tx, workspace.id, action, contact_ids, group_id, changed)
    if before is None:
        return no_content()
    tx.flush()
    times = {"changed_after": before, "changed_until": read_visible_clock(tx, workspace.id)}
    told = {name: time_text(moment) for name, moment in times.items()}
    return as_json(200, {"changed": uuids_of(tx, workspace.id, acted), **told})


def _read_period(body: Mapping[str, Any]) -> bulk.Period | None:
    times = {}
    for name in ("changed_after", "changed_until"):
        given = body.get(name)
        times[name] = None if given is None else parse_moment(given)
        if given is not None and times[name] is None:
            raise InvalidInput.on(name, "A time is required.")
    after, until = times.values()
    if until is not None and after is None:
        raise InvalidInput.on("changed_until", "It needs changed_after, too.")
    return None if after is None else bulk.Period(after, until)


def create_contact_job(request: Request) -> Answer:
    body, who = request.body, request.credentials
    chosen = {name: body[given] for name, given in CHOSEN_BY.items() if (body.get(given) or "").strip()}
    made = contact_jobs.create_job(
        request.tx,
        request.workspace,
        body["action"],
        body.get("group"),
        chosen,
        who.user_id,
        is_agent=request.is_agent,
    )
    return created_record(request, CONTACT_JOBS, made)


def act_on_contact_job(request: Request) -> Answer:
    own_of = request.credentials.user_id if request.is_agent else None
    ended = contact_jobs.cancel_job(request.tx, request.workspace, request.body["job"], own_of=own_of)
    return changed_record(request, CONTACT_JOBS, ended)


def merge_contacts(request: Request) -> Answer:
    workspace = request.workspace
    references = [request.body["contact"], request.body["other"]]
    found = [
        find_contacts(request.tx, workspace, [reference], field=name)[0]
        for name, reference in zip(("contact", "other"), references, strict=True)
    ]
    merge(request.tx, workspace, *found, user_id=request.credentials.user_id)
    return changed_record(request, CONTACTS, found[0])


def merge_contact_doubles(request: Request) -> Answer:
    tx, workspace, kind, user_id = request.tx, request.workspace, request.body["kind"], request.credentials.user_id
    merged = 0 if request.body.get("dry_run") else merge_doubles(tx, workspace, kind, user_id=user_id)
    return as_json(200, {"merged": merged, "left": count_doubles(tx, workspace, kind)})


def renumber_contacts(request: Request) -> Answer:
    body, workspace = request.body, request.workspace
    country, applied = body.get("country", ""), body.get("apply", False)
    if country and not is_country(country):
        raise InvalidInput.on("country", "There is no country with this code.")
    rule, after = Renumbering(body["old"], body["new"], country), int(body.get("after", "0"))
    following, report = renumber_some(request.tx, workspace.id, rule, after, writes=applied)
    shown = asdict(report)
    for name in ("examples", "taken_examples"):
        shown[name] = [] if workspace.is_anonymous else shown[name][:EXAMPLES]
    return as_json(200, {"applied": applied, **shown, "next": str(following) if following else None})


def act_on_contact_import(request: Request) -> Answer:
    body = request.body
    if body.get("dry_run") and body["action"] != "take_back":
        raise InvalidInput.on("dry_run", "Only an import that is taken back takes this.")
    if body["action"] in ("cancel", "take_back"):
        return _end(request)
    chosen = [Choice(each["target"], each.get("header"), each.get("place")) for each in body.get("columns", [])]
    how = {name: body[name] for name in READING if name in body}
    if body["action"] == "read":
        if "group" in body:
            raise InvalidInput.on("group", "Only an import that is started takes this.")
        again = read_again(request.tx, request.workspace, body["import"], chosen, how)
        return changed_record(request, CONTACT_IMPORTS, again)
    if "encoding" in how:
        raise InvalidInput.on("encoding", "With another encoding the file is read again: use the action `read`.")
    started = start_import(request.tx, request.workspace, body["import"], chosen, body.get("group"), how)
    return changed_record(request, CONTACT_IMPORTS, started)


def upload_contact_import(request: Request) -> Answer:
    upload = request.media
    assert upload is not None
    if not upload.size:
        raise InvalidInput.on("file", "An empty file is not allowed.")
    if upload.size > SIZE_LIMIT_BYTES:
        raise InvalidInput.on("file", "At most 25 MiB.")
    upload.place = place_of_import(upload.uuid)
    filename = CONTROL_CHARACTERS.sub("", upload.filename) or "file"
    made = create_import(request.tx, request.workspace, filename, upload.place, request.credentials.user_id)
    return created_record(request, CONTACT_IMPORTS, made)


def create_contact_note(request: Request) -> Answer:
    workspace = request.workspace
    (contact_id,) = find_contacts(request.tx, workspace, [request.body["contact"]], field="contact")
    mentioned = find_mentioned(request.tx, workspace.id, request.body.get("mentions") or [])
    note_id = write_note(request.tx, workspace.id, contact_id, request.credentials.user_id, request.body["text"])
    mention(request.tx, workspace.id, [contact_id], mentioned)
    return created_record(request, CONTACT_NOTES, note_id)


def delete_contact_note(request: Request, *, uuid: str) -> Answer:
    own_of = request.credentials.user_id if request.is_agent else None
    delete_note(request.tx, request.workspace.id, uuid, own_of=own_of)
    return no_content()


def check_contact_query(request: Request, *, query: str) -> Answer:
    found = queries.check_query(request.tx, request.workspace, query, for_agent=request.is_agent)
    return as_json(200, found)


def read_query_words(request: Request) -> Answer:
    with_flows = may_use(request.credentials, "list_flows")
    words = queries.list_words(request.tx, request.workspace, for_agent=request.is_agent, with_flows=with_flows)
    return as_json(200, words)


def read_timeline(
    request: Request, *, contact: str, before: datetime | None = None, after: datetime | None = None
) -> Answer:
    contact_id = find_contact(request.tx, request.workspace.id, contact)
    try:
        position = decode_cursor(request.cursor, ORDER, request.workspace.id) if request.cursor is not None else None
    except InvalidCursor as error:
        raise RecordMissing("This cursor is not valid.") from error
    if contact_id is None:
        raise RecordMissing
    size = request.page_size
    page = read_page(
        request.tx,
        request.workspace,
        contact_id,
        position=position,
        before=before,
        after=after,
        kinds=[kind for kind, listing in LISTED_BY.items() if may_use(request.credentials, listing)],
        size=size,
    )
    following = None if page.next is None else _next_url(request, encode_cursor(page.next, ORDER, request.workspace.id))
    body = orjson.dumps({"next": following, "previous": None, "results": page.items})
    return Answer(200, body, is_list=True)


def read_contact_schedule(request: Request, *, contact: str) -> Answer:
    return as_json(200, read_schedule(request.tx, request.workspace.id, contact))


def read_contact_route(request: Request, *, contact: str) -> Answer:
    contact_id = find_contact(request.tx, request.workspace.id, contact)
    if contact_id is None:
        raise RecordMissing
    found = describe_route(request.tx, request.workspace.id, contact_id)
    until = found["takes_text_until"]
    return as_json(200, found | {"takes_text_until": until and time_text(until)})


def _find(request: Request, uuid: str | None, urn: Urn | None) -> int | None:
    if uuid is not None:
        return find_contact(request.tx, request.workspace.id, uuid)
    owners = hold_owners(request.tx, request.workspace.id, [urn] if urn is not None else [])
    return next((owner.contact_id for owner in owners.values()), None)


def _read_change(request: Request, first_urn: Urn | None) -> ContactChange:
    body = request.body
    for whole, parts in WHOLE_LISTS.items():
        for name in parts if whole in body else ():
            if name in body:
                raise InvalidInput.on(name, f"Not allowed together with {whole}.")
    urns = read_urns(request.tx, request.workspace, body["urns"]) if "urns" in body else None
    groups = body.get("groups")
    return ContactChange(
        name=body.get("name"),
        language=body.get("language"),
        urns=[first_urn] if first_urn is not None else urns,
        group_ids=None
        if groups is None
        else find_manual_groups(request.tx, request.workspace.id, groups, field="groups"),
        fields=_as_texts(body["fields"]) if "fields" in body else None,
        clears=frozenset(name for name in ("name", "language") if name in body and body[name] in (None, "")),
        are_urns_found_free=first_urn is not None,
        more_urns=read_urns(request.tx, request.workspace, body.get("add_urns", ()), "add_urns"),
        **_read_moves(request),
    )


def _read_moves(request: Request) -> dict[str, list[int]]:
    """The groups that a contact joins and leaves."""
    joins, leaves = (
        find_manual_groups(request.tx, request.workspace.id, request.body[name], field=name)
        if request.body.get(name)
        else []
        for name in ("add_groups", "remove_groups")
    )
    if set(joins) & set(leaves):
        raise InvalidInput.on("remove_groups", "A group stands in add_groups, too.")
    return {"joins": joins, "leaves": leaves}


def _or_cleared(item: Mapping[str, str | None], name: str) -> str | None:
    """A text of an item: None if it is not given, empty if it is to be cleared."""
    return (item[name] or "") if name in item else None


def _show_outcome(outcome: Outcome, shown: Mapping[int, str]) -> dict[str, object]:
    if outcome.contact_id is None:
        place = outcome.place or "non_field_errors"
        return {"status": outcome.result, "errors": {place: [outcome.reason]}}
    return {"status": outcome.result, "contact": orjson.Fragment(shown[outcome.contact_id])}


def _as_texts(values: Mapping[str, str | float | bool | None]) -> dict[str, str | None]:
    """Field values as strings, as people would have typed them."""
    return {key: _as_text(value) for key, value in values.items()}


def _as_text(value: str | float | bool | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return PlainNumber(render_decimal(Decimal(repr(value))))


def _end(request: Request) -> Answer:
    """Cancels an import, or takes it back."""
    body, tx, workspace = request.body, request.tx, request.workspace
    for name in ("columns", "group", *READING):
        if name in body:
            raise InvalidInput.on(name, "Only an import that is read or started takes this.")
    if body["action"] == "cancel":
        return changed_record(request, CONTACT_IMPORTS, cancel_import(tx, workspace, body["import"]))
    if body.get("dry_run"):
        found, counts = count_taking_back(tx, workspace, body["import"])
    else:
        found, counts = take_back(tx, workspace, body["import"]), {}
    record = orjson.loads(read_record(tx, CONTACT_IMPORTS, workspace, found))
    return as_json(200, with_link("rejects_url")(request, {**record, **counts}))


def _next_url(request: Request, cursor: str) -> str:
    others = [pair for pair in parse_qsl(request.query_text, keep_blank_values=True) if pair[0] != "cursor"]
    return f"{request.url}?{urlencode([*others, ('cursor', cursor)])}"
