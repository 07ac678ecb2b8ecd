"""The frame of the console in a real browser: addresses that are cut off, a service that is away, searches that stand
in the address, and what a refused form says.
"""

from playwright.sync_api import BrowserContext, expect

from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, findings, resting_page, sign_in

CONVERSATIONS = "/api/v2/conversations.json"
NOTIFICATIONS = """
    window.shown = [];
    window.tones = 0;
    window.Notification = class {
        static permission = "granted";
        static requestPermission = async () => "granted";
        constructor(title, options) { window.shown.push({title, ...options}); }
    };
    const Tone = OscillatorNode;
    window.OscillatorNode = class extends Tone { start(at) { window.tones += 1; super.start(at); } };
"""


def test_an_address_that_was_cut_off_leads_to_a_page_and_one_that_was_not_loaded_is_loaded_by_its_button(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor", place="inbox/%")
    page.route("**/flows/page.js", lambda route: route.abort())
    page.get_by_role("link", name="Flows").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/flows/page.js")

    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", name="Flows")).to_be_visible()
    page.route("**/palette_box.js", lambda route: route.abort())
    for _ in range(2):
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog")).to_contain_text("cannot be reached")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_people_wrote_is_found_and_opens_at_the_message_by_keys_alone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    number, words = "+250788000941", "The écho of the gymnasium"
    clinic.phone.receive_sms(number, words)
    for more in range(20):
        clinic.phone.receive_sms(number, f"Filler {more}")
    clinic.sync()
    page = sign_in(somebody, clinic, "agent")
    expect(page.locator(".conversation", has_text="Filler 19")).to_be_visible()
    sought, marked = page.locator(".message.is-sought"), page.locator(".found mark")

    page.get_by_role("main").focus()
    page.keyboard.press("/")
    page.keyboard.type("echo gymnas")
    expect(marked).to_have_text(["écho", "gymnas"])
    page.get_by_text("Narrow down").click()
    page.get_by_label("Until", exact=True).fill("2020-01-01")
    expect(marked).to_have_count(0)
    page.get_by_label("Until", exact=True).fill("2199-01-01")
    page.get_by_role("link", name="The écho").click()
    expect(sought).to_be_in_viewport()
    expect(sought).to_be_focused()
    assert findings(page, "a message that was found") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "a message that was found, on a phone", is_again=True) == []
    page.set_viewport_size(WIDE)

    box, options = page.get_by_role("combobox", name="Search everything"), page.get_by_role("option")
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("gym")
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("gymnasium")
    expect(options).to_have_count(1)
    assert findings(page, "the search of everything") == []
    page.keyboard.press("Enter")
    expect(box).to_have_count(0)
    expect(sought).to_be_in_viewport()
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("contac")
    expect(options.first).to_have_text("Contacts")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Contacts")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Name, number or query")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type(clinic.email("agent"))
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["Joel Agent" + clinic.email("agent")])
    page.keyboard.press("Enter")
    expect(page.locator(".views [aria-current]")).to_have_text("Joel Agent")


def test_who_works_on_another_page_is_told_of_a_message_and_finds_where_the_unread_begin(
    somebody_else: BrowserContext, clinic: Clinic
) -> None:
    somebody_else.add_init_script(NOTIFICATIONS)
    number, unread = "+250788000951", len(clinic.service.get(CONVERSATIONS, unread="true")["results"])
    page = sign_in(somebody_else, clinic, "editor", place="settings/account")
    page.get_by_label("Tell me on this computer of").select_option("Mine, and those that nobody has")
    page.get_by_label("With a sound").check()
    assert findings(page, "the choice of notices") == []
    page.get_by_role("link", name="Contacts", exact=True).click()
    expect(page).to_have_title(f"({unread}) Contacts · Riverside Health" if unread else "Contacts · Riverside Health")
    for text in [f"Line {at}" for at in range(20)]:
        clinic.phone.receive_sms(number, text)
    clinic.sync()
    expect(page).to_have_title(f"({unread + 1}) Contacts · Riverside Health")
    # Not by a function of the page: its policy lets nobody evaluate texts again and again.
    wait_until(lambda: page.evaluate("window.shown.some((each) => each.body === 'Line 19')"), "a notice of the last")
    assert page.evaluate("[window.shown.at(-1).title, window.tones > 0]") == [number, True]

    page.get_by_role("link", name="Inbox", exact=True).click()
    page.locator(".conversation", has_text="Line 19").click()
    expect(page).to_have_title("Inbox · Riverside Health" if not unread else f"({unread}) Inbox · Riverside Health")
    expect(page.locator(".unread-line + .message")).to_contain_text("Line 0")
    expect(page.locator(".message", has_text="Line 19")).to_be_in_viewport()
    course = page.get_by_role("log")
    course.evaluate("(box) => { box.scrollTop = 0; }")
    clinic.phone.receive_sms(number, "Line 20")
    clinic.sync()
    below = page.get_by_role("button", name="New messages: 1")
    expect(below).to_be_in_viewport()
    below.click()
    expect(page.locator(".message", has_text="Line 20")).to_be_in_viewport()
    expect(below).to_have_count(0)

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Mark as unread").click()
    expect(page).to_have_title(f"({unread + 1}) Inbox · Riverside Health")
    expect(page.locator(".conversation", has_text="Line 20").locator(".count")).to_have_text("Unread: 1")


def test_a_search_shows_what_is_searched_and_single_keys_are_switched_off(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "editor")
    for place, items in (("Inbox", ".conversation"), ("Contacts", "tbody tr")):
        link = page.get_by_role("link", name=place, exact=True)
        link.click()
        search = page.locator("input[type=search]:visible")
        expect(page.locator(items).first).to_be_visible()
        search.fill("zzzz")
        expect(page.locator(items)).to_have_count(0)
        link.click()
        expect(page.locator(items).first).to_be_visible()
        expect(search).to_have_value("")
        page.go_back()
        expect(search).to_have_value("zzzz")

    page.get_by_role("main").focus()
    page.keyboard.press("?")
    page.get_by_label("Single keys").uncheck()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.keyboard.press("1")
    page.keyboard.press("/")
    page.keyboard.press("?")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_have_count(1)
    expect(page.get_by_role("combobox", name="Search everything")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Contacts")).to_be_visible()


def test_an_invitation_that_no_longer_works_leads_to_the_password(somebody: BrowserContext, clinic: Clinic) -> None:
    page = resting_page(somebody)
    page.goto(f"{clinic.service.url}/#/sign-in/used")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()

    page.get_by_role("link", name="Sign in with a password").click()

    expect(page.get_by_label("E-mail address")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_could_not_be_loaded_comes_by_itself_once_the_network_is_back(
    somebody_else: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody_else, clinic, "administrator", "tickets")
    expect(page.locator(".conversation").first).to_be_visible()
    page.get_by_role("link", name="Inbox").click()
    expect(page.locator(".conversation").first).to_be_visible()
    somebody_else.set_offline(True)
    page.get_by_role("link", name="Tickets").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(page.get_by_text("No tickets here")).to_have_count(0)
    somebody_else.set_offline(False)
    expect(page.locator(".conversation").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)

    somebody_else.set_offline(True)
    page.get_by_role("link", name="Flows").click()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    somebody_else.set_offline(False)
    expect(page.get_by_role("heading", name="Flows")).to_be_visible()
