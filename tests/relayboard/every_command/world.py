"""A workspace that holds one of everything that commands name, and a server for phones."""

import gzip
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests
from sqlalchemy import select

from persistence.accounts.invitations import invite
from persistence.accounts.sign_ins import Browser, create_sign_in
from persistence.boundaries import read_features, store_boundaries
from persistence.broadcasts.forms import read_form
from persistence.broadcasts.records import BROADCASTS, create_broadcast
from persistence.campaigns.records import archive_campaign
from persistence.channels.channels import create_gateway, set_channel_webhook
from persistence.channels.settings import new_gateway_secret
from persistence.classifiers import CLASSIFIERS, create_classifier
from persistence.database import Database
from persistence.deliveries.leases import AttemptOutcome, lease_deliveries, list_due_receivers, record_attempt
from persistence.deliveries.outbox import record_channel_event
from persistence.deliveries.subscriptions import create_subscription
from persistence.fields import create_field
from persistence.flows.records import add_flow_label
from persistence.globals import create_global
from persistence.labels import LABELS, create_label
from persistence.lists import read_record
from persistence.media.store import FolderStore
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.messages.records import MESSAGES
from persistence.messages.routes import NO_ROUTE, Route
from persistence.optins import OPTINS, create_optin
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import invitation, sign_in
from persistence.tables.campaigns import trigger
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group, topic
from persistence.tables.data_jobs import COMPLETED, READY, contact_import, imported_contact
from persistence.tables.deliveries import FAILED
from persistence.tables.flows import flow, flow_start
from persistence.teams import create_team
from persistence.templates import TEMPLATES, Translation, set_translation
from persistence.tickets.actions import NewTicket, open_ticket
from persistence.tickets.records import TICKETS
from persistence.tickets.ticketers import TICKETERS, create_ticketer
from persistence.tickets.topics import create_topic
from persistence.tokens import create_token, public_part
from persistence.triggers.forms import TriggerForm, read_trigger_form
from persistence.triggers.records import create_trigger
from persistence.users import add_member, find_member
from persistence.workspace_files.writing import write_workspace
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import load_settings
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from testbed.running import RunningService
from testbed.tokens import KEYS, SECRET_KEY
from tests.boundary_files import RWANDA
from tests.campaign_rows import make_campaign, make_group
from tests.channel_rows import add_channel, add_contact
from tests.definition_files import REGISTRATION, bring_in, make_definition, make_file, say, tested
from tests.factories import make_contact
from tests.run_rows import add_start, uuid_of

URL = "http://hooks.example.org/in"
SECRET = "hush-hush"
MOVED = b"0d3f7a1c-9a01-4c2f-a1d1-2f4c5b6a7081"


@dataclass(slots=True)
class World:
    """Names of what is there, to be filled into commands."""

    service: RunningService
    names: dict[str, str] = field(default_factory=dict)


@contextmanager
def made_world(service: RunningService, folder: Path) -> Iterator[World]:
    world = World(service)
    database, workspace = service.database, service.workspace
    names = world.names
    names |= {"workspace": workspace.uuid, "server": service.url, "folder": str(folder)}
    names["tomorrow"] = (database.clock() + timedelta(days=1)).date().isoformat() + "T23:00"
    names |= _make_users(database, workspace)
    names |= _make_files(folder)
    names |= _make_flows(database, workspace)
    names |= _make_channels(database, workspace)
    names["contact"] = uuid_of(database, contact, add_contact(database, workspace))
    names["other_contact"] = make_contact(database, workspace, "+250788000998")
    names["erased"] = make_contact(database, workspace, "+250788000999")
    # Those of the commands for contacts: several processes may share the cases, each with a world of its own.
    for number in ("+250788000444", "+250788000666"):
        make_contact(database, workspace, number)
    names["campaign"] = make_campaign(database, workspace, "Antenatal", "Campaigners")
    names["spare_campaign"] = make_campaign(database, workspace, "Postnatal", "Campaigners")
    names["put_away_campaign"] = make_campaign(database, workspace, "Former", "Campaigners")
    with database.writing() as tx:
        archive_campaign(tx, workspace.id, names["put_away_campaign"])
    for name, label in (("group", "Mothers"), ("other_group", "Others"), ("spare_group", "Spare")):
        names[name] = uuid_of(database, group, make_group(database, workspace, label))
    with database.writing() as tx:
        names["topic"] = (
            tx.execute(topic.select().where(topic.c.id == create_topic(tx, workspace.id, "Health"))).one().uuid
        )
        create_topic(tx, workspace.id, "Spare")
        for name in ("Days", "Spare"):
            create_team(tx, workspace.id, name)
        ensure_resthook(tx, workspace.id, "spare-birth")
        create_field(tx, workspace.id, "Age", "number")
        create_field(tx, workspace.id, "Village", "text")
        ensure_resthook(tx, workspace.id, "old-birth")
        names["subscriber"] = str(create_subscriber(tx, workspace.id, "old-birth", "https://example.org/x"))
        for name in ("subscription", "spare_subscription"):
            names[name] = str(create_subscription(tx, workspace, f"https://example.org/{name}", ["run.completed"])[0])
        store_boundaries(tx, read_features(RWANDA, None))
    _make_records(database, workspace, names)
    names["elsewhere"] = str(_write_elsewhere(database, folder))
    uploaded = requests.post(
        f"{service.url}/api/v2/media.json",
        files={"file": ("photo.jpg", b"\xff\xd8\xff\xe0 a photo", "image/jpeg")},
        headers={"Authorization": f"Token {service.token}"},
        timeout=60,
    )
    names["media"] = uploaded.json()["uuid"]
    phone = Phone(HttpTransport(service.url))
    phone.register()
    names["claim_code"] = str(phone.state.claim_code)
    yield world


