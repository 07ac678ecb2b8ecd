"""A page is the same whether Python writes its JSON or the database does."""

from collections.abc import Iterator

import pytest
from sqlalchemy import insert

from persistence.sql import pages
from persistence.tables.contacts import contact
from testbed.tokens import make_token
from tests.api import Api
from tests.contract.documents import Operation, token_operations
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import Service, database_url_for_many_tests, serve

RECORDS = 40
PAGE_SIZE = 17
LISTS = [
    operation
    for operation in token_operations()
    if operation.root == "v2/openapi.yaml" and operation.body["operationId"].startswith("list_")
]
STRANGE = ['"', "\\", "\\u0000", "a\nb\tc\r\x1e\x1f\x01", "é ✓ 😀 \u2028", "null", "%s {0}", "\x7f", ',"fields":']


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("forms")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder, PAGE_SIZE) as made:
        yield made


@pytest.fixture(scope="module")
def api(service: Service) -> Api:
    workspace = service.new_workspace()
    fill_workspace(service.database, workspace, RECORDS)
    return service.api(workspace)


def pages_of(api: Api, path: str) -> list[bytes]:
    """The first three pages, and the second again, backwards."""
    found = [api.get(path)]
    for direction in ("next", "next", "previous"):
        following = found[-1].json()[direction]
        if following is None:
            break
        found.append(api.follow(following))
    return [answer.content for answer in found]


@pytest.mark.parametrize("operation", LISTS, ids=str)
def test_both_write_the_same_bytes(api: Api, operation: Operation, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/api/v2{operation.path}"
    with_form = pages_of(api, path)
    monkeypatch.setattr(pages, "fetch_rows", lambda *_arguments, **_options: None)

    assert pages_of(api, path) == with_form


def test_both_write_strange_texts_several_items_and_each_fraction_of_a_second(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = service.api(service.new_workspace("Lakeside Health"))
    path, groups = "/api/v2/contacts.json", []
    for number in range(3):
        groups.append(api.post("/api/v2/groups.json", {"name": f"Group {number}"}).json()["uuid"])
    made = [
        api.post(
            path, {"name": f"Ann {number}", "groups": groups[:number], "urns": [f"tel:+25078000000{number}"]}
        ).json()
        for number in range(4)
    ]
    with api.database.writing() as tx:
        moments = [
            tx.now.replace(microsecond=part) for part in (0, 100_000, 120_000, 123_000, 123_400, 123_450, 123_456)
        ]
        rows = [
            {
                "workspace_id": api.workspace.id,
                "name": STRANGE[number % len(STRANGE)],
                "fields": {},
                "created_on": moment,
                "modified_on": moment,
            }
            for number, moment in enumerate([*moments, *moments][: len(STRANGE)])
        ]
        tx.execute(insert(contact), rows)
    with_form = [api.get(path, reverse=turn) for turn in ("true", "false")]
    monkeypatch.setattr(pages, "fetch_rows", lambda *_arguments, **_options: None)

    without = [api.get(path, reverse=turn) for turn in ("true", "false")]

    assert [each.content for each in without] == [each.content for each in with_form]
    shown = with_form[0].json()["results"]
    assert sorted(each["name"] for each in shown if each["name"] in STRANGE) == sorted(STRANGE)
    counts = {each["uuid"]: len(each["groups"]) for each in shown}
    assert [counts[each["uuid"]] for each in made] == [0, 1, 2, 3]


def test_both_show_the_fields_that_a_person_may_see(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    api = service.api(service.new_workspace("Hillside Health"))
    path = "/api/v2/contacts.json"
    for name, access in (("Motto", "view"), ("Diagnosis", "none"), ("Village", "edit")):
        api.post("/api/v2/fields.json", {"name": name, "type": "text", "agent_access": access})
    texts = [text.replace("\x1e", "").replace("\x1f", "").replace("\x01", "").strip() for text in STRANGE]
    for text in texts:
        api.post(path, {"fields": {"motto": text, "diagnosis": text}})
    api.post(path, {"name": "Nobody knows"})
    agent = Api(service.client, api.database, api.workspace, make_token(api.database, api.workspace, "agent"))
    with_form = [each.get(path) for each in (api, agent)]
    monkeypatch.setattr(pages, "fetch_rows", lambda *_arguments, **_options: None)

    assert [each.get(path).content for each in (api, agent)] == [each.content for each in with_form]
    unknown, *known = [each["fields"] for each in with_form[0].json()["results"]]
    assert unknown == dict.fromkeys(("motto", "diagnosis", "village"))
    assert [each["motto"] for each in reversed(known)] == texts
    assert [set(each["fields"]) for each in with_form[1].json()["results"]] == [{"motto", "village"}] * len([*texts, 0])
