"""An agent's day in a real browser: what is put away comes back, and several people work on one conversation."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import APIResponse, BrowserContext, Locator, Page, Route, expect
from sqlalchemy import update

from persistence.tables.changes import conversation
from persistence.tables.messages import message
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, arrives, choose_folder, findings, open_page, sign_in, undo

CONTACTS, TICKETS = "/api/v2/contacts.json", "/api/v2/tickets.json"
TIMELINE = re.compile(r"/contact_timeline\.json")


def snooze_by_keys(page: Page, first: Locator) -> None:
    """Until tomorrow, which is undone, and then until another time."""
    choose_folder(page, "To answer")
    first.click()
    expect(page.locator(".message.in")).to_have_text(re.compile("first koala"))
    expect(page.get_by_role("button", name="Snooze", exact=True)).to_be_visible()
    page.get_by_role("main").focus()
    page.keyboard.press("s")
    expect(page.get_by_role("dialog")).to_contain_text("Tomorrow morning")
    page.keyboard.press("Enter")
    expect(first).to_have_count(0)
    expect(page.locator(".thread-bar.snoozed")).to_have_text(re.compile("Snoozed until .* by Joel Agent"))
    expect(page.locator(".notice").last).to_contain_text("Snoozed until")
    page.keyboard.press("u")
    expect(first).to_be_visible()
    expect(page.locator(".thread-bar.snoozed")).to_have_count(0)
    page.keyboard.press("s")
    page.get_by_role("radio", name="At another time").check()
    expect(page.get_by_label("Time", exact=True)).not_to_have_value("")
    page.get_by_role("button", name="Snooze", exact=True).last.click()
    # The dialog gives the focus back when it goes, and takes it from an open menu.
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(first).to_have_count(0)
    choose_folder(page, "Snoozed")
    expect(first.locator(".snoozed-until")).to_have_attribute("title", re.compile("by Joel Agent"))
    assert findings(page, "snoozed conversations") == []


def test_an_agent_undoes_moves_back_and_snoozes_a_whole_conversation_by_keys_and_it_comes_back_by_itself(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "agent")
    for number, text in (("+250788000521", "first koala"), ("+250788000522", "second koala")):
        arrives(page, clinic, number, text)
    choose_folder(page, "To answer")
    first, second = (page.locator(".conversation", has_text=f"{name} koala") for name in ("first", "second"))
    second.click()
    expect(page.locator(".message.in")).to_have_text(re.compile("second koala"))
    expect(page.get_by_role("button", name="Archive", exact=True)).to_be_visible()
    page.get_by_role("main").focus()
    page.keyboard.press("e")
    expect(second).to_have_count(0)
    page.keyboard.press("j")
    expect(first).to_have_attribute("aria-current", "true")

    expect(page.locator(".notice")).to_contain_text("The messages are archived.")
    page.keyboard.press("u")
    expect(page.locator(".notice").last).to_have_text("Undone.")
    expect(second).to_be_visible()
    second.click()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(second).to_have_count(0)
    choose_folder(page, "Archived")
    second.click()
    page.get_by_role("button", name="Move to inbox").click()
    expect(second).to_have_count(0)
    undo(page, "The messages are in the inbox again.")
    expect(second).to_be_visible()

    snooze_by_keys(page, first)
    # The next conversation is opened: one that somebody looks at is read when it comes back.
    choose_folder(page, "To answer")
    page.locator(".conversation").first.click()
    with clinic.service.database.writing() as tx:
        tx.execute(update(conversation).where(conversation.c.folder == "snoozed").values(snoozed_until=tx.now))
    expect(first).to_have_class(re.compile("unread"))
    expect(first.locator(".snoozed-until")).to_have_attribute("title", re.compile("^Back from snooze"))
    arrives(page, clinic, "+250788000521", "third marmot")
    third = page.locator(".conversation", has_text="third marmot")
    expect(third.locator(".snoozed-until")).to_have_count(0)


def test_an_answer_waits_for_its_time_is_changed_taken_back_and_sent(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "agent")
    arrives(page, clinic, "+250788000525", "third koala").click()
    waiting = page.locator(".message.out", has_text="Wombats, too")
    made = list[tuple[Route, APIResponse]]()
    page.route("**/api/v2/messages.json", lambda route: made.append((route, route.fetch())))
    page.get_by_label("Write an answer").fill("Wombats, too")
    page.get_by_role("button", name="Send later").click()
    page.get_by_role("dialog").get_by_role("button", name="Send later").click()
    wait_until(lambda: page.title() and made, "the service to have the answer")
    clinic.phone.receive_sms("+250788000525", "and wombats?")
    clinic.sync()
    expect(page.locator(".message.in", has_text="and wombats?")).to_be_visible()
    expect(waiting).to_contain_text("sending")
    for route, response in made:
        route.fulfill(response=response)
    page.unroute_all()
    expect(waiting).to_contain_text("Will be sent")
    expect(page.get_by_text("The contact has written since")).to_be_visible()
    assert not clinic.sends("Wombats, too")
    assert findings(page, "an answer that waits") == []
    waiting.get_by_role("button", name="Another time").click()
    page.get_by_role("radio", name="Next week").check()
    page.get_by_role("dialog").get_by_role("button", name="Send later").click()
    expect(page.locator(".notice").last).to_have_text(re.compile("The answer will be sent"))
    expect(waiting).to_have_count(1)
    waiting.get_by_role("button", name="Do not send").click()
    expect(waiting).to_have_count(0)
    undo(page, "The answer is not sent.")
    expect(page.locator(".notice").last).to_have_text("Undone.")
    expect(waiting).to_contain_text("Will be sent")
    with clinic.service.database.writing() as tx:
        tx.execute(update(message).where(message.c.due_reason == "chosen").values(due_on=tx.now))
    wait_until(lambda: clinic.sends("Wombats, too"), "the phone to be given the answer at its time")


def go_to(page: Page, beside: Locator, contact: str, name: str) -> None:
    page.evaluate("(contact) => { location.hash = `#/inbox/${contact}` }", contact)
    expect(beside.get_by_role("heading", name=name)).to_be_visible()
    expect(page.get_by_role("status").and_(page.locator(".waiting"))).to_have_count(0)


def renew_older_messages(page: Page, clinic: Clinic) -> None:
    """What the stream left out shows in each page that is loaded."""
    page.route(TIMELINE, lambda route: route.continue_(url=f"{route.request.url}&page_size=3"))
    page.reload()
    page.get_by_role("button", name="Older messages").click()
    expect(page.locator(".message.out")).to_have_text(re.compile("Come at eight"))
    with clinic.service.database.writing() as tx:
        tx.execute(update(message).where(message.c.text == "Come at eight").values(text="Come at nine"))
    page.evaluate("new BroadcastChannel('relayboard.changes').postMessage({kind: 'reset'})")
    expect(page.locator(".message.out")).to_have_text(re.compile("Come at nine"))
    page.unroute(TIMELINE)


def ask_only_for_what_is_theirs(page: Page, clinic: Clinic, beside: Locator, contact: str, asked: list[str]) -> None:
    """What does not depend on the contact is asked for once, and when somebody else may have changed it."""
    kept = {"topics.json", "fields.json", "users.json", "saved_replies.json"}
    wait_until(lambda: page.title() and kept.issubset(asked), "what the page keeps to be asked for")
    asked.clear()
    other = clinic.service.post(CONTACTS, {"name": "Another", "urns": ["tel:+250788000960"]})["uuid"]
    go_to(page, beside, other, "Another")
    go_to(page, beside, contact, "Named There")
    expect(beside.get_by_label("Assignee")).to_have_value(clinic.email("agent"))
    assert kept.isdisjoint(asked)
    assert asked.count("contact_routes.json") == 2

    topic = clinic.service.post("/api/v2/topics.json", {"name": "Numbats"})["uuid"]
    reply = {"name": "Numbats", "text": "They eat termites."}
    clinic.service.post("/api/v2/saved_replies.json", reply)
    field = clinic.service.post("/api/v2/fields.json", {"name": "Termites", "type": "number"})["key"]
    clinic.service.post(f"{CONTACTS}?uuid={contact}", {"fields": {field: "20000"}})
    expect(beside.locator("dt", has_text="Termites")).to_be_visible()

    def comes_to_topics() -> bool:
        beside.get_by_label("Topic").blur()
        beside.get_by_label("Topic").focus()
        return beside.locator(f"option[value='{topic}']").count() == 1

    wait_until(comes_to_topics, "the topic of a colleague")
    page.get_by_role("button", name="Saved replies").click()
    expect(page.get_by_role("menuitem", name="Numbats")).to_be_visible()
    page.keyboard.press("Escape")


def test_beside_a_conversation_a_contact_is_named_a_ticket_taken_and_a_note_written_from_either_list(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    contact = clinic.service.post(CONTACTS, {"urns": ["tel:+250788000961"]})["uuid"]
    clinic.service.post("/api/v2/messages.json", {"contact": contact, "text": "Come at eight"})
    page = sign_in(somebody, clinic, "agent", place=f"inbox/{contact}")
    beside = page.get_by_role("complementary", name="About the contact")
    beside.get_by_role("button", name="Open a ticket").click()
    page.get_by_role("dialog").get_by_label("Assignee").select_option("Unassigned")
    page.get_by_role("dialog").get_by_role("button", name="Open a ticket").click()
    beside.get_by_role("button", name="Take").click()
    expect(beside.get_by_label("Assignee")).to_have_value(clinic.email("agent"))
    beside.get_by_role("button", name="Edit").click()
    page.get_by_role("dialog").get_by_label("Name", exact=True).fill("Named There")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".thread-who")).to_contain_text("Named There")
    beside.get_by_label("Write a note").fill("Speaks Swahili")
    beside.get_by_role("button", name="Save").click()
    expect(beside.locator(".panel-notes")).to_contain_text("Speaks Swahili")
    assert findings(page, "what stands beside a conversation") == []
    asked = list[str]()
    page.on("request", lambda request: asked.append(urlsplit(request.url).path.rpartition("/")[2]))
    renew_older_messages(page, clinic)
    ask_only_for_what_is_theirs(page, clinic, beside, contact, asked)
    beside.get_by_role("link", name="Whole page").click()
    expect(page.get_by_role("heading", name="Named There", level=1)).to_be_visible()

    (ticket,) = clinic.service.get(TICKETS, contact=contact)["results"]
    page.set_viewport_size(NARROW)
    open_page(page, clinic, "tickets", f"{ticket['uuid']}?view=mine")
    expect(beside).to_have_count(0)
    page.get_by_role("button", name="Open ticket: Joel Agent").press("Enter")
    expect(beside.get_by_role("button", name="Back")).to_be_focused()
    expect(beside.locator(".panel-notes")).to_contain_text("Speaks Swahili")
    expect(beside.get_by_role("heading", name="Named There")).to_be_visible()
    expect(beside.get_by_label("Assignee")).to_have_value(clinic.email("agent"))
    assert findings(page, "the same as a drawer on a phone") == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="About the contact")).to_be_focused()
    page.set_viewport_size(WIDE)
    beside.get_by_role("button", name="Close", exact=True).click()
    expect(beside.get_by_role("button", name="Open a ticket")).to_be_visible()
    beside.get_by_role("button", name="Reopen").click()
    expect(beside.get_by_role("button", name="Open a ticket")).to_have_count(0)


def test_two_people_in_one_conversation_see_each_other_and_who_is_named_in_a_note_is_told(
    somebody: BrowserContext, somebody_else: BrowserContext, clinic: Clinic
) -> None:
    """Who takes a message off the unread takes it off everybody's, and a note appears by itself."""
    contact = clinic.service.post(CONTACTS, {"name": "Seen By Two", "urns": ["tel:+250788000962"]})["uuid"]
    page = sign_in(somebody, clinic, "editor", place=f"inbox/{contact}")
    other = sign_in(somebody_else, clinic, "agent", place=f"inbox/{contact}")
    expect(other.locator(".presence")).to_have_text("Also here: Joel Editor")
    expect(page.locator(".presence")).to_have_text("Also here: Joel Agent")
    other.get_by_label("Write an answer").press_sequentially("I take it")
    expect(page.locator(".presence")).to_have_text("Typing: Joel Agent")
    open_page(other, clinic, "contacts")
    expect(page.locator(".presence")).to_have_text("")

    note = page.get_by_label("Write a note")
    note.press_sequentially("Ask @joel ag")
    expect(page.get_by_role("option")).to_have_text(["Joel Agent"])
    assert findings(page, "a colleague to name", walks=False) == []
    note.press("Enter")
    expect(note).to_have_value("Ask @Joel Agent ")
    note.press("Enter")
    expect(page.locator(".panel-notes")).to_contain_text("Ask @Joel Agent")
    told = other.locator(".navigation .count", has_text="@1")
    expect(told).to_have_count(1)
    other.reload()
    expect(told).to_have_count(1)
    open_page(other, clinic, "inbox")
    other.get_by_role("region", name="You are mentioned").get_by_role("link", name="Seen By Two").click()
    expect(other.locator(".panel-notes")).to_contain_text("Ask @Joel Agent")
    expect(told).to_have_count(0)

    for each in (page, other):
        open_page(each, clinic, "contacts")
    unread = page.locator(".navigation li", has_text="Inbox").locator(".count > [aria-hidden]")
    before = len(clinic.service.get("/api/v2/conversations.json", unread=True)["results"])
    clinic.phone.receive_sms("+250788000962", "Anybody there?")
    clinic.sync()
    expect(unread).to_have_text(str(before + 1))
    open_page(other, clinic, "inbox", contact)
    expect(unread).to_have_text(str(before) if before else [])

    open_page(page, clinic, "inbox", contact)
    expect(page.locator(".message.in")).to_contain_text("Anybody there?")
    other.get_by_label("Write a note").fill("Is called back")
    other.get_by_label("Write a note").press("Enter")
    expect(page.locator(".panel-notes")).to_contain_text("Is called back")
    other.get_by_role("button", name="Open a ticket").click()
    other.get_by_role("dialog").get_by_role("button", name="Open a ticket").click()
    other.locator(".ticket-card").get_by_role("button", name="Note").click()
    other.get_by_label("A note that only your team sees").press_sequentially("For @joel ed")
    other.get_by_role("listbox", name="Colleagues").get_by_role("option", name="Joel Editor").click()
    expect(other.get_by_label("A note that only your team sees")).to_have_value("For @Joel Editor ")
    open_page(page, clinic, "contacts")
    other.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".navigation .count", has_text="@1")).to_have_count(1)
