"""Writes that set a workspace up, pair by pair."""

from typing import Any

from persistence.errors import RuleBroken
from persistence.flows.records import archive_flow, find_flow
from persistence.resthooks import ensure_resthook
from persistence.tokens import create_token, public_part
from persistence.triggers.records import KEYWORD, NewTrigger, create_trigger
from persistence.users import add_member, find_member
from tests.api import Api
from tests.campaign_rows import make_campaign, make_flow, make_group
from tests.definition_files import make_definition, make_file, say
from tests.factories import make_contact, make_field, make_messages
from tests.handlers.pairs.scenario import V1, V2, Names, Scenario, Write, command, delete, post, uuid_of_new

PHONE, OTHER_PHONE, TWIN_PHONE = "+250788000111", "+250788000222", "+250788000333"


def begin_groups(api: Api) -> Names:
    amina = make_contact(api.database, api.workspace, PHONE)
    group = uuid_of_new(api, f"{V2}/groups.json", {"name": "Reporters"})
    bosco = make_contact(api.database, api.workspace, OTHER_PHONE, "Bosco")
    api.post(f"{V2}/contact_actions.json", {"contacts": [bosco], "action": "add", "group": group})
    return {"group": group, "amina": amina, "bosco": bosco}


GROUPS = Scenario(
    begin_groups,
    {
        "create": post(f"{V2}/groups.json", {"name": "Nurses"}),
        "change": post(f"{V2}/groups.json", {"name": "Nurses"}, uuid="{group}"),
        "delete": delete(f"{V2}/groups.json", uuid="{group}"),
        "join": post(f"{V2}/contact_actions.json", {"contacts": ["{amina}"], "action": "add", "group": "{group}"}),
        "leave": post(f"{V2}/contact_actions.json", {"contacts": ["{bosco}"], "action": "remove", "group": "{group}"}),
        "write contact": post(f"{V2}/contacts.json", {"groups": ["{group}"]}, uuid="{amina}"),
        "block": post(f"{V2}/contact_actions.json", {"contacts": ["{bosco}"], "action": "block"}),
        "campaign": post(f"{V2}/campaigns.json", {"name": "Reminders", "group": "{group}"}),
        "broadcast": post(f"{V2}/broadcasts.json", {"groups": ["{group}"], "text": "Hi"}),
        "v1 join": post(
            f"{V1}/contact_actions.json", {"contacts": ["{amina}"], "action": "add", "group_uuid": "{group}"}
        ),
    },
    (f"{V2}/groups.json", f"{V2}/contacts.json", f"{V2}/campaigns.json"),
)


def begin_labels(api: Api) -> Names:
    amina = make_contact(api.database, api.workspace, PHONE)
    first, second = make_messages(api.database, api.workspace, amina, 2)
    label = uuid_of_new(api, f"{V2}/labels.json", {"name": "Complaint"})
    api.post(f"{V2}/message_actions.json", {"messages": [first], "action": "label", "label": label})
    return {"label": label, "first": first, "second": second, "amina": amina}


def act_on(number: str, action: str, **more: str) -> Write:
    return post(f"{V2}/message_actions.json", {"messages": [number], "action": action, **more})


LABELS = Scenario(
    begin_labels,
    {
        "create": post(f"{V2}/labels.json", {"name": "Praise"}),
        "change": post(f"{V2}/labels.json", {"name": "Praise"}, uuid="{label}"),
        "delete": delete(f"{V2}/labels.json", uuid="{label}"),
        "label": act_on("{second}", "label", label="{label}"),
        "unlabel": act_on("{first}", "unlabel", label="{label}"),
        "label by a new name": act_on("{second}", "label", label_name="Praise"),
        "v1 label by a new name": post(
            f"{V1}/message_actions.json", {"messages": ["{first}"], "action": "label", "label": "Praise"}
        ),
        "archive": act_on("{first}", "archive"),
        "delete message": act_on("{first}", "delete"),
        "v1 create": post(f"{V1}/labels.json", {"name": "Praise"}),
        "v1 change": post(f"{V1}/labels.json", {"uuid": "{label}", "name": "Praise"}),
    },
    (f"{V2}/labels.json", f"{V2}/messages.json"),
)

GLOBALS = Scenario(
    lambda api: {"key": api.post(f"{V2}/globals.json", {"name": "Phone", "value": "1"}).json()["key"]},
    {
        "create": post(f"{V2}/globals.json", {"name": "Clinic", "value": "2"}),
        "change": post(f"{V2}/globals.json", {"name": "Clinic", "value": "3"}, key="{key}"),
        "change value": post(f"{V2}/globals.json", {"value": "4"}, key="{key}"),
        "delete": delete(f"{V2}/globals.json", key="{key}"),
    },
    (f"{V2}/globals.json",),
)


