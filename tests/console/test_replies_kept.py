"""What people write to a contact is neither lost nor sent twice, in a real browser."""

from contextlib import contextmanager

from playwright.sync_api import Route, expect
from sqlalchemy import select

from persistence.contacts.deletion import delete_contacts
from persistence.tables.contacts import contact as contact_table
from persistence.users import change_role
from testbed.running import wait_until
from tests.console.clinic import PASSWORD
from tests.console.pages import NARROW, WIDE, HeldBack, findings, open_page, sign_in, sign_in_at

CONTACTS, MESSAGES = "/api/v2/contacts.json", "/api/v2/messages.json"

PASTE = """async (area) => {
    const canvas = Object.assign(document.createElement("canvas"), {width: 2, height: 2});
    canvas.getContext("2d").fillRect(0, 0, 2, 2);
    const picture = await new Promise((made) => canvas.toBlob(made));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([picture], "pasted.png", {type: "image/png"}));
    area.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
}"""


def greet(clinic, number):
    """The UUID of a contact to whom somebody wrote before."""
    contact = clinic.service.post(CONTACTS, {"urns": [f"tel:{number}"]})["uuid"]
    clinic.service.post(MESSAGES, {"contact": contact, "text": "Good day"})
    return contact


def texts_to(clinic, contact):
    return [message["text"] for message in clinic.service.get(MESSAGES, contact=contact)["results"]]


def leave_behind(context, clinic, contact, text):
    """Writes to a contact without network, and leaves the page, which has nothing open then."""
    page = sign_in_at(context, clinic, "editor", "inbox", contact)
    expect(page.locator(".message")).to_have_count(1)
    context.set_offline(True)
    page.get_by_label("Write an answer").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".pending")).to_contain_text(text)
    page.goto("about:blank")
    context.set_offline(False)
    return page


def test_a_kept_reply_shows_once_and_is_sent_once_though_its_conversation_opens_meanwhile(somebody, clinic):
    contact = greet(clinic, "+250788000813")
    page = leave_behind(somebody, clinic, contact, "Still on its way")
    asked: list[Route] = []
    page.route(f"**{MESSAGES}", lambda route: asked.append(route))
    open_page(page, clinic, "inbox?folder=all")
    wait_until(lambda: page.locator("main").count() and asked, "the page to send it")
    page.locator(".conversation", has_text="+250788000813").click()
    bubbles = page.locator(".message", has_text="Still on its way")
    expect(page.locator(".pending")).to_contain_text("Still on its way")
    expect(bubbles).to_have_count(1)
    (route,) = asked
    route.continue_()

    expect(page.locator(".message.out:not(.pending)", has_text="Still on its way")).to_be_visible()
    expect(bubbles).to_have_count(1)
    assert len(asked) == 1
    assert texts_to(clinic, contact) == ["Still on its way", "Good day"]


@contextmanager
def demoted(clinic):
    """The editor is only a viewer for a while."""

    def give_role(role):
        with clinic.service.database.writing() as tx:
            change_role(tx, clinic.service.workspace.id, clinic.email("editor"), role)

    give_role("viewer")
    try:
        yield
    finally:
        give_role("editor")


def test_a_kept_reply_that_is_refused_shows_on_every_page_and_in_the_list_until_it_is_sent_again(somebody, clinic):
    contact = greet(clinic, "+250788000821")
    page = leave_behind(somebody, clinic, contact, "Come at nine")
    with demoted(clinic):
        open_page(page, clinic, "settings")
        banner = page.get_by_role("status").filter(has_text="Not sent: Come at nine")
        expect(banner).to_be_visible()
        page.reload()
        expect(banner).to_be_visible()
        open_page(page, clinic, "inbox?folder=all")
        row = page.locator(".conversation", has_text="+250788000821")
        expect(row).to_contain_text("Not sent: Come at nine")
        assert findings(page, "a refused reply") == []

        page.set_viewport_size(NARROW)
        assert findings(page, "a refused reply on a phone", is_again=True) == []
        banner.get_by_role("link", name="Open the conversation").click()
        expect(page.locator(".pending .failed")).to_be_visible()
        expect(page.get_by_role("button", name="Discard")).to_be_in_viewport()
        page.set_viewport_size(WIDE)
        expect(banner).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".message.out:not(.pending)", has_text="Come at nine")).to_be_visible()
    page.get_by_role("navigation", name="Folders").get_by_role("link", name="All").click()
    expect(row).not_to_contain_text("Not sent")
    assert texts_to(clinic, contact) == ["Come at nine", "Good day"]


