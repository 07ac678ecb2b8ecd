"""People work on conversations in a real browser: with all that the inbox offers."""

import re
import time
import wave
from collections.abc import Iterator
from io import BytesIO
from struct import pack
from zlib import compress, crc32

import pytest
import requests
from playwright.sync_api import APIResponse, BrowserContext, FilePayload, Page, Request, Route, expect
from sqlalchemy import select, update

from flows.urns import Urn
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.urns import ensure_owners
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import (
    NARROW,
    WIDE,
    HeldBack,
    arrives,
    choose_folder,
    findings,
    open_page,
    pick,
    sign_in,
    undo,
)
from tests.providers import Channel, Provider, add_whatsapp, root_of, whatsapp_change
from tests.worker.receivers import receiving

CONTACTS, MESSAGES = "/api/v2/contacts.json", "/api/v2/messages.json"
SENDING = re.compile(r"/api/v2/messages\.json$")
TO_END = """() => new Promise((done) => {
    const list = document.querySelector(".side-list");
    list.scrollTop = list.scrollHeight;
    const told = () => done(Number(list.querySelector(".drawn-rows li:last-child").ariaSetSize));
    requestAnimationFrame(() => setTimeout(told));
})"""
"""Tells of how many rows the last one is, or -1 before the end is loaded."""
NOTE_STATES = """() => {
    window.states = [];
    const tab = new BroadcastChannel("relayboard.changes");
    tab.onmessage = ({data}) => window.states.push(data.record?.status);
    tab.postMessage("opened");
}"""
TEMPLATES, TICKETS, ACCOUNT = "/api/v2/templates.json", "/api/v2/tickets.json", "/api/v2/account.json"