def begin_fields(api: Api) -> Names:
    make_field(api.database, api.workspace, "Due Date", "datetime")
    amina = make_contact(api.database, api.workspace, PHONE)
    campaign = make_campaign(api.database, api.workspace, "Reminders")
    return {"amina": amina, "campaign": campaign}


TIMING = {"relative_to": "due_date", "offset": 1, "unit": "days", "delivery_hour": 9, "message": "Hi"}
V1_TIMING = {**TIMING, "unit": "D"}
FIELDS = Scenario(
    begin_fields,
    {
        "create": post(f"{V2}/fields.json", {"name": "Age", "type": "number"}),
        "change": post(f"{V2}/fields.json", {"name": "Age", "type": "text"}, key="due_date"),
        "delete": delete(f"{V2}/fields.json", key="due_date"),
        "write contact": post(f"{V2}/contacts.json", {"fields": {"due_date": "2026-03-20"}}, uuid="{amina}"),
        "event": post(f"{V2}/campaign_events.json", {"campaign": "{campaign}", **TIMING}),
        "v1 event on a new field": post(
            f"{V1}/events.json", {"campaign_uuid": "{campaign}", **V1_TIMING, "relative_to": "Age"}
        ),
        "v1 create": post(f"{V1}/fields.json", {"label": "Age", "value_type": "N"}),
        "v1 change": post(f"{V1}/fields.json", {"key": "due_date", "label": "Age", "value_type": "T"}),
    },
    (f"{V2}/fields.json", f"{V2}/contacts.json", f"{V2}/campaign_events.json"),
)

TEAMS = Scenario(
    lambda api: {
        "topic": uuid_of_new(api, f"{V2}/topics.json", {"name": "Sales"}),
        "team": uuid_of_new(api, f"{V2}/teams.json", {"name": "Night"}),
        "other": uuid_of_new(api, f"{V2}/teams.json", {"name": "Day"}),
    },
    {
        "create": post(f"{V2}/teams.json", {"name": "Evening", "topics": ["{topic}"]}),
        "fill": post(f"{V2}/teams.json", {"name": "Night", "topics": ["{topic}"]}, uuid="{team}"),
        "fill another": post(f"{V2}/teams.json", {"name": "Evening", "topics": ["{topic}"]}, uuid="{other}"),
        "delete": delete(f"{V2}/teams.json", uuid="{team}"),
        "delete topic": delete(f"{V2}/topics.json", uuid="{topic}"),
    },
    (f"{V2}/teams.json", f"{V2}/topics.json"),
)
TOPICS = Scenario(
    lambda api: {"topic": uuid_of_new(api, f"{V2}/topics.json", {"name": "Sales"})},
    {
        "create": post(f"{V2}/topics.json", {"name": "Support"}),
        "change": post(f"{V2}/topics.json", {"name": "Support"}, uuid="{topic}"),
        "change to another": post(f"{V2}/topics.json", {"name": "Billing"}, uuid="{topic}"),
        "delete": delete(f"{V2}/topics.json", uuid="{topic}"),
    },
    (f"{V2}/topics.json",),
)

OPTINS = Scenario(
    lambda api: {"optin": uuid_of_new(api, f"{V2}/optins.json", {"name": "Tips"})},
    {
        "change": post(f"{V2}/optins.json", {"name": "News"}, uuid="{optin}"),
        "delete": delete(f"{V2}/optins.json", uuid="{optin}"),
        "create": post(f"{V2}/optins.json", {"name": "News"}),
        "create another": post(f"{V2}/optins.json", {"name": "Offers"}),
    },
    (f"{V2}/optins.json",),
)


def begin_campaigns(api: Api) -> Names:
    make_field(api.database, api.workspace, "Due Date", "datetime")
    campaign = make_campaign(api.database, api.workspace, "Reminders")
    event = uuid_of_new(api, f"{V2}/campaign_events.json", {"campaign": campaign, **TIMING})
    make_group(api.database, api.workspace, "Fathers")
    flow = make_flow(api.database, api.workspace, "Survey")
    put_away = make_campaign(api.database, api.workspace, "Visits")
    act = {"campaigns": [put_away], "action": "archive"}
    assert api.post(f"{V2}/campaign_actions.json", act).status_code == 204
    return {"campaign": campaign, "event": event, "flow": flow, "put_away": put_away}