def test_a_refused_reply_to_a_contact_that_was_deleted_is_read_and_thrown_away(somebody, clinic):
    contact = greet(clinic, "+250788000822")
    page = leave_behind(somebody, clinic, contact, "Too late")
    with clinic.service.database.writing() as tx:
        found = tx.execute(select(contact_table.c.id).where(contact_table.c.uuid == contact)).scalar_one()
        delete_contacts(tx, clinic.service.workspace.id, [found])
    open_page(page, clinic, "contacts")
    held = HeldBack(page, f"**{CONTACTS}?uuid=*")
    page.get_by_role("link", name="Open the conversation").click()
    discard = page.get_by_role("button", name="Discard")
    discard.focus()
    held.wait()
    held.let_go()
    expect(page.get_by_role("heading", name="This contact does not exist")).to_be_visible()
    expect(page.locator(".pending")).to_contain_text("Too late")
    expect(discard).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".pending")).to_have_count(0)
    open_page(page, clinic, "contacts")
    expect(page.get_by_text("Not sent")).to_have_count(0)


def test_a_kept_reply_is_sent_after_the_session_ended_and_the_person_signed_in_again(somebody, clinic):
    contact = greet(clinic, "+250788000823")
    page = sign_in_at(somebody, clinic, "editor", "inbox", contact)
    expect(page.locator(".message")).to_have_count(1)
    held = HeldBack(page, f"**{MESSAGES}")
    answer = page.get_by_label("Write an answer")
    answer.fill("Before it ended")
    page.keyboard.press("Control+Enter")
    answer.fill("Half written")
    held.wait()
    somebody.clear_cookies()
    held.let_go()
    page.get_by_label("E-mail address").fill(clinic.email("editor"))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator(".message.out:not(.pending)", has_text="Before it ended")).to_be_visible()
    expect(answer).to_have_value("Half written")
    assert texts_to(clinic, contact) == ["Before it ended", "Good day"]


def test_what_each_tab_keeps_stays_kept_and_is_sent_though_nobody_opens_its_conversation(somebody, clinic):
    contact = greet(clinic, "+250788000814")
    one = sign_in(somebody, clinic, "editor")
    two = somebody.new_page()
    for page in (one, two):
        open_page(page, clinic, "inbox", contact)
        expect(page.locator(".message")).to_have_count(1)
    somebody.set_offline(True)
    for page, text in ((one, "From the first tab"), (two, "From the second tab")):
        page.get_by_label("Write an answer").fill(text)
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".pending")).to_contain_text(text)
    two.close()
    one.goto("about:blank")
    somebody.set_offline(False)
    open_page(one, clinic, "settings")

    wait_until(lambda: len(texts_to(clinic, contact)) == 3, "both replies to be sent")
    wait_until(
        lambda: not one.evaluate("Object.keys(localStorage).filter((name) => name.includes('.out.')).length"),
        "the page to know it",
    )
    open_page(one, clinic, "inbox", contact)
    expect(one.locator(".message.out:not(.pending)", has_text="tab")).to_have_count(2)
    assert texts_to(clinic, contact) == ["From the second tab", "From the first tab", "Good day"]


def test_the_next_person_in_a_tab_sends_nothing_of_another(somebody, clinic):
    contact = greet(clinic, "+250788000815")
    page = sign_in(somebody, clinic, "editor")
    page.route(f"**{MESSAGES}", lambda route: route.fulfill(status=403, json={"detail": "Not now"}))
    open_page(page, clinic, "inbox", contact)
    expect(page.locator(".message")).to_have_count(1)
    page.get_by_label("Write an answer").fill("Mine")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".pending .failed")).to_be_visible()
    page.get_by_role("button", name="You and your language").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    page.get_by_label("E-mail address").fill(clinic.email("agent"))
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('relayboard.draft.'))") == []
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()

    expect(page.locator(".message")).to_have_count(1)
    expect(page.get_by_label("Write an answer")).to_be_visible()
    expect(page.locator(".pending")).to_have_count(0)