def _write_elsewhere(database: Database, folder: Path) -> Path:
    """The file of a workspace that is not here."""
    with database.writing() as tx:
        other = create_workspace(tx, "Elsewhere")
    write_workspace(database, KEYS, FolderStore(f"file://{folder / 'no-media'}"), other, folder / "other.zip", "")
    with zipfile.ZipFile(folder / "other.zip") as packed, zipfile.ZipFile(folder / "elsewhere.zip", "w") as moved:
        for name in packed.namelist():
            moved.writestr(name, packed.read(name).replace(other.uuid.encode(), MOVED))
    return folder / "elsewhere.zip"


NOWHERE = Route(failed_reason=NO_ROUTE)


def _make_records(database: Database, workspace: Workspace, names: dict[str, str]) -> None:
    """One of each record that commands show by its UUID; its own person has the ticket."""
    contact_id = add_contact(database, workspace, "+254722000222", "Bea")
    with database.writing() as tx:
        create_global(tx, workspace.id, "Hotline", "112")
        waiting = {"status": READY, "filename": "people.csv", "columns": [], "created_on": tx.now}
        names["import"] = new_uuid()
        tx.insert(contact_import, workspace_id=workspace.id, uuid=names["import"], **waiting)
        names["past_import"] = new_uuid()
        past = {**waiting, "status": COMPLETED, "finished_on": tx.now, "created": 1}
        past_id = tx.insert(contact_import, workspace_id=workspace.id, uuid=names["past_import"], **past)
        changes = {"values": {}, "urns": [], "joined": False}
        kept = {"import_id": past_id, "contact_id": contact_id, "is_new": True, "changes": changes}
        tx.insert(imported_contact, workspace_id=workspace.id, **kept)
        translation = Translation(names["channel"], "eng", "Hello", "", "approved")
        ticket_id = open_ticket(tx, workspace, NewTicket(contact_id, None, None, None))
        assert ticket_id is not None
        made = {
            "label": (LABELS, create_label(tx, workspace.id, "Soon")),
            "optin": (OPTINS, create_optin(tx, workspace.id, "Tips")),
            "ticketer": (TICKETERS, create_ticketer(tx, workspace.id, "Desk 1", "zendesk")),
            "classifier": (CLASSIFIERS, create_classifier(tx, workspace.id, "Luis", "luis", ["book"])),
            "template": (TEMPLATES, set_translation(tx, workspace.id, "welcome", translation)),
            "ticket": (TICKETS, ticket_id),
            "message": (MESSAGES, create_outgoing(tx, workspace.id, [Draft(contact_id, text="Hello")])[0]),
            "failed_message": (
                MESSAGES,
                create_outgoing(tx, workspace.id, [Draft(contact_id, "Hello", route=NOWHERE)])[0],
            ),
        }
        form = read_form(tx, workspace, {"text": "Hello", "urns": ["tel:+254722000222"]})
        made["broadcast"] = (BROADCASTS, create_broadcast(tx, workspace.id, form))
        for name in ("draft", "spare_draft"):
            kept = read_form(tx, workspace, {"text": "Later", "urns": ["tel:+254722000222"], "draft": True})
            made[name] = (BROADCASTS, create_broadcast(tx, workspace.id, kept))
        for name, (spec, record_id) in made.items():
            names[name] = str(json.loads(read_record(tx, spec, workspace, record_id))["uuid"])


def _make_users(database: Database, workspace: Any) -> dict[str, str]:
    names = {}
    with database.writing() as tx:
        for role, name in (("administrator", "administrator"), ("editor", "editor"), ("agent", "agent")):
            names[name] = f"{name}@example.org"
            add_member(tx, workspace.id, names[name], role)
        names["leaver"] = "leaver@example.org"
        add_member(tx, workspace.id, names["leaver"], "editor")
        user_id = find_member(tx, workspace.id, names["administrator"])
        assert user_id is not None
        names["token"] = create_token(tx, workspace.id, user_id, SECRET_KEY)
        public = public_part(create_token(tx, workspace.id, user_id, SECRET_KEY))
        assert public is not None
        names["public"] = public
        browser = Browser("192.0.2.7", "Firefox")
        sign_in_id, _ = create_sign_in(tx, user_id, "password", browser, SECRET_KEY)
        names["session"] = tx.execute(select(sign_in.c.uuid).where(sign_in.c.id == sign_in_id)).scalar_one()
        invited = invite(tx, workspace, "guest@example.org", "agent", "http://sms.example.org", load_settings())
        names["invitation"] = tx.execute(select(invitation.c.uuid).where(invitation.c.id == invited.id)).scalar_one()
    return names


