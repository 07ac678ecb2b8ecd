from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import insert, select

from flows.environment import Environment
from flows.queries import FieldReference, ListResolver, NamedReference, QueryError, evaluate, parse_query
from flows.queries.evaluation import matches_name
from flows.urns import write_contact_reference
from persistence.contacts.queries import SearchScope, find_matches, translate_query
from persistence.sql.query_functions import make_name_match, make_name_pattern
from persistence.tables.contacts import contact, contact_urn, group, group_membership
from tests.run_rows import add_flow, add_run

FIELDS = [
    FieldReference("age", "Age", "number", "6b6a43fa-a26d-4017-bede-328bcdd5c93b"),
    FieldReference("color", "Color", "text", "ecc7b13b-c698-4f46-8a90-24a8fab6fe34"),
    FieldReference("dob", "Born", "datetime", "cbd3fc0e-9b74-4207-a8c7-248082bb4572"),
    FieldReference("state", "State", "state", "67663ad1-3abc-42dd-a162-09df2dea66ec"),
]
UUIDS = {field.key: field.uuid for field in FIELDS}
FARMERS, FISHERS = "8de30b78-d9ef-4db2-b2e8-4f7b6aef64cf", "cf51cf8d-94da-447a-b27e-a42a900c37a6"
REGISTRATION, SURVEY = "c261165a-f5b0-40ba-b916-76fb49667a4f", "5c6e1d7c-5b0d-4b83-8f1c-1a4b4c4a7c55"
NODE = "3dcccbb4-d29c-41dd-a01f-16d814c9ab82"
RESOLVER = ListResolver.of(
    FIELDS,
    [NamedReference(FARMERS, "Farmers"), NamedReference(FISHERS, "Fishers")],
    [NamedReference(REGISTRATION, "Registration"), NamedReference(SURVEY, "Survey")],
)
ENVIRONMENT = Environment(timezone="America/New_York")
SCOPE = SearchScope(RESOLVER, ENVIRONMENT, workspace_id=1)
PEOPLE: list[dict[str, Any]] = [
    {
        "uuid": "c7d9bece-6bbd-4b3b-8a86-eb0cf1ac9d05",
        "name": "Robert O'Reilly-Smith",
        "language": "eng",
        "created_on": datetime(2018, 6, 24, 3, 59, 59, 999999, tzinfo=UTC),
        "last_seen_on": datetime(2018, 6, 24, 4, 0, tzinfo=UTC),
        "open_ticket_count": 2,
        "flow": "Registration",
        "fields": {
            "age": {"text": "36.50", "number": "36.5"},
            "color": {"text": "Straße Красный"},
            "dob": {"text": "1981", "datetime": "1981-05-28T23:30:00-04:00"},
            "state": {"text": "kigali", "state": "Rwanda > Kigali City"},
        },
        "urns": [("tel", "+250788383383"), ("ext", "Ab_C%d")],
        "groups": [FARMERS],
    },
    {
        "name": "ÉTIENNE ΟΔΟΣ বাতিল_x",
        "created_on": datetime(2018, 6, 23, 4, 0, tzinfo=UTC),
        "fields": {"age": {"text": "old"}, "color": {"text": "red"}, "dob": {"text": "x"}},
        "urns": [("tel", "+12067799192"), ("twitter", "bobby")],
        "groups": [FARMERS, FISHERS],
    },
    {
        "created_on": datetime(2020, 1, 1, tzinfo=UTC),
        "last_seen_on": datetime(2021, 3, 15, 4, 30, tzinfo=UTC),
        "fields": {"age": {"text": "-7", "number": "-7"}, "color": {"text": "12345678901234567890.1"}},
        "open_ticket_count": 1,
        "urns": [],
        "groups": [],
    },
    {
        "name": "",
        "language": "fra",
        "created_on": datetime(2020, 1, 1, tzinfo=UTC),
        "fields": {"age": {"text": "1e", "number": "12345678901234567890.000000000000001"}},
        "urns": [("tel", "5080")],
        "groups": [],
    },
]
QUERIES = [
    *('color != ""', 'color = ""', "color = RED", "color != red", 'color = "STRAßE КРАСНЫЙ"', "color = blue"),
    *('age = ""', 'age != ""', "age = 36.5", "age = 36.500", "age != 36.5", "age > 36", "age >= 36.5", "age < 0"),
    *("age <= 36.5", "age < 36.5", "age = 12345678901234567890.000000000000001", "age > 12345678901234567890"),
    *('dob = ""', 'dob != ""', "dob = 1981-05-28", "dob != 1981-05-28", "dob > 1981-05-28", "dob >= 1981-05-28"),
    *("dob < 1981-05-29", "dob <= 1981-05-27", "dob = 1981-05-29"),
    *('state = ""', 'state != ""', 'state = "KIGALI city"', 'state != "kigali city"', "state = kigali"),
    *('name = ""', 'name != ""', 'name = "robert o\'reilly-smith"', "name != bob", 'name = "étienne οδοσ বাতিল_x"'),
    *("name ~ rob", "name ~ bert", "name ~ smi", "name ~ o'reilly", "name ~ reilly", "name ~ étienne", "name ~ ÉTI"),
    *("name ~ οδ", "name ~ বাতি", "name ~ তিল", 'name ~ "zz rob"', "name ~ robertson"),
    *("uuid = C7D9BECE-6bbd-4b3b-8a86-eb0cf1ac9d05", "uuid != c7d9bece-6bbd-4b3b-8a86-eb0cf1ac9d05", "uuid = 1"),
    *("id = 1", "id != 1", "id = 01", "id = 99999999999999999999", f"ref = {write_contact_reference(2)}"),
    *(f"ref = {write_contact_reference(3).lower()}", f"ref != {write_contact_reference(2)}", "ref = KNGEUX"),
    *("status = active", "status != ACTIVE", "language = ENG", "language != eng", 'language = ""', 'language != ""'),
    *("urn = +250788383383", "urn ~ 0788", 'urn = ""', 'urn != ""', "urn != bobby", "tel = 5080", "tel != 5080"),
    *('tel = ""', 'tel != ""', "tel ~ 206", 'ext ~ "ab_c%"', 'ext = "AB_C%D"', "ext ~ abcd", "twitter = BOBBY"),
    *("group = farmers", "group != farmers", "group = Fishers", 'group = ""', 'group != ""'),
    *("flow = registration", "flow != registration", "flow = survey", 'flow = ""', 'flow != ""'),
    *("history = registration", "history != registration", "history = survey", 'history = ""', 'history != ""'),
    *(f"waits_at = {NODE}", f"waits_at != {NODE}", f"waits_at = {NODE[::-1]}", 'waits_at = ""', 'waits_at != ""'),
    *("tickets = 2", "tickets != 0", "tickets > 0", "tickets < 1", "tickets <= 1", "tickets >= 1.5"),
    *("created_on < 2018-06-23", "created_on = 2018-06-23", "created_on != 2018-06-23", "created_on > 2018-06-23"),
    *("last_seen_on > 2018-06-23", "last_seen_on >= 2018-06-24", 'last_seen_on = ""', 'last_seen_on != ""'),
    *("last_seen_on = 2021-03-14", "last_seen_on != 2018-06-24", "last_seen_on <= 2018-06-24"),
    *("color = red AND age > 10", "color = red OR age > 10", "(color = red OR age > 10) AND tickets = 2"),
    *('name = "" AND (language = fra OR tickets = 1)', 'color = "12345678901234567890.1"'),
]


