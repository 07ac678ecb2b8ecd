"""Records show what is stored, in the same text on both databases, whatever their declaration puts beside it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson
import pytest
from sqlalchemy import insert, literal, select, text

from persistence.contacts.records import CONTACTS
from persistence.lists import ListQuery, ListSpec, fetch_list
from persistence.messages.records import MESSAGES
from persistence.records import Record
from persistence.runs.records import RUNS, RUNS_V1
from persistence.sql.columns import time_text
from persistence.tables.contacts import contact
from testbed.tokens import make_token
from tests.api import Api
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.thinned import EVERY_CASE

STRANGE = ['"', "\\", "\\u0000", "a\nb\tc\r\x1e\x1f\x01", "é ✓ 😀 \u2028", "null", "%s {0}", "\x7f", ',"fields":']
STORED = '[{"content_type":"image/png", "url": "https://example.org/1","n":1.10,"m":123456789012345678901234567890}]'


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("records")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder) as made:
        yield made


@pytest.fixture(scope="module")
def filled(service: Service) -> Api:
    workspace = service.new_workspace()
    fill_workspace(service.database, workspace, 7)
    return service.api(workspace)


def shown(api: Api, spec: ListSpec) -> list[dict[str, Any]]:
    with api.database.reading() as tx:
        page = fetch_list(ListQuery(tx, api.workspace), spec, None, 5)
    return [orjson.loads(each) for each in page.records]


def with_one_more(fields: Mapping[str, Any], place: int) -> Record:
    items = list(fields.items())
    return Record(dict([*items[:place], ("added", literal('"{x}', literal_execute=True)), *items[place:]]))


@pytest.mark.together
@pytest.mark.parametrize("spec", [CONTACTS, MESSAGES, RUNS], ids=["contacts", "messages", "runs"])
def test_a_field_can_be_added_anywhere(filled: Api, spec: ListSpec) -> None:
    with filled.database.reading() as tx:
        record = spec.record_of(ListQuery(tx, filled.workspace))
    before = shown(filled, spec)
    assert len(before) == 5

    last = len(record.fields)
    for place in range(last + 1) if EVERY_CASE else (0, 1, last // 2, last):
        added = shown(filled, replace(spec, record=with_one_more(record.fields, place)))
        assert [list(each)[place] for each in added] == ["added"] * 5
        assert [each.pop("added") for each in added] == ['"{x}'] * 5
        assert [list(each.items()) for each in added] == [list(each.items()) for each in before]


@pytest.mark.parametrize("inner", [{"uuid": contact.c.uuid}, [contact.c.uuid], contact, select(contact.c.uuid)])
def test_columns_that_no_record_holds_are_refused_where_they_are_declared(inner: Any) -> None:
    with pytest.raises(TypeError, match=r"^contact is a \w+ of columns: write Record\(\.\.\.\) or Related$"):
        Record({"uuid": contact.c.uuid, "contact": inner})
    assert Record({"contact": {"uuid": None}, "labels": []}).columns == []


def test_a_field_can_be_added_to_what_is_made_of_a_whole_row(filled: Api) -> None:
    record = RUNS_V1.record
    assert isinstance(record, Record)
    more = Record({"added": literal(1, literal_execute=True), **record.fields}, show=record.show)

    assert [{**each, "added": 1} for each in shown(filled, RUNS_V1)] == shown(filled, replace(RUNS_V1, record=more))


def test_a_stored_document_is_shown_as_it_is(filled: Api) -> None:
    with filled.database.writing() as tx:
        tx.execute(text("UPDATE message SET attachments = :stored"), {"stored": STORED})

    assert (
        f'"attachments":{STORED},"media":"image/png:https://example.org/1"' in filled.get("/api/v2/messages.json").text
    )


def test_strange_texts_several_items_and_each_fraction_of_a_second_are_shown(service: Service) -> None:
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
        parts = (0, 100_000, 120_000, 123_000, 123_400, 123_450, 123_456, 1, 10)
        times = [tx.now.replace(microsecond=part) for part in parts]
        named = list(zip(STRANGE, times, strict=True))
        common = {"workspace_id": api.workspace.id, "fields": {}}
        rows = [{**common, "name": name, "created_on": at, "modified_on": at} for name, at in named]
        tx.execute(insert(contact), rows)

    found = api.get(path).json()["results"]

    assert {each["name"]: each["created_on"] for each in found if each["name"] in STRANGE} == {
        name: time_text(at) for name, at in named
    }
    assert [each for each in reversed(found) if each["uuid"] in {one["uuid"] for one in made}] == made
    assert [len(each["groups"]) for each in made] == [0, 1, 2, 3]


def test_only_the_fields_that_a_person_may_see_are_shown(service: Service) -> None:
    api = service.api(service.new_workspace("Hillside Health"))
    path = "/api/v2/contacts.json"
    for name, access in (("Motto", "view"), ("Diagnosis", "none"), ("Village", "edit")):
        api.post("/api/v2/fields.json", {"name": name, "type": "text", "agent_access": access})
    texts = [text.replace("\x1e", "").replace("\x1f", "").replace("\x01", "").strip() for text in STRANGE]
    for each in texts:
        api.post(path, {"fields": {"motto": each, "diagnosis": each}})
    api.post(path, {"name": "Nobody knows"})
    agent = Api(service.client, api.database, api.workspace, make_token(api.database, api.workspace, "agent"))

    for_all, for_agent = ([each["fields"] for each in who.get(path).json()["results"]] for who in (api, agent))

    assert for_all[0] == dict.fromkeys(("motto", "diagnosis", "village"))
    assert [each["motto"] for each in reversed(for_all[1:])] == texts
    assert [set(each) for each in for_agent] == [{"motto", "village"}] * len([*texts, 0])
