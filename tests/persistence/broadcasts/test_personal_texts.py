"""Expressions in texts for many contacts see what those of flows see of a contact, and nothing of a run."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import select, update

from flows.urns import write_contact_reference
from persistence.boundaries import read_features, store_boundaries
from persistence.broadcasts.expansion import Wording, Writer
from persistence.database import Database
from persistence.globals import create_global
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.boundary_files import RWANDA
from tests.campaign_rows import make_group
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_contacts, make_field
from tests.ticket_rows import add_ticket

CONTACTS = "/api/v2/contacts.json"
FIELDS = {"age": "34", "due_date": "2026-03-20T09:30:00+02:00", "home": "kigali", "note": "Speaks @contact.name"}

CASES = {
    "who it is": ("@contact|@contact.name|@contact.first_name|@contact.language|@contact.status",
                  "Amina Wanjiru|Amina Wanjiru|Amina|kin|active"),
    "moments are local": ("@contact.timezone|@contact.created_on|@(format_datetime(fields.due_date))",
                                              "Africa/Nairobi|2026-03-02T08:00:00.000000Z|20-03-2026 10:30"),
    "who was never heard from": ("@contact.last_seen_on|", "|"),
    "addresses": ("@contact.urn|@(count(contact.urns))|@urns.tel|@urns.mailto|@urns.telegram|",
                  "tel:+250788000111|2|tel:+250788000111|mailto:amina@example.org||"),
    "addresses in other forms": ("@(format_urn(contact.urn))|@(urn_parts(urns.mailto).path)",
                                 "0788 000 111|amina@example.org"),
    "groups": ('@(join(foreach(contact.groups, extract, "name"), ", "))|@(count(contact.groups))',
               "Mothers, Reporters|2"),
    "fields in their types": ("@fields.age|@(fields.age + 1)|@contact.fields.home|@fields.note",
                              "34|35|Rwanda > Kigali|Speaks @contact.name"),
    "looked up by a name that is put together": ('@(contact["gro" & "ups"][0].name)@(contact["TIC" & "KETS"][0].topic)',
                                                  "MothersGeneral"),
    "the whole one": ('@(count(parse_json(json(contact)).groups))@(count(parse_json(json(Contact)).tickets))', "21"),
    "dates are dates": ('@(format_date(datetime_add(fields.due_date, 1, "D"), "YYYY-MM-DD"))', "2026-03-21"),
    "unset fields": ("@fields.empty|@(is_error(fields.empty))|@(default(fields.empty, \"none\"))", "|false|none"),
    "all set fields": ("@fields", "Age: 34\nDue Date: 2026-03-20T09:30:00.000000+02:00\nHome: Rwanda > Kigali\n"
                                  "Note: Speaks @contact.name"),
    "the channel": ("@contact.channel|@contact.channel.address", "Front desk|+254733555010"),
    "tickets": ("@ticket.topic|@contact.tickets.0.topic.name|@(count(contact.tickets))", "General|General|1"),
    "globals": ("@globals.clinic_phone|@globals", "+250788|Clinic phone: +250788"),
    "languages decide names": ('@(format_date(fields.due_date, "MMMM"))', "Werurwe"),
    "places": ("@(has_state(\"Kigali\").match)", "Rwanda > Kigali"),
    "names of runs are text": ("@results.age @trigger.params @webhook @input @foo.bar", None),
    "addresses of people are text": ("Write to help@example.org or help@@contact.org",
                                     "Write to help@example.org or help@contact.org"),
    "errors leave nothing": ("1@fields.nothing 2@(contact.oops)3@(1 / 0)4@(upper(5", "1 234@(upper(5"),
    "run names in expressions are errors": ("Hi@(results.age)!", "Hi!"),
    "halves of characters": (r'@(parse_json("\"\\ud83d\""))!', "\ufffd!"),
}  # fmt: skip


@pytest.fixture
def amina(api: Api, database: Database, workspace: Workspace) -> str:
    """A contact with something of everything; returns its UUID."""
    add_channel(database, workspace, allow_international=True)
    for name, kind in (
        ("Age", "number"),
        ("Due Date", "datetime"),
        ("Home", "state"),
        ("Note", "text"),
        ("Empty", "text"),
    ):
        make_field(database, workspace, name, kind)
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA))
        create_global(tx, workspace.id, "Clinic phone", "+250788")
    for group in ("Mothers", "Reporters"):
        make_group(database, workspace, group)
    body = {
        "name": "Amina Wanjiru",
        "language": "kin",
        "urns": ["tel:+250788000111", "mailto:amina@example.org"],
        "groups": ["Mothers", "Reporters"],
        "fields": FIELDS,
    }
    response = api.post(CONTACTS, body)
    assert response.status_code == 201, response.text
    uuid = str(response.json()["uuid"])
    with database.writing() as tx:
        created = tx.now.replace(minute=0, second=0, microsecond=0)
        tx.execute(update(contact).values(timezone="Africa/Nairobi", created_on=created))
    add_ticket(database, workspace, id_of(database, uuid))
    return uuid


@pytest.fixture
def write(database: Database, workspace: Workspace) -> Callable[..., list[str]]:
    """What a template says to everybody there is, in the order of ids."""

    def write_texts(template: str, *, is_anonymous: bool = False) -> list[str]:
        with database.reading() as tx:
            rows = [ContactRow(*row) for row in tx.execute(select(*CONTACT_COLUMNS).order_by(contact.c.id))]
            shown = replace(workspace, is_anonymous=is_anonymous)
            return [draft.text for draft in Writer(tx, shown, Wording({"eng": template}, "eng"), rows).write()]

    return write_texts


@pytest.mark.together
@pytest.mark.parametrize(("template", "expected"), CASES.values(), ids=CASES.keys())
def test_a_text_sees_the_contact_as_a_flow_does(
    amina: str, write: Callable[..., list[str]], template: str, expected: str | None
) -> None:
    assert write(template) == [template if expected is None else expected]


def test_ids_are_those_of_the_contact(amina: str, database: Database, write: Callable[..., list[str]]) -> None:
    contact_id = id_of(database, amina)

    reference = write_contact_reference(contact_id)
    assert write("@contact.uuid @contact.id @contact.ref") == [f"{amina} {contact_id} {reference}"]


def test_a_contact_is_called_by_an_address_and_in_an_anonymous_workspace_by_its_id(
    database: Database, workspace: Workspace, write: Callable[..., list[str]]
) -> None:
    contact_id = id_of(database, make_contact(database, workspace, "+250788000111", name=""))
    assert write("@contact @contact.urn") == ["0788 000 111 "]
    add_channel(database, workspace, allow_international=True)

    assert write("@contact @contact.urn") == ["0788 000 111 tel:+250788000111"]
    assert write("@contact @contact.urn", is_anonymous=True) == [f"{contact_id} tel:********"]


def test_an_anonymous_workspace_shows_no_address_anywhere(amina: str, write: Callable[..., list[str]]) -> None:
    everything = '@contact.urn @urns.tel @(json(contact)) @(json(urns)) @(join(contact.urns, " "))'

    [text] = write(everything, is_anonymous=True)

    assert "Amina Wanjiru" in text
    assert "tel:********" in text
    assert "788000111" not in text
    assert "example.org" not in text


def test_who_would_be_told_nothing_is_not_written_to(
    database: Database, workspace: Workspace, write: Callable[..., list[str]]
) -> None:
    make_contact(database, workspace, name="Amina")
    make_contact(database, workspace, name="")

    assert write("@contact.name") == ["Amina"]
    assert write(" @(1 / 0) ") == []


def test_what_was_evaluated_before_is_sent_as_it_is(amina: str, database: Database, workspace: Workspace) -> None:
    said = "@contact.name @@ @(1 + 1)"
    with database.reading() as tx:
        rows = [ContactRow(*row) for row in tx.execute(select(*CONTACT_COLUMNS))]
        drafts = Writer(tx, workspace, Wording({"eng": said}, "eng", is_evaluated=True), rows).write()

    assert [draft.text for draft in drafts] == [said]


@pytest.mark.parametrize(
    ("template", "count"),
    [
        *(("Hello", 0), ("me@example.org", 0), ("@results.x", 0), ("Hi @contact", 4)),
        *(('@(has_state("Kigali"))', 6), ("@contact.Groups", 5), ("@ticket", 7), ("@(json(contact))", 8)),
    ],
)
def test_the_number_of_statements_depends_on_the_texts_and_not_on_the_contacts(
    amina: str,
    database: Database,
    workspace: Workspace,
    write: Callable[..., list[str]],
    statements: list[str],
    template: str,
    count: int,
) -> None:
    counts = []
    for _ in range(2):
        statements.clear()
        write(template)
        counts.append(len([one for one in statements if one.startswith(("SELECT", "EXECUTE"))]) - 1)
        make_contacts(database, workspace, 20)

    assert counts == [count, count]