class Person:
    """A row of PEOPLE as queries see it."""

    def __init__(self, number, person):
        self.number, self.person = number, person

    def query_values(self, kind, key):
        person = self.person
        if kind == "scheme" or key == "urn":
            return [path for scheme, path in person["urns"] if key in (scheme, "urn")]
        if kind == "field":
            return self._field(key)
        lists = {
            "group": [item.name for item in RESOLVER.groups.values() if item.uuid in person["groups"]],
            "flow": [person["flow"]] if "flow" in person else [],
            "history": {1: ["Registration"], 2: ["Survey"]}.get(self.number, []),
            "waits_at": [NODE] if self.number == 2 else [],
            "tickets": [person.get("open_ticket_count", 0)],
            "id": [str(self.number)],
            "ref": [write_contact_reference(self.number)],
            "status": ["active"],
        }
        return lists[key] if key in lists else [value for value in [person.get(key)] if value is not None]

    def _field(self, key):
        type_ = RESOLVER.fields[key].type
        value = self.person["fields"].get(key, {}).get(type_)
        if value is None:
            return []
        return [{"number": Decimal, "datetime": datetime.fromisoformat}.get(type_, str)(value)]


@pytest.fixture
def people(database, workspace):
    add_flow(database, workspace, "Registration", id=234, uuid=REGISTRATION)
    add_flow(database, workspace, "Survey", id=235, uuid=SURVEY)
    with database.writing() as tx:
        names = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now}
        for number, (uuid, name) in enumerate([(FARMERS, "Farmers"), (FISHERS, "Fishers")], start=1):
            tx.execute(insert(group).values(id=100 + number, uuid=uuid, name=name, name_key=name.lower(), **names))
        for number, person in enumerate(PEOPLE, start=1):
            columns = {key: value for key, value in person.items() if key not in ("fields", "urns", "groups", "flow")}
            columns["current_flow_id"] = 234 if "flow" in person else None
            fields = {UUIDS[key]: value for key, value in person["fields"].items()}
            row = {**names, **columns, "id": number, "fields": fields}
            tx.execute(insert(contact).values(row))
            for scheme, path in person["urns"]:
                urn = {"workspace_id": workspace.id, "contact_id": number, "scheme": scheme, "path": path}
                tx.execute(insert(contact_urn).values(urn))
            for uuid in person["groups"]:
                group_id = 101 if uuid == FARMERS else 102
                link = {"workspace_id": workspace.id, "group_id": group_id, "contact_id": number}
                tx.execute(insert(group_membership).values(link))
    add_run(database, workspace, 234, 1, path=[{"node": NODE}])
    add_run(database, workspace, 235, 2, "waiting", path=[{"node": NODE[::-1]}, {"node": NODE}])
    return PEOPLE


