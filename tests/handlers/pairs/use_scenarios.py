"""Writes of those who use what is set up, pair by pair: conversations, tickets, messages and channels."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from persistence.lists import ListQuery, read_list
from persistence.relayers.relayers import PhoneIdentity, register_phone, release_channels
from persistence.sql.columns import new_uuid, time_text
from persistence.tables.channels import channel
from persistence.templates import Translation, set_translation
from persistence.tokens import Origin
from persistence.triggers.forms import TriggerForm, read_trigger_form
from persistence.triggers.records import MISSED_CALL, SCHEDULE, TRIGGERS, create_trigger
from tests.api import Api
from tests.campaign_rows import make_flow
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_messages
from tests.handlers.pairs.scenario import V1, V2, Names, Scenario, Write, command, delete, post, settle, uuid_of_new
from tests.handlers.pairs.scenarios import PHONE, act_on, archive_a_flow, flow_id_of
from tests.run_rows import add_waiting
from tests.run_rows import uuid_of as uuid_of_row
from tests.ticket_rows import add_ticket

SECOND_PHONE, NEW_PHONE = "+250788000333", "+250788000444"


def act_on_contact(action: str, **more: str) -> Write:
    return post(f"{V2}/contact_actions.json", {"contacts": ["{amina}"], "action": action, **more})


def act_on_ticket(name: str, action: str, **more: str) -> Write:
    return post(f"{V2}/ticket_actions.json", {"tickets": [f"{{{name}}}"], "action": action, **more})


def begin_tickets(api: Api) -> Names:
    """Two closed tickets of Amina, one that is open of Bosco."""
    amina = make_contact(api.database, api.workspace)
    bosco = make_contact(api.database, api.workspace, name="Bosco")
    names: Names = {"amina": amina, "bosco": bosco, "topic": uuid_of_new(api, f"{V2}/topics.json", {"name": "Sales"})}
    for name in ("former", "latter"):
        names[name] = add_ticket(api.database, api.workspace, id_of(api.database, amina))
        api.post(f"{V2}/ticket_actions.json", {"tickets": [names[name]], "action": "close"})
    names["open"] = add_ticket(api.database, api.workspace, id_of(api.database, bosco))
    names["email"] = f"administrator@{api.workspace.uuid[:8]}.example.org"
    return names


TICKETS = Scenario(
    begin_tickets,
    {
        "reopen former": act_on_ticket("former", "reopen"),
        "reopen latter": act_on_ticket("latter", "reopen"),
        "reopen": act_on_ticket("open", "reopen"),
        "open": post(f"{V2}/tickets.json", {"contact": "{amina}", "topic": "{topic}"}),
        "close": act_on_ticket("open", "close"),
        "close others": post(
            f"{V2}/ticket_actions.json", {"tickets": ["{latter}", "{open}", "{former}"], "action": "close"}
        ),
        "assign": act_on_ticket("open", "assign", assignee="{email}"),
        "note": act_on_ticket("open", "add_note", note="Called back"),
        "change topic": act_on_ticket("open", "change_topic", topic="{topic}"),
        "rename topic": post(f"{V2}/topics.json", {"name": "Support"}, uuid="{topic}"),
        "delete contact": delete(f"{V2}/contacts.json", uuid="{bosco}"),
        "block contact": post(f"{V2}/contact_actions.json", {"contacts": ["{bosco}"], "action": "block"}),
    },
    (f"{V2}/tickets.json", f"{V2}/topics.json", f"{V2}/contacts.json"),
)


def begin_starts(api: Api) -> Names:
    """Amina waits in the flow; Bosco is in the group."""
    amina = make_contact(api.database, api.workspace, PHONE)
    bosco = make_contact(api.database, api.workspace, SECOND_PHONE, "Bosco")
    names: Names = {"amina": amina, "bosco": bosco, "flow": make_flow(api.database, api.workspace, "Survey")}
    add_channel(api.database, api.workspace)
    with api.database.reading() as tx:
        flow_id = flow_id_of(api, names, tx)
    add_waiting(api.database, api.workspace, flow_id, id_of(api.database, amina))
    names["group"] = uuid_of_new(api, f"{V2}/groups.json", {"name": "Reporters"})
    api.post(f"{V2}/contact_actions.json", {"contacts": [bosco], "action": "add", "group": names["group"]})
    begun = {"flow": names["flow"], "contacts": [bosco]}
    return names | {"start": uuid_of_new(api, f"{V2}/flow_starts.json", begun)}


def _triggers(api: Api, _names: Names) -> Any:
    with api.database.reading() as tx:
        return [settle(json.loads(each)) for each in read_list(ListQuery(tx, api.workspace), TRIGGERS)]


def _schedule(api: Api, names: Names, tx: Any) -> int:
    at = datetime(2999, 1, 1, 8, tzinfo=UTC)
    form = TriggerForm(SCHEDULE, names["flow"], groups=[names["group"]], contacts=[names["amina"]], scheduled_on=at)
    return create_trigger(tx, api.workspace.id, read_trigger_form(tx, api.workspace, form))


STARTS = Scenario(
    begin_starts,
    {
        "start": post(f"{V2}/flow_starts.json", {"flow": "{flow}", "contacts": ["{amina}"]}),
        "start group": post(f"{V2}/flow_starts.json", {"flow": "{flow}", "groups": ["{group}"]}),
        "start urns": post(f"{V2}/flow_starts.json", {"flow": "{flow}", "urns": [f"tel:{PHONE}", f"tel:{NEW_PHONE}"]}),
        "interrupt start": post(f"{V2}/flow_start_actions.json", {"starts": ["{start}"], "action": "interrupt_runs"}),
        "v1 run": post(f"{V1}/runs.json", {"flow_uuid": "{flow}", "contact": ["{amina}"]}),
        "v1 run by phone": post(f"{V1}/runs.json", {"flow_uuid": "{flow}", "phone": [PHONE, NEW_PHONE]}),
        "v1 run only new": post(
            f"{V1}/runs.json", {"flow_uuid": "{flow}", "contact": ["{bosco}"], "restart_participants": False}
        ),
        "delete contact": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "block": act_on_contact("block"),
        "interrupt": act_on_contact("interrupt"),
        "v1 expire": post(f"{V1}/contact_actions.json", {"contacts": ["{amina}"], "action": "expire"}),
        "delete group": delete(f"{V2}/groups.json", uuid="{group}"),
        "archive flow": archive_a_flow,
        "schedule": command(_schedule),
    },
    (f"{V2}/flow_starts.json", f"{V2}/runs.json", f"{V2}/contacts.json", f"{V2}/flows.json"),
    _triggers,
)


def begin_broadcasts(api: Api) -> Names:
    amina = make_contact(api.database, api.workspace, PHONE)
    make_contact(api.database, api.workspace, SECOND_PHONE, "Bosco")
    add_channel(api.database, api.workspace)
    sent = uuid_of_new(api, f"{V2}/broadcasts.json", {"contacts": [amina], "text": "Good morning"})
    draft = uuid_of_new(api, f"{V2}/broadcasts.json", {"contacts": [amina], "text": "Good evening", "draft": True})
    ahead = time_text(api.database.clock() + timedelta(days=2))
    later = uuid_of_new(api, f"{V2}/messages.json", {"contact": amina, "text": "Good night", "send_on": ahead})
    return {"amina": amina, "sent": sent, "draft": draft, "later": later}


BROADCASTS = Scenario(
    begin_broadcasts,
    {
        "broadcast": post(f"{V2}/broadcasts.json", {"contacts": ["{amina}"], "text": "Hi"}),
        "broadcast urns": post(f"{V2}/broadcasts.json", {"urns": [f"tel:{PHONE}", f"tel:{NEW_PHONE}"], "text": "Yo"}),
        "v1 broadcast": post(f"{V1}/broadcasts.json", {"contacts": ["{amina}"], "text": "Hello"}),
        "stop": post(f"{V2}/broadcast_actions.json", {"broadcasts": ["{sent}"], "action": "stop"}),
        "send draft": post(f"{V2}/broadcasts.json", {"draft": False}, uuid="{draft}"),
        "delete draft": delete(f"{V2}/broadcasts.json", uuid="{draft}"),
        "preview": post(f"{V2}/broadcast_previews.json", {"contacts": ["{amina}"], "text": "Hi"}),
        "message": post(f"{V2}/messages.json", {"contact": "{amina}", "text": "Hey"}),
        "send now": post(f"{V2}/messages.json", {"contact": "{amina}", "replaces": "{later}"}),
        "take back": delete(f"{V2}/messages.json", uuid="{later}"),
        "delete": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "v1 delete": delete(f"{V1}/contacts.json", uuid="{amina}"),
        "block": act_on_contact("block"),
        "move address": post(f"{V2}/contacts.json", {"urns": [f"tel:{NEW_PHONE}"]}, uuid="{amina}"),
    },
    (f"{V2}/broadcasts.json", f"{V2}/messages.json", f"{V2}/contacts.json"),
    lambda api, names: len(api.results(f"{V2}/contacts.json", deleted="true")),
)


def begin_messages(api: Api) -> Names:
    """Of three messages the first is labelled, the last archived."""
    amina = make_contact(api.database, api.workspace, PHONE)
    first, second, third = make_messages(api.database, api.workspace, amina, 3)
    label = uuid_of_new(api, f"{V2}/labels.json", {"name": "Complaint"})
    api.post(f"{V2}/message_actions.json", {"messages": [first, third], "action": "label", "label": label})
    api.post(f"{V2}/message_actions.json", {"messages": [third], "action": "archive"})
    return {"label": label, "first": first, "second": second, "third": third, "amina": amina}


def act_on_all(action: str, **more: str) -> Write:
    messages = ["{third}", "{first}", "{second}"]
    return post(f"{V2}/message_actions.json", {"messages": messages, "action": action, **more})


MESSAGES = Scenario(
    begin_messages,
    {
        "delete label": delete(f"{V2}/labels.json", uuid="{label}"),
        "label": act_on_all("label", label="{label}"),
        "unlabel": act_on_all("unlabel", label="{label}"),
        "v1 label": post(
            f"{V1}/message_actions.json", {"messages": ["{second}"], "action": "label", "label_uuid": "{label}"}
        ),
        "v1 unlabel": post(
            f"{V1}/message_actions.json", {"messages": ["{first}"], "action": "unlabel", "label_uuid": "{label}"}
        ),
        "archive": act_on_all("archive"),
        "restore": act_on("{third}", "restore"),
        "delete": act_on("{first}", "delete"),
        "archive of contact": act_on_contact("archive"),
        "delete contact": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "read": post(f"{V2}/conversations.json", {"contacts": ["{amina}"], "action": "read"}),
    },
    (f"{V2}/labels.json", f"{V2}/messages.json", f"{V2}/conversations.json"),
)


def begin_notes(api: Api) -> Names:
    amina = make_contact(api.database, api.workspace, PHONE)
    return {"amina": amina, "note": uuid_of_new(api, f"{V2}/contact_notes.json", {"contact": amina, "text": "Deaf"})}


NOTES = Scenario(
    begin_notes,
    {
        "note": post(f"{V2}/contact_notes.json", {"contact": "{amina}", "text": "Call in the evening"}),
        "attend": post(f"{V2}/participants.json", {"contact": "{amina}", "state": "here"}),
        "delete note": delete(f"{V2}/contact_notes.json", uuid="{note}"),
        "delete contact": delete(f"{V2}/contacts.json", uuid="{amina}"),
    },
    (f"{V2}/contacts.json", f"{V2}/contact_notes.json", f"{V2}/participants.json"),
)


SAVED_REPLIES = Scenario(
    lambda api: {"reply": uuid_of_new(api, f"{V2}/saved_replies.json", {"name": "Hours", "text": "From 8 to 17."})},
    {
        "create": post(f"{V2}/saved_replies.json", {"name": "Address", "text": "Main street"}),
        "change": post(f"{V2}/saved_replies.json", {"name": "Address", "text": "From 9 to 17."}, uuid="{reply}"),
        "delete": delete(f"{V2}/saved_replies.json", uuid="{reply}"),
    },
    (f"{V2}/saved_replies.json",),
)


def begin_channels(api: Api) -> Names:
    """A phone of the workspace with a message to send, and one that shows a claim code."""
    amina = make_contact(api.database, api.workspace, PHONE)
    phone = add_channel(api.database, api.workspace, address=SECOND_PHONE)
    names: Names = {"amina": amina, "phone": str(phone), "uuid": uuid_of_row(api.database, channel, phone)}
    names["flow"] = make_flow(api.database, api.workspace, "Survey")
    make_messages(api.database, api.workspace, amina, direction="out", status="queued", channel_id=phone)
    identity = PhoneIdentity(new_uuid(), "push", "RW", "Phone", "14")
    origin = Origin(new_uuid(), 5, timedelta(hours=1))
    names["code"] = api.database.write(lambda tx: register_phone(tx, identity, origin)).claim_code
    return names


def _translate(api: Api, names: Names, tx: Any) -> int:
    return set_translation(tx, api.workspace.id, "Welcome", Translation(names["uuid"], "eng", "Hello"))


def _listen(api: Api, names: Names, tx: Any) -> int:
    form = TriggerForm(MISSED_CALL, names["flow"], channel=names["uuid"])
    return create_trigger(tx, api.workspace.id, read_trigger_form(tx, api.workspace, form))


CHANNELS = Scenario(
    begin_channels,
    {
        "claim": post(f"{V1}/relayers.json", {"claim_code": "{code}", "phone": NEW_PHONE, "name": "Desk"}),
        "claim again": post(f"{V1}/relayers.json", {"claim_code": "{code}", "phone": NEW_PHONE, "name": "Ward"}),
        "replace": post(f"{V1}/relayers.json", {"claim_code": "{code}", "phone": SECOND_PHONE}),
        "release": delete(f"{V1}/relayers.json", relayer="{phone}"),
        "release by number": delete(f"{V1}/relayers.json", phone=SECOND_PHONE),
        "release by command": command(
            lambda api, names, tx: release_channels(tx, api.workspace.id, channel.c.uuid == names["uuid"]).ids
        ),
        "message": post(f"{V2}/messages.json", {"contact": "{amina}", "text": "Hey"}),
        "v1 run by phone": post(f"{V1}/runs.json", {"flow_uuid": "{flow}", "phone": [PHONE]}),
        "translate": command(_translate),
        "listen": command(_listen),
    },
    (f"{V2}/channels.json", f"{V2}/messages.json", f"{V2}/templates.json", f"{V2}/runs.json"),
    _triggers,
)


USE_SCENARIOS = {
    "tickets": TICKETS,
    "starts": STARTS,
    "broadcasts": BROADCASTS,
    "messages": MESSAGES,
    "contact notes": NOTES,
    "saved replies": SAVED_REPLIES,
    "channels": CHANNELS,
}