def _make_files(folder: Path) -> dict[str, str]:
    definition, boundaries, secret = folder / "definition.json", folder / "boundaries.json", folder / "secret.txt"
    definition.write_text(json.dumps(make_definition(say("Hello"))))
    (folder / "tested.json").write_text(json.dumps(tested()))
    boundaries.write_text(json.dumps(RWANDA))
    secret.write_text(SECRET + "\n")
    secret.chmod(0o600)
    (folder / "url.txt").write_text("https://example.org/hook?key=hush\n")
    (folder / "url.txt").chmod(0o600)
    people = folder / "people.csv"
    people.write_text("Phone,Name,Second phone,Village\n+250788000555,Eve,+250788000556,Gasharu\nbad,Joe,,\n")
    archive = folder / "messages.jsonl.gz"
    sent = {"id": 7, "contact": {"uuid": MOVED.decode(), "name": "Ida"}, "urn": "tel:+250788000777", "text": "Hi"}
    archive.write_bytes(gzip.compress(json.dumps({**sent, "direction": "in", "status": "handled"}).encode() + b"\n"))
    translations = folder / "translations.po"
    translations.write_text('msgctxt "x/text/0"\nmsgid "Hello"\nmsgstr ""\n')
    return {
        "archive": str(archive),
        "people_file": str(people),
        "definition": str(definition),
        "boundaries": str(boundaries),
        "secret_file": str(secret),
        "url_file": str(folder / "url.txt"),
        "export": str(REGISTRATION),
        "tested": str(folder / "tested.json"),
        "translations": str(translations),
    }


def _make_flows(database: Database, workspace: Any) -> dict[str, str]:
    first, spare = make_definition(say("Hello")), make_definition(say("Bye"), name="Spare")
    bring_in(database, workspace, make_file(first, spare))
    make_group(database, workspace, "Mothers")
    forms = {
        "trigger": TriggerForm(type="keyword", flow=first["uuid"], keywords=["old"]),
        "spare_trigger": TriggerForm(type="keyword", flow=first["uuid"], keywords=["spare"]),
        "schedule": TriggerForm(
            type="schedule", flow=first["uuid"], groups=["Mothers"], scheduled_on=database.clock() + timedelta(days=900)
        ),
    }
    with database.writing() as tx:
        made = {
            name: create_trigger(tx, workspace.id, read_trigger_form(tx, workspace, form))
            for name, form in forms.items()
        }
        flow_id = tx.execute(flow.select().where(flow.c.uuid == first["uuid"])).one().id
        add_flow_label(tx, workspace.id, flow_id, "Health")
    return {
        "flow": first["uuid"],
        "spare_flow": spare["uuid"],
        **{name: uuid_of(database, trigger, trigger_id) for name, trigger_id in made.items()},
        "start": uuid_of(database, flow_start, add_start(database, workspace, flow_id)),
    }


def _make_channels(database: Database, workspace: Any) -> dict[str, str]:
    names, ids = {}, {}
    for name in ("channel", "spare_channel", "hooked_channel"):
        ids[name] = add_channel(database, workspace, name=name)
        names[name] = uuid_of(database, channel, ids[name])
    with database.writing() as tx:
        set_channel_webhook(tx, workspace.id, names["hooked_channel"], URL)
        names["gateway"] = create_gateway(
            tx,
            workspace.id,
            "external",
            name="Gateway",
            address="8080",
            schemes=["tel"],
            country="RW",
            config={"send_url": URL},
            secret=new_gateway_secret(),
        )
        names["bot"] = create_gateway(
            tx,
            workspace.id,
            "telegram",
            name="Bot",
            address="clinic_bot",
            schemes=["telegram"],
            config={"auth_token": "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"},
            secret=new_gateway_secret(),
        )
    database.clock, clock = (lambda: datetime.now(UTC) + timedelta(seconds=1)), database.clock
    with database.writing() as tx:
        delivery = record_channel_event(tx, workspace.id, ids["hooked_channel"], "mo_sms", {"text": "Hello"})
    with database.writing() as tx:
        (leased,) = lease_deliveries(tx, dict.fromkeys(list_due_receivers(tx), 1), timedelta(seconds=9))
        record_attempt(tx, leased, AttemptOutcome(FAILED, None, 500, None, b"broken", 0.1))
    database.clock = clock
    assert delivery is not None
    names["delivery"] = delivery
    return names
