"""Every getter of the published client of generation 2, with each of its filters, over several pages."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from temba_client.v2 import TembaClient

from tests.compat.conftest import PAGE_SIZE, Tenant
from tests.compat.furniture import COUNT, furnish, settle

Found = list[Any]
Choose = Callable[[Found], dict[str, Any]]
Fits = Callable[[Any, Any], bool]


@pytest.fixture(scope="module")
def client(open_tenant: Callable[[], Tenant]) -> TembaClient:
    """The client of a workspace that holds six of everything."""
    tenant = open_tenant()
    furnish(tenant)
    made = TembaClient(tenant.url, tenant.token, user_agent="compatibility test")
    for number in range(COUNT):
        made.create_global(f"Global {number}", "value")
        made.create_broadcast(f"Broadcast {number}", urns=["tel:+250788000100"])
    settle(tenant)
    return made


def one(attribute: str = "uuid") -> Choose:
    """A filter by an attribute of the third record."""
    return lambda found: {attribute: getattr(found[2], attribute)}


def moment(bound: str, attribute: str = "created_on") -> Choose:
    return lambda found: {bound: getattr(found[2], attribute)}


def same(attribute: str) -> Fits:
    return lambda record, wanted: getattr(record, attribute) == wanted


def until(attribute: str = "created_on") -> Fits:
    return lambda record, bound: getattr(record, attribute) <= bound


def since(attribute: str = "created_on") -> Fits:
    return lambda record, bound: getattr(record, attribute) >= bound


BY_UUID = [(one(), same("uuid"))]
BY_TIME = [(moment("before"), until()), (moment("after"), since())]
BY_CHANGE = [
    (moment("before", "modified_on"), until("modified_on")),
    (moment("after", "modified_on"), since("modified_on")),
]
MIDDLE = datetime(2025, 3, 1, tzinfo=UTC)


def owner(attribute: str) -> Fits:
    """Whether a reference of the record names the wanted object, which may be given as a whole."""
    return lambda record, wanted: getattr(record, attribute).uuid == getattr(wanted, "uuid", wanted)


CASES: dict[str, list[tuple[Choose, Fits]]] = {
    "get_archives": [
        (lambda _: {"type": "run"}, same("type")),
        (lambda _: {"period": "daily"}, same("period")),
        (lambda _: {"before": MIDDLE}, until("start_date")),
        (lambda _: {"after": MIDDLE}, since("start_date")),
    ],
    "get_boundaries": [(lambda _: {"geometry": True}, lambda record, _: record.geometry is not None)],
    "get_broadcasts": [*BY_UUID, *BY_TIME],
    "get_campaigns": BY_UUID,
    "get_campaign_events": [
        *BY_UUID,
        (lambda found: {"campaign": found[2].campaign.uuid}, owner("campaign")),
        (lambda found: {"campaign": found[2].campaign}, owner("campaign")),
    ],
    "get_channels": [*BY_UUID, (one("address"), same("address"))],
    "get_classifiers": BY_UUID,
    "get_contacts": [
        *BY_UUID,
        *BY_CHANGE,
        (lambda found: {"urn": found[2].urns[0]}, lambda record, urn: urn in record.urns),
        (lambda _: {"deleted": False}, lambda _record, _: True),
        (lambda _: {"reverse": True}, lambda _record, _: True),
    ],
    "get_fields": [(one("key"), same("key"))],
    "get_flows": [
        *BY_UUID,
        (lambda _: {"type": "message"}, same("type")),
        (lambda _: {"archived": False}, same("archived")),
    ],
    "get_flow_starts": BY_UUID,
    "get_globals": [(one("key"), same("key"))],
    "get_groups": [*BY_UUID, (one("name"), same("name"))],
    "get_labels": [*BY_UUID, (one("name"), same("name"))],
    "get_messages": [
        *BY_UUID,
        *BY_TIME,
        (lambda _: {"folder": "inbox"}, lambda record, _: record.direction == "in"),
        (lambda _: {"folder": "sent"}, lambda record, _: record.direction == "out" and record.status == "sent"),
    ],
    "get_resthooks": [],
    "get_resthook_events": [(one("resthook"), same("resthook"))],
    "get_resthook_subscribers": [(one("id"), same("id")), (one("resthook"), same("resthook"))],
    "get_runs": [
        *BY_UUID,
        *BY_CHANGE,
        (lambda found: {"flow": found[2].flow}, owner("flow")),
        (lambda found: {"flow": found[2].flow.uuid}, owner("flow")),
        (lambda _: {"responded": True}, same("responded")),
        (lambda _: {"reverse": True}, lambda _record, _: True),
        (lambda _: {"paths": True}, lambda record, _: len(record.path) == 1),
    ],
}


def identity(record: Any) -> Any:
    names = ("uuid", "id", "key", "osm_id", "start_date", "resthook")
    return next(getattr(record, name) for name in names if hasattr(record, name))


@pytest.mark.parametrize("method", CASES)
class TestGetters:
    def test_all_pages_are_read_one_after_the_other(self, client: TembaClient, method: str) -> None:
        query = getattr(client, method)()

        pages = list(query.iterfetches())

        found = [identity(record) for page in pages for record in page]
        assert len(found) >= 5
        assert len(set(found)) == len(found)
        assert [len(page) for page in pages[:-1]] == [PAGE_SIZE] * (len(pages) - 1)
        assert [identity(record) for record in query.all()] == found
        assert identity(query.first()) == found[0]

    def test_reading_goes_on_from_a_cursor_kept(self, client: TembaClient, method: str) -> None:
        get = getattr(client, method)
        fetches = get().iterfetches()
        first = [identity(record) for record in next(fetches)]
        cursor = fetches.get_cursor()

        rest = [identity(record) for page in get().iterfetches(resume_cursor=cursor) for record in page]

        assert first + rest == [identity(record) for record in get().all()]

    def test_each_filter_finds_what_fits(self, client: TembaClient, method: str) -> None:
        get = getattr(client, method)
        everything = get().all()
        for choose, fits in CASES[method]:
            wanted = choose(everything)
            (value,) = wanted.values()

            found = [identity(record) for record in get(**wanted).all()]

            expected = [identity(record) for record in everything if fits(record, value)]
            assert found
            assert (wanted, sorted(found, key=str)) == (wanted, sorted(expected, key=str))

    def test_records_can_be_written_back_as_plain_values(self, client: TembaClient, method: str) -> None:
        record = getattr(client, method)().first()

        assert type(record).deserialize(record.serialize()).serialize() == record.serialize()


class TestOtherGetters:
    def test_reverse_gives_the_oldest_first(self, client: TembaClient) -> None:
        for get in (client.get_contacts, client.get_runs):
            found = [identity(record) for record in get().all()]

            assert [identity(record) for record in get(reverse=True).all()] == found[::-1]

    def test_runs_without_paths_have_empty_ones(self, client: TembaClient) -> None:
        assert {len(run.path) for run in client.get_runs(paths=False).all()} == {0}

    def test_members_are_found_by_group_object_uuid_or_name(self, client: TembaClient) -> None:
        group = client.get_groups(name="Group 3").first()
        member = client.create_contact(name="Member", groups=[group])

        for named in (group, group.uuid, group.name):
            assert [contact.uuid for contact in client.get_contacts(group=named).all()] == [member.uuid]
        client.delete_contact(member)

    def test_deleted_contacts_are_read_when_asked_for(self, client: TembaClient) -> None:
        gone = client.create_contact(name="Gone")
        client.delete_contact(gone)

        assert gone.uuid in [contact.uuid for contact in client.get_contacts(deleted=True).all()]
        assert client.get_contacts(uuid=gone.uuid).all() == []

    def test_nothing_found_is_none(self, client: TembaClient) -> None:
        assert client.get_messages(folder="archived").first() is None
        assert client.get_flows(type="voice").all() == []

    def test_the_workspace_is_read_under_its_older_name(self, client: TembaClient) -> None:
        org = client.get_org(retry_on_rate_exceed=True)

        assert (org.name, org.country, org.languages) == ("Riverside Health", "RW", ["eng", "kin"])
        assert (org.primary_language, org.timezone, org.anon) == ("eng", "Africa/Kigali", False)

    def test_definitions_of_flows_and_campaigns_are_exported(self, client: TembaClient) -> None:
        flow, campaign = client.get_flows().first(), client.get_campaigns().first()

        export = client.get_definitions(flows=[flow], campaigns=[campaign.uuid], dependencies=True)

        assert [one["uuid"] for one in export.flows] == [flow.uuid]
        assert [one["uuid"] for one in export.campaigns] == [campaign.uuid]
        assert [one["name"] for one in export.groups] == ["Mothers"]
        assert client.get_definitions(dependencies=False).flows == []
