"""What people and machines write may be long and without a space: it stays within its place, on every screen."""

from typing import Any

import pytest
import requests

from persistence.resthooks import ensure_resthook
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, open_page, sign_in
from tests.thinned import EVERY_CASE

WORD = "W" * 64
TEXT = "https://example.org/" + "a" * 620
RECORDS: dict[str, dict[str, Any]] = {
    "contacts": {"name": WORD, "urns": ["tel:+250788999001"], "fields": {"district": TEXT}},
    "fields": {"name": "F" * 36, "type": "text"},
    "globals": {"name": "G" * 36, "value": TEXT * 10},
    "groups": {"name": WORD},
    "labels": {"name": WORD},
    "optins": {"name": WORD},
    "saved_replies": {"name": WORD, "text": TEXT},
    "topics": {"name": WORD},
}
PAGES = (
    "inbox",
    "contacts",
    "tickets",
    "broadcasts",
    "broadcasts/new",
    "flows",
    "channels",
    "deliveries",
    *(f"settings/{name}" for name in ("groups", "fields", "globals", "tokens", "users", "audit")),
    # What is listed in the same way as those, by the same module.
    *(f"settings/{name}" for name in ("labels", "topics", "optins", "saved_replies", "resthooks") if EVERY_CASE),
)
SIDEWAYS = """() => {
    const meant = ".table-box, .views, .sections, .flow-box, .numbers, .navigation ul, pre.sent";
    const scrolls = (each) => /auto|scroll/.test(getComputedStyle(each).overflowX) && !each.matches(meant);
    const wide = [document.documentElement, ...document.querySelectorAll("#app *")]
        .filter((each) => (each === document.documentElement || scrolls(each)) && each.scrollWidth > each.clientWidth);
    const squeezed = [...document.querySelectorAll("button, time, th")]
        .filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0);
    const told = (text) => (each) => text + each.outerHTML.slice(0, 100);
    return [...wide.map(told("wider than its place: ")), ...squeezed.slice(0, 3).map(told("squeezed: "))];
}"""


@pytest.fixture(scope="module")
def contact(clinic: Clinic) -> str:
    """The UUID of a contact with a long name, in a workspace where everything has one."""
    with clinic.service.database.writing() as tx:
        ensure_resthook(tx, clinic.service.workspace.id, "r" * 50)
    with requests.Session() as session:
        session.headers["Authorization"] = f"Token {clinic.service.token}"

        def post(resource: str, record: dict[str, Any]) -> dict[str, Any]:
            answer = session.post(f"{clinic.service.url}/api/v2/{resource}.json", json=record, timeout=60)
            assert answer.status_code == 201, answer.text
            made: dict[str, Any] = answer.json()
            return made

        uuid = post("contacts", RECORDS["contacts"])["uuid"]
        for resource, record in RECORDS.items():
            if resource != "contacts":
                post(resource, record)
        post("resthook_subscribers", {"resthook": "r" * 50, "target_url": TEXT})
        post("messages", {"contact": uuid, "text": TEXT})
        post("broadcasts", {"contacts": [uuid], "text": TEXT})
        post("contact_notes", {"contact": uuid, "text": TEXT})
    return uuid


def test_long_words_stay_in_their_place(somebody, clinic, contact):
    page, found = sign_in(somebody, clinic, "administrator"), []
    sizes = (WIDE, NARROW)
    for name in (*PAGES, f"inbox/{contact}", f"contacts/{contact}"):
        page.set_viewport_size(sizes[0])
        open_page(page, clinic, name)
        for size in sizes:
            page.set_viewport_size(size)
            found += [f"{name} {size['width']}: {each}" for each in page.evaluate(SIDEWAYS)]
        sizes = sizes[::-1]  # every second page is opened on a phone

    assert found == [], "\n".join(found)
