"""Writes of phones and gateways, and what workspaces do to them meanwhile, pair by pair."""

from typing import Any

from sqlalchemy import func, select, update

from channels.chats import VISITOR_LENGTH
from persistence.relayers.relayers import release_channels
from persistence.tables.channels import channel, webchat_visitor
from persistence.tables.contacts import contact_urn
from persistence.tables.data_jobs import contact_import, contact_job
from persistence.tables.messages import media, message
from relayboard.phone.wire import NoReply
from testbed.gateways import SECRET, add_gateway
from tests.api import Api
from tests.channels.webchat.visitors import SITE
from tests.factories import make_contact, make_messages
from tests.handlers.pairs.direct import DirectApi
from tests.handlers.pairs.scenario import V1, V2, Names, Scenario, Write, command, delete, post, uuid_of_new
from tests.handlers.pairs.scenarios import PHONE
from tests.handlers.pairs.use_scenarios import NEW_PHONE, SECOND_PHONE, act_on_contact
from tests.phones import AppTransport, claimed_phone
from tests.run_rows import uuid_of as uuid_of_row

CODE, LISTED = "A" * VISITOR_LENGTH, ("delivered", "read")


def begin_addresses(api: Api) -> Names:
    """Amina, who is in a group, writes through a gateway, which has a message for her."""
    amina = make_contact(api.database, api.workspace, PHONE)
    group = uuid_of_new(api, f"{V2}/groups.json", {"name": "Reporters"})
    api.post(f"{V2}/contact_actions.json", {"contacts": [amina], "action": "add", "group": group})
    gateway = add_gateway(api.database, api.workspace, "http://127.0.0.1:1/")
    (waiting,) = make_messages(api.database, api.workspace, amina, direction="out", status="wired", channel_id=gateway)
    address = f"/c/ex/{uuid_of_row(api.database, channel, gateway)}/{SECRET}"
    return {"amina": amina, "group": group, "gateway": address, "waiting": waiting}


def report(action: str, **query: str) -> Write:
    """A call of the gateway."""

    def write(api: Api, names: Names) -> Any:
        named = {key: value.format(**names) for key, value in query.items()}
        return api.get(f"{names['gateway']}/{action}", **named).status_code

    return write


ADDRESSES = Scenario(
    begin_addresses,
    {
        "receive": report("receive", sender=PHONE, text="Muraho"),
        "receive from new": report("receive", sender=NEW_PHONE, text="Bite"),
        "repeat from new": report("receive", sender=NEW_PHONE, text="Bite", message_id="m1"),
        "opt out": report("stopped", sender=PHONE),
        "sent": report("sent", id="{waiting}"),
        "failed": report("failed", id="{waiting}"),
        "move": post(f"{V2}/contacts.json", {"urns": [f"tel:{NEW_PHONE}"]}, uuid="{amina}"),
        "add address": post(f"{V1}/contacts.json", {"urns": [f"tel:{PHONE}", f"tel:{NEW_PHONE}"]}),
        "leave": act_on_contact("remove", group="{group}"),
        "delete": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "delete by address": delete(f"{V2}/contacts.json", urn=f"tel:{PHONE}"),
        "v1 delete by address": delete(f"{V1}/contacts.json", urns=f"tel:{PHONE}"),
        "v1 delete of group": delete(f"{V1}/contacts.json", group_uuids="{group}"),
        "block by address": post(f"{V2}/contact_actions.json", {"contacts": [f"tel:{PHONE}"], "action": "block"}),
        "message by address": post(f"{V2}/messages.json", {"contact": f"tel:{PHONE}", "text": "Hey"}),
    },
    (f"{V2}/contacts.json", f"{V2}/messages.json", f"{V2}/groups.json", f"{V2}/channel_events.json"),
    lambda api, names: len(api.results(f"{V2}/contacts.json", deleted="true")),
)


def begin_gateways(api: Api) -> Names:
    gateway = add_gateway(api.database, api.workspace, "http://127.0.0.1:1/")
    uuid = uuid_of_row(api.database, channel, gateway)
    return {"uuid": uuid, "gateway": f"/c/ex/{uuid}/{SECRET}"}


def release_gateway(api: Api, names: Names, tx: Any) -> int:
    return len(release_channels(tx, api.workspace.id, channel.c.uuid == names["uuid"]).ids)


