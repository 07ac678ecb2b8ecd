"""The frame of the console in a real browser: addresses that are cut off, a service that is away, searches that stand
in the address, and what a refused form says.
"""

from playwright.sync_api import BrowserContext, expect

from tests.console.clinic import Clinic
from tests.console.pages import NARROW, WIDE, findings, sign_in


def test_an_address_that_was_cut_off_leads_to_a_page_that_says_so(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "editor")
    for cut_off in ("inbox/%", "%E0%A4%A"):
        page.goto("about:blank")
        page.goto(f"{clinic.service.url}/#/{cut_off}")
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_a_page_that_could_not_be_loaded_is_loaded_by_its_button(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "editor")
    page.route("**/flows/page.js", lambda route: route.abort())
    page.get_by_role("link", name="Flows").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/flows/page.js")

    page.get_by_role("button", name="Try again").click()

    expect(page.get_by_role("heading", name="Flows")).to_be_visible()


def test_who_cannot_be_signed_out_is_told_and_stays_signed_in(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "editor")
    leave = page.locator(".person")
    somebody.set_offline(True)
    leave.get_by_role("button").first.click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    somebody.set_offline(False)

    leave.get_by_role("button").first.click()
    page.get_by_role("menuitem", name="Sign out").click()

    expect(page.get_by_label("Password")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()


def test_what_people_wrote_is_found_and_opens_at_the_message_by_keys_alone(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    number, words = "+250788000941", "The écho of the gymnasium"
    clinic.phone.receive_sms(number, words)
    for more in range(30):
        clinic.phone.receive_sms(number, f"Filler {more}")
    clinic.sync()
    page = sign_in(somebody, clinic, "agent")
    expect(page.locator(".conversation", has_text="Filler 29")).to_be_visible()
    sought, marked = page.locator(".message.is-sought"), page.locator(".found mark")

    page.get_by_role("main").focus()
    page.keyboard.press("/")
    page.keyboard.type("echo gymnas")
    expect(marked).to_have_text(["écho", "gymnas"])
    page.get_by_role("link", name="The écho").click()
    expect(sought).to_be_in_viewport()
    expect(sought).to_be_focused()
    assert findings(page, "a message that was found") == []
    page.set_viewport_size(NARROW)
    assert findings(page, "a message that was found, on a phone") == []
    page.set_viewport_size(WIDE)

    page.keyboard.press("Control+k")
    page.keyboard.type("gymnasium")
    box, options = page.get_by_role("combobox", name="Search everything"), page.get_by_role("option")
    expect(options).to_have_count(1)
    assert findings(page, "the search of everything") == []
    page.keyboard.press("Enter")
    expect(box).to_have_count(0)
    expect(sought).to_be_in_viewport()
    page.keyboard.press("Control+k")
    page.keyboard.type("contac")
    expect(options.first).to_have_text("Contacts")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Contacts")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Name, number or query")).to_be_focused()


def test_a_search_shows_what_is_searched(somebody: BrowserContext, clinic: Clinic) -> None:
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


def test_a_refused_form_names_the_input(somebody: BrowserContext, clinic: Clinic) -> None:
    page = sign_in(somebody, clinic, "administrator", "settings/labels")
    page.get_by_role("button", name="Add", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill('Cards "lost"')
    form.get_by_role("button", name="Save").click()

    expect(form.get_by_role("alert")).to_contain_text("Name: ")
    expect(form.get_by_label("Name")).to_be_focused()


def test_an_invitation_that_no_longer_works_leads_to_the_password(somebody: BrowserContext, clinic: Clinic) -> None:
    page = somebody.new_page()
    page.goto(f"{clinic.service.url}/#/sign-in/used")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()

    page.get_by_role("link", name="Sign in with a password").click()

    expect(page.get_by_label("E-mail address")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_could_not_be_loaded_comes_by_itself_once_the_network_is_back(
    somebody: BrowserContext, clinic: Clinic
) -> None:
    page = sign_in(somebody, clinic, "administrator", "tickets")
    expect(page.locator(".conversation").first).to_be_visible()
    page.get_by_role("link", name="Inbox").click()
    expect(page.locator(".conversation").first).to_be_visible()
    somebody.set_offline(True)
    page.get_by_role("link", name="Tickets").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    expect(page.get_by_text("No tickets here")).to_have_count(0)
    somebody.set_offline(False)
    expect(page.locator(".conversation").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)

    somebody.set_offline(True)
    page.get_by_role("link", name="Flows").click()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".notice.bad")).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    somebody.set_offline(False)
    expect(page.get_by_role("heading", name="Flows")).to_be_visible()