def flow_id_of(api: Api, names: Names, tx: Any) -> int:
    flow_id = find_flow(tx, api.workspace.id, names["flow"])
    assert flow_id is not None
    return flow_id


def archive_a_flow(api: Api, names: Names) -> Any:
    with api.database.reading() as tx:
        flow_id = flow_id_of(api, names, tx)
    try:
        archive_flow(api.database, api.workspace.id, flow_id)
    except RuleBroken as error:
        return type(error).__name__
    return "done"


FLOW_TIMING = {key: value for key, value in TIMING.items() if key != "message"}
CAMPAIGNS = Scenario(
    begin_campaigns,
    {
        "create": post(f"{V2}/campaigns.json", {"name": "Visits", "group": "Fathers"}),
        "change": post(f"{V2}/campaigns.json", {"name": "Visits", "group": "Fathers"}, uuid="{campaign}"),
        "archive": post(f"{V2}/campaign_actions.json", {"campaigns": ["{campaign}"], "action": "archive"}),
        "restore": post(f"{V2}/campaign_actions.json", {"campaigns": ["{put_away}"], "action": "restore"}),
        "v1 create": post(f"{V1}/campaigns.json", {"name": "Visits", "group": "Fathers"}),
        "event": post(f"{V2}/campaign_events.json", {"campaign": "{campaign}", **TIMING}),
        "event with a flow": post(
            f"{V2}/campaign_events.json", {"campaign": "{campaign}", **FLOW_TIMING, "flow": "{flow}"}
        ),
        "change event": post(f"{V2}/campaign_events.json", {**TIMING, "offset": 3}, uuid="{event}"),
        "delete event": delete(f"{V2}/campaign_events.json", uuid="{event}"),
        "v1 delete event": delete(f"{V1}/events.json", uuid="{event}"),
        "v1 change event": post(f"{V1}/events.json", {"uuid": "{event}", **V1_TIMING, "offset": 4}),
        "archive flow": archive_a_flow,
    },
    (f"{V2}/campaigns.json", f"{V2}/campaign_events.json", f"{V2}/flows.json"),
)


def begin_flows(api: Api) -> Names:
    """A flow of two revisions with a label, which a keyword starts."""
    first = make_definition(say("Good morning"), name="Survey")
    second = {**make_definition(say("Good evening"), name="Survey"), "uuid": first["uuid"]}
    assert api.post(f"{V2}/definitions.json", {"document": make_file(first)}).status_code == 200
    saved = api.post(f"{V2}/flow_revisions.json", {"based_on": 1, "definition": second}, uuid=first["uuid"])
    assert saved.status_code == 201, saved.text
    flow = first["uuid"]
    act = {"flows": [flow], "action": "label", "label": "Old"}
    assert api.post(f"{V2}/flow_actions.json", act).status_code == 204
    wanted = {"type": "keyword", "flow": flow, "keywords": ["leave"]}
    names = {"flow": flow, "trigger": uuid_of_new(api, f"{V2}/triggers.json", wanted)}
    third = {**second, "nodes": make_definition(say("Good night"))["nodes"]}
    return names | {
        "other": uuid_of_new(api, f"{V2}/flows.json", {"name": "Other"}),
        "third": third,
        "key": f"{second['nodes'][0]['actions'][0]['uuid']}/text/0",
        "file": make_file(third),
    }


def act_on_flow(action: str, **more: str) -> Write:
    return post(f"{V2}/flow_actions.json", {"flows": ["{flow}"], "action": action, **more})


def join_by(**more: Any) -> Write:
    body = {"type": "keyword", "flow": "{flow}", "keywords": ["join"]}
    return post(f"{V2}/triggers.json", body, **more)