GATEWAYS = Scenario(
    begin_gateways,
    {
        "limit": post(f"{V2}/channel_settings.json", {"messages_per_second": 5}, uuid="{uuid}"),
        "another limit": post(f"{V2}/channel_settings.json", {"messages_per_second": 7}, uuid="{uuid}"),
        "new secret": post(f"{V2}/channel_settings.json", {"rotate_secret": True}, uuid="{uuid}"),
        "end former secret": post(f"{V2}/channel_settings.json", {"end_former_secret": True}, uuid="{uuid}"),
        "receive": report("receive", sender=PHONE, text="Muraho"),
        "test": post(f"{V2}/channel_tests.json", {"urn": f"tel:{PHONE}", "text": "A test"}, uuid="{uuid}"),
        "check": post(f"{V2}/channel_checks.json", {"channel": "{uuid}"}),
        "release": delete(f"{V2}/channel_settings.json", uuid="{uuid}"),
        "release by command": command(release_gateway),
    },
    (f"{V2}/channel_settings.json", f"{V2}/channels.json", f"{V2}/messages.json", f"{V2}/contacts.json"),
)


def begin_chats(api: Api) -> Names:
    """A visitor of a site, for whom a message waits."""
    settings = {"type": "webchat", "name": "Help desk", "address": "help", "scheme": "webchat"}
    uuid = uuid_of_new(api, f"{V2}/channel_settings.json", {**settings, "settings": {"origins": SITE}})
    visit = api.post(f"/chat/{uuid}/visits", {}, headers={"Origin": SITE}).json()
    with api.database.writing() as tx:  # Codes are random, and what two databases show is compared.
        rows, urns = webchat_visitor.c, contact_urn.c
        number = tx.execute(select(rows.channel_id).where(rows.code == visit["visitor"])).scalar_one()
        tx.execute(update(webchat_visitor).where(rows.code == visit["visitor"]).values(code=CODE, path=CODE))
        mine = (urns.path == visit["visitor"]) & (urns.scheme == "webchat")
        tx.execute(update(contact_urn).where(mine).values(path=CODE))
    visitor = api.results(f"{V2}/contacts.json", urn=f"webchat:{CODE}")[0]["uuid"]
    way = {"direction": "out", "status": "wired", "channel_id": number, "urn": f"webchat:{CODE}"}
    (waiting,) = make_messages(api.database, api.workspace, visitor, **way)
    shown = uuid_of_row(api.database, message, waiting)
    return {"uuid": uuid, "token": CODE + visit["token"][len(CODE) :], "amina": visitor, "waiting": shown}


def call(what: str, body: dict[str, Any]) -> Write:
    """A call of the visitor's browser."""

    def write(api: Api, names: Names) -> Any:
        headers = {"Origin": SITE, "Authorization": f"Bearer {names['token']}"}
        given = {name: [names[each] for each in value] if name in LISTED else value for name, value in body.items()}
        return api.post(f"/chat/{names['uuid']}/{what}", given, headers=headers).status_code

    return write


CHATS = Scenario(
    begin_chats,
    {
        "write": call("messages", {"key": "k1", "text": "Muraho"}),
        "write more": call("messages", {"key": "k2", "text": "Amakuru"}),
        "deliver": call("acknowledgements", {"delivered": ["waiting"]}),
        "read": call("acknowledgements", {"read": ["waiting"]}),
        "block": act_on_contact("block"),
        "delete": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "release": delete(f"{V2}/channel_settings.json", uuid="{uuid}"),
    },
    (f"{V2}/channels.json", f"{V2}/messages.json", f"{V2}/contacts.json"),
)


def begin_phones(api: Api) -> Names:
    """Amina has a message that waits for a phone, which is about to tell what she wrote and that it is sent."""
    amina = make_contact(api.database, api.workspace, PHONE)
    phone = claimed_phone(api, number=SECOND_PHONE)
    number = phone.state.relayer_id
    way = {"direction": "out", "status": "queued", "channel_id": number, "urn": f"tel:{PHONE}"}
    make_messages(api.database, api.workspace, amina, **way)
    phone.sync()
    assert len(phone.send_waiting(is_delivered=False)) == 1
    requests = []
    for text in ("Muraho", "Bite"):
        phone.receive_sms(PHONE, text)
        phone.log_call("mo_miss", NEW_PHONE)
        transport = _Unreachable(api.client)
        phone.transport = transport
        try:
            phone.sync()
        except NoReply:
            requests += transport.requests
    return {"amina": amina, "phone": number, "requests": requests}


class _Unreachable(AppTransport):
    """Keeps requests, which never arrive."""

    def post(self, path: str, query: Any, body: bytes) -> Any:
        self.requests.append((path, dict(query), body))
        raise NoReply("not sent")


