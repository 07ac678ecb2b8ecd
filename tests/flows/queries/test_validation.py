import pytest

from flows.environment import Environment
from flows.queries import FieldReference, ListResolver, NamedReference, inspect, parse_query

RESOLVER = ListResolver.of(
    [FieldReference("age", "Age", "number"), FieldReference("born", "Born", "datetime")],
    [NamedReference("g-2", "Fishers"), NamedReference("g-1", "Farmers")],
    [NamedReference("f-1", "Registration")],
)


def test_a_query_is_asked_what_it_depends_on():
    text = "twitter = b OR tel ~ 0788 AND age > 1 OR group = fishers OR group = Farmers AND born > 2000-01-01"

    inspection = inspect(parse_query(text, Environment(), RESOLVER), RESOLVER)

    assert inspection.to_json() == {
        "attributes": ["group"],
        "schemes": ["tel", "twitter"],
        "fields": [{"key": "age", "name": "Age"}, {"key": "born", "name": "Born"}],
        "groups": [{"uuid": "g-1", "name": "Farmers"}, {"uuid": "g-2", "name": "Fishers"}],
        "allow_as_group": False,
    }


@pytest.mark.parametrize("text", ["name = b", "uuid = 1", "age > 1 AND tel ~ 0788", 'language = ""', "tickets > 0"])
def test_queries_about_the_contact_itself_may_define_a_group(text):
    assert inspect(parse_query(text, Environment(), RESOLVER)).allow_as_group


@pytest.mark.parametrize(
    "text",
    [
        "id = 1",
        "ref = A6YWQL",
        "status = active",
        "group = Farmers",
        "flow = Registration",
        'history != ""',
        "waits_at = x",
    ],
)
def test_queries_about_groups_flows_status_or_numbers_may_not_define_a_group(text):
    assert not inspect(parse_query(f"name = b OR {text}", Environment(), RESOLVER)).allow_as_group


def test_without_resolver_fields_have_no_names_and_groups_are_not_found():
    inspection = inspect(parse_query("beers = 1 AND group = Any", Environment()))

    assert (inspection.fields, inspection.groups) == ((("beers", ""),), ())