FLOWS = Scenario(
    begin_flows,
    {
        "trigger": join_by(),
        "change trigger": join_by(uuid="{trigger}"),
        "trigger by command": command(
            lambda api, names, tx: create_trigger(
                tx, api.workspace.id, NewTrigger(KEYWORD, flow_id_of(api, names, tx), ("join",))
            )
        ),
        "archive trigger": delete(f"{V2}/triggers.json", uuid="{trigger}"),
        "create": post(f"{V2}/flows.json", {"name": "Registration"}),
        "change": post(f"{V2}/flows.json", {"name": "Registration"}, uuid="{flow}"),
        "copy": post(f"{V2}/flows.json", {"name": "Registration", "copy_of": "{flow}"}),
        "save": post(f"{V2}/flow_revisions.json", {"based_on": 2, "definition": "{third}"}, uuid="{flow}"),
        "draft": post(
            f"{V2}/flow_revisions.json", {"based_on": 2, "draft": True, "definition": "{third}"}, uuid="{flow}"
        ),
        "translate": post(
            f"{V2}/flow_texts.json",
            {
                "language": "fra",
                "based_on": 2,
                "texts": [{"key": "{key}", "text": "Good evening", "translation": "Bonsoir"}],
            },
            uuid="{flow}",
        ),
        "restore revision": post(f"{V2}/flow_revisions.json", {"based_on": 2, "restore": 1}, uuid="{flow}"),
        "import": post(f"{V2}/definitions.json", {"document": "{file}"}),
        "label": act_on_flow("label", label="New"),
        "unlabel": act_on_flow("unlabel", label="Old"),
        "archive": act_on_flow("archive"),
        "archive by command": archive_a_flow,
    },
    (f"{V2}/flows.json", f"{V2}/triggers.json"),
    lambda api, names: len(api.get(f"{V2}/flow_revisions.json", uuid=names["flow"]).json()["revisions"]),
)


def begin_subscribers(api: Api) -> Names:
    api.database.write(lambda tx: ensure_resthook(tx, api.workspace.id, "visits"))
    body = {"resthook": "visits", "target_url": "https://example.org/first"}
    return {"subscriber": str(api.post(f"{V2}/resthook_subscribers.json", body).json()["id"])}


SUBSCRIBERS = Scenario(
    begin_subscribers,
    {
        "create": post(
            f"{V2}/resthook_subscribers.json", {"resthook": "visits", "target_url": "https://example.org/second"}
        ),
        "create again": post(
            f"{V2}/resthook_subscribers.json", {"resthook": "visits", "target_url": "https://example.org/first"}
        ),
        "delete": delete(f"{V2}/resthook_subscribers.json", id="{subscriber}"),
        "create resthook": post(f"{V2}/resthooks.json", {"resthook": "births"}),
        "delete resthook": delete(f"{V2}/resthooks.json", resthook="visits"),
    },
    (f"{V2}/resthook_subscribers.json", f"{V2}/resthooks.json"),
)


def begin_receivers(api: Api) -> Names:
    """A subscriber with a delivery that failed because it was switched off."""
    names = begin_subscribers(api)
    subscription = {"url": "https://example.org/crm", "events": ["contact.created"]}
    names |= {"subscription": str(api.post(f"{V2}/webhook_subscriptions.json", subscription).json()["id"])}
    receiver = {"receiver": names["subscriber"]}
    made = api.post(f"{V2}/webhook_tests.json", {}, **receiver).json()["delivery"]
    for is_on in (False, True):
        api.post(f"{V2}/webhook_receivers.json", {"is_on": is_on}, **receiver)
    return names | {"delivery": made}


RECEIVERS = Scenario(
    begin_receivers,
    {
        "limit": post(f"{V2}/webhook_receivers.json", {"requests_per_second": 2}, receiver="{subscriber}"),
        "switch off": post(f"{V2}/webhook_receivers.json", {"is_on": False}, receiver="{subscriber}"),
        "rotate": post(f"{V2}/webhook_secrets.json", {}, receiver="{subscriber}"),
        "test": post(f"{V2}/webhook_tests.json", {}, receiver="{subscriber}"),
        "send again": post(f"{V2}/delivery_actions.json", {"action": "resend", "deliveries": ["{delivery}"]}),
        "unsubscribe": delete(f"{V2}/resthook_subscribers.json", id="{subscriber}"),
        "subscribe": post(
            f"{V2}/webhook_subscriptions.json", {"url": "https://example.org/2", "events": ["run.completed"]}
        ),
        "end": delete(f"{V2}/webhook_subscriptions.json", id="{subscription}"),
    },
    (f"{V2}/webhook_receivers.json", f"{V2}/deliveries.json"),
)


def begin_contacts(api: Api) -> Names:
    amina = make_contact(api.database, api.workspace, PHONE)
    group = uuid_of_new(api, f"{V2}/groups.json", {"name": "Reporters"})
    twin = make_contact(api.database, api.workspace, TWIN_PHONE)
    make_messages(api.database, api.workspace, twin, 1)
    return {"amina": amina, "group": group, "twin": twin}


