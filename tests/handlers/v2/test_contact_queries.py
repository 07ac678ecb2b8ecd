"""`/api/v2/contact_queries.json`, its words, and contacts by `query`, over HTTP."""

from typing import Any

import pytest

from handlers.app import create_app
from persistence.contacts import queries
from persistence.database import Database
from persistence.errors import Refused
from persistence.groups.smart_groups import create_query_group, evaluate_some, lease_group
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from tests.api import Api
from tests.clients import running_client
from tests.factories import make_contact, make_field, make_named
from tests.run_rows import add_people

CHECK = "/api/v2/contact_queries.json"
WORDS = "/api/v2/contact_query_words.json"
CONTACTS = "/api/v2/contacts.json"


@pytest.fixture
def people(api: Api, database: Database, workspace: Workspace) -> list[str]:
    make_field(database, workspace, "Age", "number")
    make_field(database, workspace, "Diagnosis", access="none")
    names = ("Amina", "Bosco", "Claire")
    uuids = [make_contact(database, workspace, f"+25078800011{n}", name=name) for n, name in enumerate(names)]
    for age, uuid in zip((20, 30, 40), uuids, strict=True):
        assert api.post(CONTACTS, {"fields": {"age": age, "diagnosis": "flu"}}, uuid=uuid).status_code == 200
    return uuids


def names(api: Api, query: str) -> list[str]:
    return [each["name"] for each in api.results(CONTACTS, query=query)]


@pytest.mark.usefixtures("people")
def test_contacts_are_found_by_a_query_in_the_order_of_the_list(api: Api) -> None:
    assert names(api, "age > 20") == ["Claire", "Bosco"]
    assert names(api, "amina") == ["Amina"]
    assert names(api, "status = blocked") == []


def test_found_contacts_are_paged_by_keys(api: Api, people: list[str], make_client) -> None:  # type: ignore[no-untyped-def]
    with make_client(page_size=1) as client:
        paged = Api(client, api.database, api.workspace, api.token)
        assert [each["uuid"] for each in paged.all_results(CONTACTS, query="age > 20")] == people[:0:-1]