def sync(number: int) -> Write:
    def write(api: DirectApi, names: Names) -> Any:
        path, query, body = names["requests"][number]
        response = api.send("POST", path, query, body)
        return response.status_code, sorted(each["cmd"] for each in response.json().get("cmds", []))

    return write


PHONES = Scenario(
    begin_phones,
    {
        "sync": sync(0),
        "sync with more": sync(1),
        "release": delete(f"{V1}/relayers.json", relayer="{phone}"),
        "move": post(f"{V2}/contacts.json", {"urns": [f"tel:{NEW_PHONE}"]}, uuid="{amina}"),
        "delete": delete(f"{V2}/contacts.json", uuid="{amina}"),
        "block": act_on_contact("block"),
        "message": post(f"{V2}/messages.json", {"contact": "{amina}", "text": "Hey"}),
    },
    (f"{V2}/contacts.json", f"{V2}/messages.json", f"{V2}/channels.json", f"{V2}/channel_events.json"),
)


def upload(content: bytes, resource: str = "media") -> Write:
    head = (
        b'--edge\r\nContent-Disposition: form-data; name="file"; filename="leaf.png"\r\nContent-Type: image/png\r\n\r\n'
    )
    body = head + content + b"\r\n--edge--\r\n"
    kind = "multipart/form-data; boundary=edge"
    return lambda api, names: api.send("POST", f"{V2}/{resource}.json", {}, body, kind).status_code


def begin_data(api: Api) -> Names:
    """An import that was read."""
    columns = [{"header": name, "examples": [], "target": target} for name, target in IMPORTED]
    with api.database.writing() as tx:
        values = {"status": "ready", "filename": "a.csv", "columns": columns, "created_on": tx.now}
        tx.insert(contact_import, workspace_id=api.workspace.id, uuid=IMPORT, source="uploads/a", **values)
        job = {"status": "pending", "action": "block", "filters": {"query": "name = a"}, "created_on": tx.now}
        tx.insert(contact_job, workspace_id=api.workspace.id, uuid=JOB, **job)
    return {"amina": make_contact(api.database, api.workspace, PHONE)}


def start_import(village: str) -> Write:
    columns = [{"header": "Village", "target": village}]
    body = {"import": IMPORT, "action": "start", "columns": columns}
    return post(f"{V2}/contact_import_actions.json", body)


def show_data(api: Api, _names: Names) -> Any:
    imports = sorted(each["status"] for each in api.results(f"{V2}/contact_imports.json"))
    jobs = sorted(each["status"] for each in api.results(f"{V2}/contact_jobs.json"))
    return imports, jobs, len(api.results(f"{V2}/exports.json")), len(api.results(f"{V2}/data_requests.json"))


IMPORT = "0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081"
JOB = "0197a6e4-9a03-7c2f-a1d1-2f4c5b6a7091"
IMPORTED = (("Phone", "urn:tel"), ("Village", "ignore"))
DATA = Scenario(
    begin_data,
    {
        "upload contacts": upload(b"Phone\n1\n", "contact_imports"),
        "import": start_import("new:Village"),
        "cancel import": post(f"{V2}/contact_import_actions.json", {"import": IMPORT, "action": "cancel"}),
        "import otherwise": start_import("new:Home"),
        "create field": post(f"{V2}/fields.json", {"name": "Village", "type": "text"}),
        "export": post(f"{V2}/exports.json", {"type": "contacts", "format": "csv"}),
        "act on all": post(f"{V2}/contact_jobs.json", {"action": "block", "query": "tel ~ 250"}),
        "cancel action": post(f"{V2}/contact_job_actions.json", {"job": JOB, "action": "cancel"}),
        "erase": post(f"{V2}/data_requests.json", {"type": "erase", "contact": "{amina}"}),
    },
    (f"{V2}/fields.json",),
    show_data,
)


def count_files(api: Api, _names: Names) -> Any:
    with api.database.reading() as tx:
        mine = select(func.count(), func.sum(media.c.size)).where(media.c.workspace_id == api.workspace.id)
        return list(tx.execute(mine).one())


UPLOADS = Scenario(lambda api: {}, {"upload": upload(b"leaf"), "another": upload(b"tree")}, (), count_files)

OUTSIDE_SCENARIOS = {
    "addresses": ADDRESSES,
    "gateways": GATEWAYS,
    "chats": CHATS,
    "phones": PHONES,
    "uploads": UPLOADS,
    "data": DATA,
}