def picture() -> bytes:
    """A red PNG of 2 by 2 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + name + data + pack(">I", crc32(name + data))

    header, rows = pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0), compress((b"\0" + b"\xff\0\0" * 2) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def recording() -> bytes:
    """A tenth of a second of silence."""
    written = BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 800)
    return written.getvalue()


def test_a_conversation_is_read_labelled_found_archived_and_its_message_deleted(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor")
    expect(page.locator(".conversation").first).to_be_visible()
    clinic.phone.receive_sms("+250788000519", "No zebra, a question")
    row = arrives(page, clinic, "+250788000501", "Where is the zebra clinic?")
    expect(page.locator(".conversation").first).to_contain_text("zebra")
    choose_folder(page, "Unread")
    expect(row.locator(".count")).to_have_text("Unread: 1")
    row.click()
    expect(row.locator(".count")).to_have_count(0)
    choose_folder(page, "All")
    choose_folder(page, "Unread")
    expect(row).to_have_count(0)

    choose_folder(page, "All")
    row.click()
    page.get_by_role("button", name="Label", exact=True).click()
    page.get_by_role("dialog").get_by_label("Question").check()
    page.get_by_role("dialog").get_by_label("New label").fill("Directions")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".message.in .tag")).to_have_text(["Directions", "Question"])
    choose_folder(page, "Directions")
    expect(page.locator(".conversation")).to_have_count(1)
    expect(row).to_be_visible()
    page.get_by_label("Search conversations").fill("zebra")
    expect(page.locator(".found")).to_contain_text(["Where is the zebra"])
    page.get_by_label("Search conversations").fill("")
    expect(page.locator(".found")).to_have_count(0)
    choose_folder(page, "All")
    page.get_by_label("Search conversations").fill("+250788000501")
    expect(page.locator(".conversation")).to_have_count(1)
    expect(row).to_be_visible()
    page.get_by_label("Search conversations").fill("+250788999999")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.get_by_label("Search conversations").fill("")
    row.click()
    page.get_by_label("Search conversations").fill("+250788000501")
    expect(page.locator(".conversation")).to_have_count(1)
    expect(page.locator(".message.in .tag")).to_have_text(["Directions", "Question"])
    page.get_by_label("Search conversations").fill("")

    page.get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator(".notice").last).to_contain_text("The messages are archived.")
    choose_folder(page, "To answer")
    expect(row).to_have_count(0)
    choose_folder(page, "Archived")
    row.click()
    expect(page.locator(".message.in.archived")).to_have_count(1)
    pick(page, "What to do with this message", "Restore")
    expect(page.locator(".message.in.archived")).to_have_count(0)
    pick(page, "What to do with this message", "Delete")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".message.in")).to_have_count(0)
    (contact,) = clinic.service.get(CONTACTS, urn="tel:+250788000501")["results"]
    assert "zebra" not in str(clinic.service.get(MESSAGES, contact=contact["uuid"])["results"])


def pages_until_the_end(page: Page, total: int) -> int:
    """How many are asked for after the first, until a list has so many rows and is scrolled through once more."""
    asked = list[str]()

    def note(request: Request) -> None:
        asked.extend([request.url] if "cursor=" in request.url else [])

    page.on("request", note)
    wait_until(lambda: page.evaluate(TO_END) == total, "the list to come to its end")
    page.evaluate("document.querySelector('.side-list').scrollTop = 0")
    expect(page.locator(".drawn-rows li").first).to_have_attribute("aria-setsize", str(total))
    assert page.evaluate(TO_END) == total
    page.remove_listener("request", note)
    return len(asked)


def test_what_is_done_with_several_that_are_chosen_by_mouse_or_keys_is_undone_and_done_with_all_that_match(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor")
    for at in range(3):
        clinic.phone.receive_sms(f"+25078800053{at}", f"Zebu {at}")
    clinic.sync()
    rows, bulk = page.locator(".conversation", has_text="Zebu "), page.get_by_role("toolbar")
    expect(rows).to_have_count(3)
    (person,) = clinic.service.get(CONTACTS, urn="tel:+250788000530")["results"]
    clinic.service.post(TICKETS, {"contact": person["uuid"]})
    boxes = page.locator(".drawn-rows li", has_text="Zebu ").locator(".row-box")
    boxes.first.click()
    boxes.last.click(modifiers=["Shift"])
    expect(bulk).to_contain_text("Chosen: 3")
    assert findings(page, "several conversations that are chosen") == []
    bulk.get_by_role("button", name="Archive").click()
    expect(rows).to_have_count(0)
    page.route("**/api/v2/contact_actions.json", lambda route: route.abort())
    undo(page, "The messages are archived.")
    expect(page.locator(".notice.bad")).to_contain_text("Not undone. The service cannot be reached.")
    page.unroute("**/api/v2/contact_actions.json")
    page.locator(".notice.bad").get_by_role("button", name="Try again").click()
    expect(rows).to_have_count(3)

    rows.first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(bulk).to_contain_text("Chosen: 3")
    pick(page, "Assignee", "Joel Agent")
    expect(page.locator(".notice").last).to_contain_text("The tickets are assigned. Left as they were: 2")
    expect(rows.filter(has_text="Joel Agent")).to_have_count(1)
    rows.first.focus()
    page.keyboard.press("Space")
    bulk.get_by_role("button", name="Label").click()
    page.get_by_role("dialog").get_by_label("Label").fill("Cattle")
    page.get_by_role("button", name="Save", exact=True).click()
    labelled = rows.filter(has=page.locator(".tag", has_text="Cattle"))
    expect(labelled).to_have_count(1)
    undo(page, "The labels are saved.")
    expect(labelled).to_have_count(0)

    choose_folder(page, "All")
    page.locator(".row-box").first.click()
    bulk.get_by_role("checkbox").check()
    bulk.get_by_role("button", name="Choose all that match").click()
    pick(page, "More actions", "Mark as read")
    page.get_by_role("dialog").get_by_role("button", name="Mark as read").click()
    expect(page.locator(".notice").last).to_contain_text("The conversations are read.")
    expect(page.locator(".conversation.unread")).to_have_count(0)
    assert clinic.service.get("/api/v2/conversations.json", unread="true")["results"] == []
    expect(rows).to_have_count(3)
    with clinic.service.database.writing() as tx:
        (contact_id,) = tx.execute(select(contact.c.id).where(contact.c.uuid == person["uuid"])).scalars()
        delete_contacts(tx, clinic.service.workspace.id, [contact_id])
    expect(rows).to_have_count(2)
    total = clinic.service.get("/api/v2/conversations.json", count="true", page_size=1)["count"]["value"]
    assert pages_until_the_end(page, total) == (total - 1) // 50


def test_what_is_chosen_or_offered_stays_though_more_comes_later(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "editor")
    group = clinic.service.get("/api/v2/groups.json")["results"][0]["uuid"]
    for name, label, chosen in (
        ("inbox", "Search conversations", "folder=archived"),
        ("contacts", "Name, number or query", f"group={group}"),
    ):
        open_page(page, clinic, name)
        typed = page.get_by_label(label)
        # The search waits for the next letter when something is chosen; on a busy page both are due at once.
        typed.evaluate(
            """(field, there) => {
                field.value = "amina";
                field.dispatchEvent(new Event("input", { bubbles: true }));
                setTimeout(() => { for (const began = Date.now(); Date.now() < began + 400;); }, 120);
                setTimeout(() => (location.hash = there), 150);
            }""",
            f"#/{name}?{chosen}",
        )

        expect(page).to_have_url(re.compile(f"#/{name}.*search=amina"))
        expect(page).to_have_url(re.compile(chosen))
        expect(typed).to_have_value("amina")
    open_page(page, clinic, "inbox?search=amina")
    choose_folder(page, "Failed")
    expect(page).to_have_url(re.compile("folder=failed&search=amina"))
    expect(page.get_by_label("Search conversations")).to_have_value("amina")
    choices_stay_though_more_comes_later(page, clinic)


def choices_stay_though_more_comes_later(page: Page, clinic: Clinic) -> None:
    open_page(page, clinic, "inbox")
    users = HeldBack(page, "**/api/v2/users.json*")
    arrives(page, clinic, "+250788000507", "Nobody knows me").click()
    pick(page, "More actions", "Open a ticket")
    assignee = page.get_by_role("dialog").get_by_label("Assignee")
    assignee.select_option("Unassigned")
    assignee.evaluate(SEND_ONCE_DRAWN)
    users.let_go()

    expect(page.locator(".event", has_text="ticket opened")).to_be_visible()
    (contact,) = clinic.service.get(CONTACTS, urn="tel:+250788000507")["results"]
    (ticket,) = clinic.service.get(TICKETS, contact=contact["uuid"])["results"]
    assert ticket["assignee"] is None

    held = HeldBack(page, "**/api/v2/contacts.json?uuid=*")
    arrives(page, clinic, "+250788000505", "Who is it?").click()
    expect(page.locator(".person-panel")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    start = page.get_by_role("menuitem", name="Start a flow")
    place = start.bounding_box()
    held.let_go()

    expect(page.get_by_role("menuitem", name="Block")).to_be_visible()
    assert start.bounding_box() == place
    page.keyboard.press("Escape")

    pick(page, "More actions", "Start a flow")
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    expect(page.locator(".in-flow")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    interrupt, block = (page.get_by_role("menuitem", name=name) for name in ("Interrupt the flow", "Block"))
    place = block.bounding_box()
    interrupt.focus()
    (contact,) = clinic.service.get(CONTACTS, urn="tel:+250788000505")["results"]
    action = {"contacts": [contact["uuid"]], "action": "interrupt"}
    headers = {"Authorization": f"Token {clinic.service.token}"}
    asked = requests.post(f"{clinic.service.url}/api/v2/contact_actions.json", json=action, headers=headers, timeout=60)
    assert asked.status_code == 204
    expect(interrupt).to_be_disabled()
    assert block.bounding_box() == place
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(block).to_be_focused()


def test_an_answer_carries_a_saved_text_choices_a_picture_and_a_recording(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor", place="inbox?folder=all")
    arrives(page, clinic, "+250788000502", "When are you open?").click()
    answer = page.get_by_label("Write an answer")
    answer.fill("We are open from 8 to 5 😀")
    expect(page.locator(".reply-count")).to_have_text("26 characters · 1 SMS")
    answer.fill("é" * 161)
    expect(page.locator(".reply-count")).to_have_text("161 characters · 2 SMS")
    answer.fill("We are open from 8 to 5.")
    pick(page, "Saved replies", "Save what is written")
    expect(page.locator(".notice")).to_contain_text("The reply is saved for everybody in the workspace.")
    answer.fill("")
    pick(page, "Saved replies", "We are open from 8 to 5.")
    expect(answer).to_have_value("We are open from 8 to 5.")
    page.get_by_role("button", name="Quick replies").click()
    page.get_by_label("Quick reply 1").fill("Thanks")
    page.get_by_role("button", name="Add a quick reply").click()
    page.get_by_label("Quick reply 2").fill("Where is it?")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Attach files").click()
    files: list[FilePayload] = [
        {"name": "map.png", "mimeType": "image/png", "buffer": picture()},
        {"name": "way.wav", "mimeType": "audio/wav", "buffer": recording()},
        {"name": "wrong.png", "mimeType": "image/png", "buffer": picture()},
    ]
    chosen.value.set_files(files)
    expect(page.locator(".files li")).to_have_count(3)
    page.get_by_role("button", name="Remove wrong.png").click()
    assert findings(page, "an answer with everything") == []
    page.get_by_role("button", name="Send", exact=True).click()

    sent = page.locator(".message.out:not(.pending)")
    expect(sent.locator(".text")).to_have_text("We are open from 8 to 5.")
    expect(sent.locator(".choice")).to_have_text(["Thanks", "Where is it?"])
    expect(sent.get_by_role("img", name="Picture")).to_have_js_property("naturalWidth", 2)
    played = sent.get_by_label("Recording").evaluate("async (sound) => (await sound.play(), sound.duration)")
    assert played > 0
    (contact,) = clinic.service.get(CONTACTS, urn="tel:+250788000502")["results"]
    colleague = clinic.service.get(ACCOUNT)["user"]["name"]
    row = page.locator(f".conversation[href*='{contact['uuid']}']")
    expect(row.locator(".you")).to_have_text("You:")
    for text in ("And on Sunday from 9.", "By the market."):
        clinic.service.post(MESSAGES, {"contact": contact["uuid"], "text": text})
    expect(row.locator(".you")).to_have_text(f"{colleague}:")
    expect(page.locator(".message.out .author")).to_have_text(["You", colleague])
    expect(page.locator(".message.out time")).to_have_count(2)
    (_, _, message, _) = clinic.service.get(MESSAGES, contact=contact["uuid"])["results"]
    assert [each["text"] for each in message["quick_replies"]] == ["Thanks", "Where is it?"]
    assert len(message["attachments"]) == 2


def test_a_flow_is_started_and_interrupted_from_the_inbox_and_calls_stand_between_the_messages(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    starts = "/api/v2/flow_starts.json"
    before = len(clinic.service.get(starts)["results"])  # of the clinic's story, and of tests that ran before
    page = sign_in(somebody, clinic, "editor")
    arrives(page, clinic, "+250788000503", "Please call me").click()
    clinic.phone.log_call("mo_miss", "+250788000503")
    clinic.sync()
    expect(page.locator(".event", has_text="Missed call from the contact")).to_be_visible()
    pick(page, "More actions", "Start a flow")
    page.get_by_role("dialog").get_by_label("Flow").select_option("Visit survey")
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    expect(page.locator(".event", has_text="Visit survey: Flow started")).to_be_visible()
    expect(page.locator(".in-flow")).to_have_text("Visit survey")
    expect(page.locator(".message.out .author")).to_have_text("Visit survey")
    pick(page, "More actions", "Interrupt the flow")
    expect(page.locator(".event", has_text="Visit survey: Flow interrupted")).to_be_visible()
    expect(page.locator(".in-flow")).to_have_count(0)
    (flow,) = clinic.service.get("/api/v2/flows.json")["results"]
    open_page(page, clinic, "flows", flow["uuid"])
    page.get_by_role("button", name="Start").click()
    page.get_by_role("dialog").get_by_label("Health workers").check()
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    expect(page.locator(".notice").last).to_have_text("The flow starts now.")
    started = clinic.service.get(starts)["results"]
    assert len(started) == before + 2
    assert [[group["name"] for group in each["groups"]] for each in started[:2]] == [["Health workers"], []]

    page.go_back()
    pick(page, "More actions", "Block")
    page.get_by_role("dialog").get_by_role("button", name="Block").click()
    expect(page.get_by_text("This contact is not active, so nothing can be sent.")).to_be_visible()
    pick(page, "More actions", "Unblock")
    expect(page.get_by_label("Write an answer")).to_be_visible()


def test_a_ticket_is_taken_noted_answered_closed_and_reopened(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "agent")
    arrives(page, clinic, "+250788000504", "My papers are lost").click()
    pick(page, "More actions", "Open a ticket")
    page.get_by_label("A note that only your team sees").fill("Needs a new card")
    expect(page.get_by_label("Assignee")).to_have_value(clinic.email("agent"))
    assert findings(page, "ticket") == []
    page.get_by_label("Assignee").select_option("Unassigned")
    page.get_by_role("dialog").get_by_role("button", name="Open a ticket").click()
    expect(page.locator(".event", has_text="ticket opened")).to_be_visible()
    expect(page.locator(".event", has_text="Needs a new card")).to_be_visible()
    pick(page, "More actions", "Open a ticket")
    page.get_by_role("dialog").get_by_role("button", name="Open a ticket").click()
    expect(page.get_by_role("alert")).to_have_text("This contact has an open ticket already.")
    (contact,) = clinic.service.get(CONTACTS, urn="tel:+250788000504")["results"]
    (ticket,) = clinic.service.get(TICKETS, contact=contact["uuid"])["results"]
    open_page(page, clinic, "tickets", f"{ticket['uuid']}?view=nobody")
    row = page.locator(f".conversation[href*='{ticket['uuid']}']")
    expect(row).to_contain_text("+250788000504")

    page.get_by_role("button", name="Take").click()
    expect(page.locator(".event", has_text="ticket assigned")).to_be_visible()
    expect(row).to_have_count(0)
    page.get_by_role("link", name="Mine").click()
    row.click()
    page.get_by_role("button", name="Note", exact=True).click()
    page.get_by_label("A note that only your team sees").fill("Send the form")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".event.note").last).to_contain_text("Send the form")
    page.get_by_label("Write an answer").fill("Please come on Monday.")
    page.get_by_role("button", name="Send", exact=True).click()
    wait_until(lambda: clinic.sends("Please come on Monday."), "the answer to reach the phone")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".ticket-card")).to_contain_text("Closed after")
    page.get_by_role("link", name="Closed", exact=True).click()
    row.click()
    page.get_by_role("button", name="Reopen").click()
    expect(page.locator(".ticket-card")).to_contain_text("Open ticket")
    expect(page.locator(".event", has_text="ticket reopened")).to_be_visible()
    (again,) = clinic.service.get(TICKETS, contact=contact["uuid"])["results"]
    assert (again["status"], again["assignee"]["email"]) == ("open", clinic.email("agent"))

    blocking = requests.post(
        f"{clinic.service.url}/api/v2/contact_actions.json",
        json={"contacts": [contact["uuid"]], "action": "block"},
        headers={"Authorization": f"Token {clinic.service.token}"},
        timeout=60,
    )
    assert blocking.status_code == 204
    open_page(page, clinic, "tickets", "?view=mine")
    page.reload()
    expect(row).to_contain_text("+250788000504")


SEND_ONCE_DRAWN = (
    "(select) => new MutationObserver(() => select.form.requestSubmit()).observe(select, { childList: true })"
)


def test_what_was_perhaps_sent_is_sent_again_and_stopped_answers_go_on(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    number = "+250788000577"
    person = clinic.service.post(CONTACTS, {"urns": [f"tel:{number}"]})["uuid"]
    sent = clinic.service.post(MESSAGES, {"contact": person, "text": "Come at nine."})["uuid"]
    mine = message.c.uuid == sent
    with clinic.service.database.writing() as tx:
        tx.execute(update(message).where(mine).values(status="wired", failed_reason="uncertain"))
        tx.execute(update(contact).where(contact.c.uuid == person).values(answers_stopped_on=tx.now))
    page = sign_in(somebody, clinic, "editor", place=f"inbox/{person}")
    expect(page.get_by_text("Automatic answers stopped").first).to_be_visible()
    page.get_by_role("button", name="Let automatic answers go on").click()
    expect(page.get_by_text("Automatic answers stopped")).to_have_count(0)

    page.set_viewport_size(NARROW)
    expect(page.locator(".state")).to_have_text("wired: nobody knows whether it was sent")
    page.get_by_role("button", name="Send again").press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("It may have arrived already")
    assert findings(page, "before it is sent again") == []
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    expect(page.locator(".message.out")).to_have_count(2)
    expect(page.locator(".state").first).to_have_text("wired: it was sent again")
    expect(page.get_by_role("button", name="Send again")).to_have_count(0)


@pytest.fixture
def whatsapp(clinic: Clinic) -> Iterator[Channel]:
    """A number with a template, as a worker has read it, and Zubeda, who has never written to it."""
    body = {"type": "BODY", "text": "Hi {{1}}, come at {{2}}"}
    reminder = {"id": "1", "name": "reminder", "language": "en_US", "status": "APPROVED", "components": [body]}
    played = Provider(templates=[reminder])
    with receiving(played) as provider:
        played.root = root_of(provider)
        made = add_whatsapp(clinic.service.database, clinic.service.workspace, provider)
        with clinic.service.database.writing() as tx:
            (owner,) = ensure_owners(tx, clinic.service.workspace.id, [Urn("whatsapp", "250788123123")]).values()
            tx.execute(update(contact).where(contact.c.id == owner.contact_id).values(name="Zubeda"))
        clinic.service.post("/api/v2/channel_checks.json", {"channel": made.uuid})
        wait_until(lambda: clinic.service.get(TEMPLATES)["results"], "the templates, read by a worker")
        yield made


def test_a_template_is_sent_while_a_channel_takes_nothing_else_and_previewed_to_many(
    somebody: BrowserContext, clinic: Clinic, whatsapp: Channel
) -> None:
    (zubeda,) = clinic.service.get(CONTACTS, urn="whatsapp:250788123123")["results"]
    page = sign_in(somebody, clinic, "editor", place=f"inbox/{zubeda['uuid']}")
    reply = page.locator("form.reply")
    expect(reply).to_contain_text("Whatsapp takes only approved templates now")
    expect(page.get_by_label("Write an answer")).to_have_count(0)
    reply.get_by_label("Template", exact=True).select_option(label="reminder")
    send = reply.get_by_role("button", name="Send")
    expect(send).to_be_disabled()
    reply.get_by_label("Variable 1").fill("Ann")
    expect(reply.locator(".preview-bubble")).to_have_text("Hi Ann, come at {{2}}")
    reply.get_by_label("Variable 2").fill("9")
    assert findings(page, "a reply by a template") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "a reply by a template on a phone", is_again=True) == []
    page.set_viewport_size(WIDE)
    held: list[tuple[Route, APIResponse]] = []
    page.route(SENDING, lambda route: held.append((route, route.fetch())))
    page.evaluate(NOTE_STATES)
    send.press("Enter")
    wait_until(lambda: "wired" in page.evaluate("window.states"), "the stream to tell of the sending")
    # The answer to the request comes later than what the stream has told since.
    held[0][0].fulfill(response=held[0][1])
    page.unroute(SENDING)
    expect(page.locator(".message.out .text", has_text="Hi Ann, come at 9")).to_have_count(1)
    expect(page.locator(".message.out .state")).to_have_text("wired")

    about = {"from": "250788123123", "id": "wamid.1", "timestamp": str(int(time.time())), "type": "text"}
    body, headers = whatsapp_change(messages=[about | {"text": {"body": "I shall come"}}])
    url = clinic.service.url + whatsapp.path
    assert requests.post(url, data=body, headers=headers, timeout=30).status_code == 200
    expect(page.get_by_label("Write an answer")).to_be_visible()
    expect(page.locator(".reply-count")).to_contain_text("A text of your own can be sent until")

    open_page(page, clinic, "broadcasts")
    page.get_by_role("link", name="Write to many").click()
    page.get_by_label("Also to contacts that match a query").fill("whatsapp = 250788123123")
    page.locator("textarea").first.fill("Come at 8")
    page.get_by_label("Template", exact=True).select_option(label="reminder")
    page.get_by_label("Variable 1").fill("@contact.urn")
    page.get_by_label("Variable 2").fill("8")
    page.get_by_label("As this contact will see it").fill("Zubeda")
    page.get_by_role("radio").click()
    preview = page.locator(".preview-card")
    expect(preview.locator(".text")).to_have_text("Hi whatsapp:250788123123, come at 8")
    expect(preview).to_contain_text("Sent as the template reminder.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".template-values li")).to_have_text(["@contact.urn", "8"])
    assert findings(page, "a broadcast of a template") == []