@pytest.mark.usefixtures("people")
def test_a_query_is_counted_and_told_in_its_canonical_form(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    found = api.get(CHECK, query="age>20 or bosco").json()
    assert found == {
        "query": 'fields.age > 20 OR name ~ "bosco"',
        "count": 2,
        "is_exact": True,
        "may_define_group": True,
    }

    monkeypatch.setattr(queries, "MOST_COUNTED", 1)
    found = api.get(CHECK, query="age > 20").json()
    assert (found["count"], found["is_exact"]) == (1, False)


@pytest.mark.together
@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("age >", "Parameter query: expected a value after '>' in query (character 5)."),
        ("height > 3", "Parameter query: can't resolve 'height' to attribute, scheme or field (character 0)."),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(api: Api, query: str, detail: str) -> None:
    for path in (CHECK, CONTACTS):
        answer = api.get(path, query=query)
        assert (answer.status_code, answer.json()) == (400, {"detail": detail})


@pytest.mark.usefixtures("people")
def test_agents_neither_query_nor_see_fields_that_are_hidden_from_them(api: Api) -> None:
    agent = api.as_role("agent")

    assert api.get(CHECK, query="diagnosis = flu").json()["count"] == 3
    for path in (CHECK, CONTACTS):
        assert agent.get(path, query="diagnosis = flu").status_code == 400
    assert [each["key"] for each in api.get(WORDS).json()["fields"]] == ["age", "diagnosis"]
    assert [each["key"] for each in agent.get(WORDS).json()["fields"]] == ["age"]


def test_the_words_name_what_queries_can_be_made_of(api: Api, database: Database, workspace: Workspace) -> None:
    make_field(database, workspace, "Age", "number")
    make_named(database, workspace, group, ["Reporters"])

    words = api.get(WORDS).json()

    assert [(each["key"], each["operators"]) for each in words["fields"]] == [
        ("age", ["=", "!=", ">", ">=", "<", "<="])
    ]
    assert "Reporters" in [each["name"] for each in words["groups"]] and "tel" in words["schemes"]
    assert next(each for each in words["attributes"] if each["key"] == "name")["operators"] == ["=", "!=", "~"]


@pytest.mark.together
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("สมชาย", "สมชาย ใจดี"),
        ("name ~ ใจ", "สมชาย ใจดี"),
        ("王", "王\u3000小明"),
        ("name ~ 小明", "王\u3000小明"),
        ('name = "王 小明"', "王\u3000小明"),
        ("小", "王\u3000小明"),
        ("สมชายใจดี", "สมชาย ใจดี"),
        ("name ~ ชายใจ", "สมชาย ใจดี"),
        ('name ~ "ใจดี สมหญิง"', "สมชาย ใจดี"),
        ("王小明", "王\u3000小明"),
        ('name ~ "山田 太郎"', "山田太郎"),
        ("田 太", "山田太郎"),
    ],
)
def test_names_without_spaces_are_found_by_a_part_in_searches_and_smart_groups(
    api: Api, database: Database, workspace: Workspace, query: str, found: str
) -> None:
    if not api.results("/api/v2/contacts.json"):
        for name in ("สมชาย ใจดี", "王\u3000小明", "山田太郎", "Somchai", "Wang"):
            make_contact(database, workspace, name=name)

    assert names(api, query) == [found]
    assert api.get(CHECK, query=query).json()["count"] == 1
    name = "Found by " + query.replace('"', "'")
    with database.writing() as tx:
        create_query_group(tx, workspace, name, query)
        held = lease_group(tx, workspace.id)
    while held is not None:
        held = evaluate_some(database, held)
    (made,) = api.results("/api/v2/groups.json", name=name)
    assert (made["status"], made["count"]) == ("ready", 1)


WORDS_OF_A_LIST = " ".join(f"q{letter}{other}" for letter in "abcdefghijklmnop" for other in "abcdefghijklmnop")


@pytest.mark.together
@pytest.mark.parametrize(
    ("query", "is_refused"),
    [
        ('name ~ "' + WORDS_OF_A_LIST[:980] + '"', False),
        ('name ~ "' + WORDS_OF_A_LIST + '"', True),
        ('name = "' + "太" * 980 + '"', False),
        ("name ~ " + "ก" * 980, False),
        ('name ~ "' + "太郎 " * 300 + '"', False),
        (" OR ".join(["name ~ ก"] * 260), True),
        ("(" * 120 + "name ~ ab" + ")" * 120, True),
    ],
)
def test_long_searches_are_answered_or_refused_with_a_sentence(
    api: Api, database: Database, workspace: Workspace, query: str, is_refused: bool
) -> None:
    with database.reading() as tx:
        if is_refused:
            with pytest.raises(Refused, match="query is too complex"):
                queries.check_query(tx, workspace, query, for_agent=False)
        else:
            assert queries.check_query(tx, workspace, query, for_agent=False)["count"] == 0
    answer = api.get(CHECK, query=query)
    assert answer.status_code in (200, 400) and ("detail" in answer.json()) == (answer.status_code == 400)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL answers this one by an index
def test_a_query_that_takes_the_database_too_long_ends_and_the_answer_says_so(
    database_url: str, settings: Settings, database: Database, workspace: Workspace, administrator: str
) -> None:
    add_people(database, workspace, 8000, name="Amina")
    hurried = Database(database_url, statement_timeout_seconds=0.3)
    app: Any = create_app(settings, database=hurried, check_responses=True)
    dear = " OR ".join(f"name~q{number}" for number in range(10, 85))  # each contact is asked all of it
    with running_client(app) as client:
        api = Api(client, database, workspace, administrator)
        answer = api.get(CONTACTS, query=dear)
    hurried.close()

    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "60"), answer.text
    assert answer.json()["detail"] == "This request takes the database too long; ask for less at a time."