CONTACTS = Scenario(
    begin_contacts,
    {
        "create": post(f"{V2}/contacts.json", {"name": "Chantal", "urns": [f"tel:{OTHER_PHONE}"]}),
        "write by urn": post(f"{V2}/contacts.json", {"name": "Dina"}, urn=f"tel:{OTHER_PHONE}"),
        "change by urn": post(f"{V2}/contacts.json", {"name": "Esther"}, urn=f"tel:{PHONE}"),
        "change": post(f"{V2}/contacts.json", {"urns": [f"tel:{OTHER_PHONE}"]}, uuid="{amina}"),
        "delete": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "join": post(f"{V2}/contact_actions.json", {"contacts": ["{amina}"], "action": "add", "group": "{group}"}),
        "block": post(f"{V2}/contact_actions.json", {"contacts": ["{amina}"], "action": "block"}),
        "delete by action": post(f"{V2}/contact_actions.json", {"contacts": ["{amina}"], "action": "delete"}),
        "message": post(f"{V2}/messages.json", {"contact": "{amina}", "text": "Hi"}),
        "merge": post(f"{V2}/contact_merges.json", {"contact": "{amina}", "other": "{twin}"}),
        "upsert": post(f"{V2}/contact_upserts.json", {"contacts": [{"urns": [f"tel:{OTHER_PHONE}"], "name": "Hope"}]}),
        "merge doubles": post(f"{V2}/contact_doubles.json", {"kind": "two_schemes"}),
        "renumber": post(f"{V2}/contact_renumberings.json", {"old": PHONE, "new": OTHER_PHONE, "apply": True}),
        "v1 write by urn": post(f"{V1}/contacts.json", {"name": "Fatou", "urns": [f"tel:{OTHER_PHONE}"]}),
        "v1 change by urn": post(f"{V1}/contacts.json", {"name": "Grace", "urns": [f"tel:{PHONE}"]}),
        "v1 delete": delete(f"{V1}/contacts.json", uuid="{amina}"),
    },
    (f"{V2}/contacts.json", f"{V2}/groups.json", f"{V2}/conversations.json"),
    lambda api, names: len(api.results(f"{V2}/contacts.json", deleted="true")),
)

INVITATIONS = Scenario(
    lambda api: {
        "invitation": uuid_of_new(api, f"{V2}/invitations.json", {"email": "joel@example.org", "role": "editor"})
    },
    {
        "invite": post(f"{V2}/invitations.json", {"email": "grace@example.org", "role": "agent"}),
        "invite again": post(f"{V2}/invitations.json", {"email": "joel@example.org", "role": "viewer"}),
        "withdraw": delete(f"{V2}/invitations.json", uuid="{invitation}"),
    },
    (f"{V2}/invitations.json",),
)


def begin_people(api: Api) -> Names:
    """A second administrator, and a token of an editor."""
    with api.database.writing() as tx:
        other = add_member(tx, api.workspace.id, "grace@example.org", "administrator").uuid
        add_member(tx, api.workspace.id, "joel@example.org", "editor")
        user_id = find_member(tx, api.workspace.id, "joel@example.org") or 0
        token = public_part(create_token(tx, api.workspace.id, user_id, "a secret key of tests"))
    (editor,) = api.results(f"{V2}/users.json", email="joel@example.org")
    return {"other": other, "editor": editor["uuid"], "token": token}


def act_on_person(user: str, action: str, **more: str) -> Write:
    return post(f"{V2}/user_actions.json", {"user": user, "action": action, **more})


PEOPLE = Scenario(
    begin_people,
    {
        "demote": act_on_person("{other}", "change_role", role="viewer"),
        "promote": act_on_person("{editor}", "change_role", role="administrator"),
        "remove": act_on_person("{editor}", "remove"),
        "revoke": delete(f"{V2}/tokens.json", token="{token}"),
        "settings": post(f"{V2}/workspace_settings.json", {"name": "Hill", "timezone": "Africa/Nairobi"}),
        "other settings": post(f"{V2}/workspace_settings.json", {"name": "Lake", "timezone": "Africa/Kigali"}),
    },
    (f"{V2}/users.json",),
    lambda api, names: [api.get(f"{V2}/workspace.json").json()[name] for name in ("name", "timezone")],
    changes_people=True,
)

SET_UP_SCENARIOS = {
    "groups": GROUPS,
    "labels": LABELS,
    "globals": GLOBALS,
    "fields": FIELDS,
    "topics": TOPICS,
    "teams": TEAMS,
    "optins": OPTINS,
    "invitations": INVITATIONS,
    "people": PEOPLE,
    "campaigns": CAMPAIGNS,
    "flows": FLOWS,
    "resthook subscribers": SUBSCRIBERS,
    "webhook receivers": RECEIVERS,
    "contacts": CONTACTS,
}