def find_ids(database, condition):
    with database.reading() as tx:
        return list(tx.execute(select(contact.c.id).where(condition).order_by(contact.c.id)).scalars())


def test_the_database_finds_whom_the_evaluator_matches(database, people):
    different = {}
    for text in QUERIES:
        query = parse_query(text, ENVIRONMENT, RESOLVER)
        numbered = enumerate(PEOPLE, start=1)
        expected = [number for number, person in numbered if evaluate(query, Person(number, person), ENVIRONMENT)]
        found = find_ids(database, translate_query(query, SCOPE))
        if found != expected:
            different[text] = {"found": found, "expected": expected}

    assert different == {}


@pytest.mark.together
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("color = RED", [2]),
        ("color != red", [1, 3, 4]),
        ("name ~ smi", [1]),
        ("age > 12345678901234567890", [4]),
        ("last_seen_on = 2021-03-14", [3]),
        ("group = farmers AND group != fishers", [1]),
        ('ext ~ "ab_c%"', [1]),
    ],
)
def test_some_answers_are_known_beforehand(database, people, text, ids):
    assert find_ids(database, translate_query(parse_query(text, ENVIRONMENT, RESOLVER), SCOPE)) == ids


def test_a_search_finds_active_contacts_of_its_workspace_that_are_not_deleted(database, people, workspace):
    with database.writing() as tx:
        tx.execute(contact.update().where(contact.c.id == 1).values(status="blocked"))
        tx.execute(contact.update().where(contact.c.id == 2).values(is_deleted=True))

    assert find_ids(database, find_matches(workspace.id, None, SCOPE)) == [3, 4]
    query = parse_query("tickets >= 0", ENVIRONMENT, RESOLVER)
    assert find_ids(database, find_matches(workspace.id, query, SCOPE)) == [3, 4]
    assert find_ids(database, find_matches(workspace.id + 1, query, SCOPE)) == []


def test_a_search_that_asks_for_status_decides_about_it(database, people, workspace):
    with database.writing() as tx:
        tx.execute(contact.update().where(contact.c.id == 1).values(status="blocked"))
    query = parse_query("status = blocked OR tickets = 1", ENVIRONMENT, RESOLVER)

    assert find_ids(database, find_matches(workspace.id, query, SCOPE)) == [1, 3]


def test_a_query_whose_fields_are_not_known_cannot_be_translated():
    with pytest.raises(QueryError) as raised:
        translate_query(parse_query("beers = 1", ENVIRONMENT), SCOPE)
    assert raised.value.code == "unknown_property"


NAMES = [
    *("bob", "bo-bob", "bob_bob", "x.bob", "9.bob", "a'bob", "’bob", "9bob", "bob9", "9,55", "9,x55", "a 55", "a55"),
    *(
        "jean-luc",
        "ann:bob",
        "a\u0301.bob",
        "カタカナ",
        "xカタカナ",
        "_カタ",
        "王bob",
        "bob\u200d bob",
        "bob😀bob",
        "𝒳bob",
        "",
    ),
    *('\u05d0\u05d1"\u05d2\u05d3', 'a"\u05d2\u05d3', '\u05d0"bob'),
]
PREFIXES = ["bo", "55", "カタ", "bob", "lu", "_カ", "cc", "\u05d2\u05d3"]


def test_words_of_names_begin_at_the_same_places_in_every_database(database, people):
    with database.writing() as tx:
        for number, name in enumerate(NAMES, start=10):
            row = {"workspace_id": 1, "id": number, "name": name, "fields": {}}
            tx.execute(insert(contact).values(**row, created_on=tx.now, modified_on=tx.now))

    for prefix in PREFIXES:
        found = find_ids(database, make_name_match(contact.c.name, [prefix]) & (contact.c.id >= 10))
        assert [NAMES[id_ - 10] for id_ in found] == [name for name in NAMES if matches_name(name, [prefix])], prefix


def test_patterns_take_characters_with_a_meaning_as_they_are():
    assert make_name_pattern(["o'x.y"]).endswith("o\\'x\\.y")
