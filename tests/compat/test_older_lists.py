"""Every getter of the last published client of generation 1, with each of its filters, over several pages."""

from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from tests.compat.conftest import PAGE_SIZE, Tenant
from tests.compat.furniture import COUNT, furnish, message_ids, settle
from tests.compat.older_client import load_older_client

Found = list[Any]
Choose = Callable[[Found], dict[str, Any]]
Fits = Callable[[Any, Any], bool]


@pytest.fixture(scope="module")
def older(pytestconfig: pytest.Config) -> ModuleType:
    return load_older_client(pytestconfig)


@pytest.fixture(scope="module")
def tenant(open_tenant: Callable[[], Tenant]) -> Tenant:
    """A workspace that holds six of everything."""
    made = open_tenant()
    furnish(made)
    return made


@pytest.fixture(scope="module")
def client(older: ModuleType, tenant: Tenant) -> Any:
    made = older.TembaClient(tenant.url, tenant.token, user_agent="compatibility test")
    for number in range(COUNT):
        made.create_broadcast(f"Broadcast {number}", urns=["tel:+250788000100"])
    settle(tenant)
    return made


def two(parameter: str, attribute: str) -> tuple[Choose, Fits]:
    """A filter by an attribute of two records at once."""
    return (
        lambda found: {parameter: [getattr(found[0], attribute), getattr(found[3], attribute)]},
        lambda record, wanted: getattr(record, attribute) in wanted,
    )


def between(attribute: str = "created_on") -> list[tuple[Choose, Fits]]:
    return [
        (
            lambda found: {"before": getattr(found[2], attribute)},
            lambda record, bound: getattr(record, attribute) <= bound,
        ),
        (
            lambda found: {"after": getattr(found[2], attribute)},
            lambda record, bound: getattr(record, attribute) >= bound,
        ),
    ]


CASES: dict[str, list[tuple[Choose, Fits]]] = {
    "get_boundaries": [],
    "get_broadcasts": [
        two("ids", "id"),
        (lambda _: {"statuses": ["I", "Q", "S"]}, lambda record, letters: record.status in letters),
        *between(),
    ],
    "get_campaigns": [two("uuids", "uuid"), *between()],
    "get_contacts": [
        two("uuids", "uuid"),
        (lambda found: {"urns": found[2].urns}, lambda record, urns: record.urns == urns),
        (lambda _: {"deleted": False}, lambda _record, _: True),
        *between("modified_on"),
    ],
    "get_events": [two("uuids", "uuid"), two("campaigns", "campaign"), *between()],
    "get_fields": [],
    "get_flows": [
        two("uuids", "uuid"),
        (lambda _: {"archived": False}, lambda record, archived: record.archived == archived),
        *between(),
    ],
    "get_groups": [two("uuids", "uuid"), (lambda _: {"name": "up 3"}, lambda record, _: record.name == "Group 3")],
    "get_labels": [two("uuids", "uuid"), (lambda _: {"name": "bel 3"}, lambda record, _: record.name == "Label 3")],
    "get_messages": [
        two("ids", "id"),
        two("contacts", "contact"),
        two("urns", "urn"),
        (lambda _: {"statuses": ["S"]}, lambda record, _: record.status == "S"),
        (lambda _: {"direction": "I"}, lambda record, letter: record.direction == letter),
        (lambda _: {"_types": ["I"]}, lambda record, letters: record.type in letters),
        (lambda _: {"text": "question"}, lambda record, _: "Question" in record.text),
        (lambda _: {"archived": False}, lambda record, archived: record.archived == archived),
        *between(),
    ],
    "get_runs": [two("ids", "id"), two("flows", "flow"), *between("modified_on")],
}


def identity(record: Any) -> Any:
    return next(getattr(record, name) for name in ("uuid", "id", "key", "boundary") if hasattr(record, name))


def identities(records: Found) -> list[Any]:
    return [identity(record) for record in records]