def test_an_answer_is_one_in_all_tabs_takes_a_pasted_picture_and_shows_its_links(somebody, clinic):
    contact = greet(clinic, "+250788000819")
    one, two = sign_in(somebody, clinic, "editor"), somebody.new_page()
    for page in (one, two):
        open_page(page, clinic, "inbox", contact)
        expect(page.locator(".message")).to_have_count(1)
    answer = one.get_by_label("Write an answer")
    answer.fill("See https://example.org/a?b=(1).")
    expect(two.get_by_label("Write an answer")).to_have_value("See https://example.org/a?b=(1).")
    two.get_by_label("Write an answer").press("End")
    two.keyboard.type(" Bye")
    expect(answer).to_have_value("See https://example.org/a?b=(1). Bye")

    one.get_by_role("button", name="Quick replies").click()
    one.get_by_label("Quick reply 1").fill("Yes")
    one.keyboard.press("Enter")
    expect(one.get_by_label("Quick reply 2")).to_be_focused()
    one.keyboard.type("No")
    answer.evaluate(PASTE)
    expect(one.locator(".files li")).to_contain_text("pasted.png")
    one.get_by_role("button", name="Send", exact=True).click()
    sent = one.locator(".message.out:not(.pending)")
    expect(sent.locator(".choice")).to_have_text(["Yes", "No"])
    expect(sent.locator("img")).to_have_count(1)
    expect(sent.get_by_role("link", name="https://")).to_have_attribute("href", "https://example.org/a?b=(1)")
    expect(two.get_by_label("Write an answer")).to_have_value("")


def test_a_text_that_is_too_long_stays_whole_and_says_how_long_it_may_be(somebody, clinic):
    contact = greet(clinic, "+250788000816")
    page = sign_in_at(somebody, clinic, "editor", "inbox", contact)
    answer, send = page.get_by_label("Write an answer"), page.get_by_role("button", name="Send", exact=True)
    answer.focus()
    page.keyboard.insert_text("a" * 5000)
    expect(answer).to_have_value("a" * 5000)
    expect(page.locator(".reply-count")).to_have_text("Too long: 5,000 of at most 4,096 characters")
    expect(send).to_be_disabled()
    page.keyboard.press("Control+Enter")
    expect(answer).to_have_value("a" * 5000)
    assert findings(page, "a long text") == []

    longest = "a" * 4095 + "😀"  # an emoji is one character for the API
    answer.fill(longest)
    send.click()
    expect(page.locator(".message.out:not(.pending)", has_text="😀")).to_be_visible()
    assert texts_to(clinic, contact) == [longest, "Good day"]


def test_a_saved_reply_is_put_where_the_cursor_is_and_takes_nothing_away(somebody, clinic):
    contact = greet(clinic, "+250788000817")
    clinic.service.post(f"{CONTACTS}?uuid={contact}", {"name": "Amina Wanjiru"})
    clinic.service.post("/api/v2/labels.json", {"name": "Asked when"})
    ticket = clinic.service.post("/api/v2/tickets.json", {"contact": contact})["uuid"]
    deeds = {"name": "Bye", "text": "See you then.", "label": "Asked when", "closes_ticket": True}
    for reply in (
        {"name": "Opening hours", "text": "We open at 8."},
        {"name": "Greeting", "text": "Dear @contact.first_name, @x"},
        deeds,
    ):
        clinic.service.post("/api/v2/saved_replies.json", reply)
    page = sign_in_at(somebody, clinic, "editor", "inbox", contact)
    answer, found = page.get_by_label("Write an answer"), page.get_by_role("listbox", name="Saved replies")
    saved, opening = (
        page.get_by_role("button", name="Saved replies"),
        page.get_by_role("menuitem", name="Opening hours"),
    )
    answer.fill("Good day,")
    saved.click()
    opening.click()
    expect(answer).to_have_value("Good day, We open at 8.")
    page.keyboard.type(" Bye")
    expect(answer).to_have_value("Good day, We open at 8. Bye")

    expect(page.locator(".thread-who")).to_contain_text("Amina Wanjiru")
    answer.fill("/gre")
    expect(found.get_by_role("option")).to_have_count(1)
    answer.fill("/")
    expect(found.get_by_role("option").first).to_be_visible()
    answer.press("ArrowUp")
    expect(found.get_by_role("option", name="Opening hours")).to_have_attribute("aria-selected", "true")
    assert findings(page, "saved replies after a slash") == []
    answer.press("ArrowUp")
    answer.press("Enter")
    expect(answer).to_have_value("Dear Amina, @x")

    answer.fill("Good day, We open at 8. Bye")
    answer.evaluate("(area) => area.setSelectionRange(0, 4)")
    saved.click()
    opening.click()
    expect(answer).to_have_value("Good We open at 8. day, We open at 8. Bye")
    answer.fill("/bye")
    expect(found.get_by_role("option").first).to_be_visible()
    answer.press("Enter")
    expect(answer).to_have_value("See you then.")
    page.reload()  # the draft remembers what goes with it
    expect(page.locator(".reply")).to_contain_text("label “Asked when” · the ticket is closed")
    answer.press("Control+Enter")
    expect(page.locator(".thread")).to_contain_text("See you then.")
    wait_until(
        lambda: clinic.service.get("/api/v2/tickets.json", uuid=ticket)["results"][0]["status"] == "closed",
        "the ticket to be closed",
    )