@pytest.mark.parametrize("method", CASES)
class TestGetters:
    def test_pages_are_read_one_after_the_other(self, client: Any, method: str) -> None:
        get = getattr(client, method)
        everything = identities(get())
        pager, found = client.pager(), []
        while not found or pager.has_more():
            page = get(pager=pager)
            assert len(page) <= PAGE_SIZE
            found += identities(page)

        assert found == everything
        assert len(set(found)) == len(found) == pager.total >= 5

    def test_reading_begins_at_any_page(self, client: Any, method: str) -> None:
        get = getattr(client, method)

        assert identities(get(pager=client.pager(start_page=2))) == identities(get())[PAGE_SIZE : 2 * PAGE_SIZE]

    def test_each_filter_finds_what_fits(self, client: Any, method: str) -> None:
        get = getattr(client, method)
        everything = get()
        for choose, fits in CASES[method]:
            wanted = choose(everything)
            (value,) = wanted.values()

            expected = [identity(record) for record in everything if fits(record, value)]
            assert expected
            assert (wanted, identities(get(**wanted))) == (wanted, expected)


class TestOtherGetters:
    @pytest.mark.parametrize(
        ("one", "many"),
        [
            ("get_broadcast", "get_broadcasts"),
            ("get_campaign", "get_campaigns"),
            ("get_contact", "get_contacts"),
            ("get_event", "get_events"),
            ("get_field", "get_fields"),
            ("get_flow", "get_flows"),
            ("get_group", "get_groups"),
            ("get_label", "get_labels"),
            ("get_message", "get_messages"),
            ("get_run", "get_runs"),
        ],
    )
    def test_a_single_record_is_found_by_what_names_it(self, client: Any, one: str, many: str) -> None:
        wanted = getattr(client, many)()[0]

        assert getattr(client, one)(identity(wanted)).serialize() == wanted.serialize()

    def test_messages_are_found_by_broadcast_group_and_label(self, client: Any, tenant: Tenant) -> None:
        group, label = client.get_groups(name="Group 3")[0], client.get_labels(name="Label 3")[0]
        messages = message_ids(tenant)
        owner = client.get_message(messages[1]).contact
        client.add_contacts([owner], group_uuid=group.uuid)
        client.label_messages(messages[1:2], label=label.name)

        assert identities(client.get_messages(groups=[group])) == messages[1:2]
        for named in ("Label 3", "+Label 3", "Label 3,Label 4"):
            assert identities(client.get_messages(labels=[named])) == messages[1:2]
        assert messages[1] not in identities(client.get_messages(labels=["-Label 3"]))
        assert client.get_messages(broadcasts=[999_999]) == []

    def test_contacts_and_runs_are_found_by_group(self, client: Any) -> None:
        group, run = client.get_groups(name="Group 4")[0], client.get_runs()[0]
        client.add_contacts([run.contact], group=group.name)

        assert identities(client.get_contacts(groups=[group])) == [run.contact]
        assert identities(client.get_runs(groups=[group])) == [run.id]

    def test_flows_are_found_by_label(self, client: Any) -> None:
        assert client.get_flows(labels=["Never seen"]) == []

    def test_times_between_two_records_find_neither(self, client: Any) -> None:
        newest = client.get_campaigns()[0]

        assert client.get_campaigns(after=newest.created_on + timedelta(microseconds=1)) == []

    def test_the_workspace_is_shown(self, client: Any) -> None:
        org = client.get_org()

        assert (org.name, org.country, org.languages) == ("Riverside Health", "RW", ["eng", "kin"])
        assert (org.primary_language, org.timezone, org.anon) == ("eng", "Africa/Kigali", False)

    def test_answers_of_runs_have_all_their_parts(self, client: Any) -> None:
        run = client.get_runs()[0]

        assert [(value.label, value.value, value.category) for value in run.values] == [("Has Phone", "yes", "Yes")]
        assert (len(run.steps), run.completed) == (1, True)
