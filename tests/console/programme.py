"""What docs/first-programme.md says to do by hand, in a browser: from an empty workspace to a programme."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from playwright.sync_api import FilePayload, Locator, Page, expect

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.users import add_member, find_member
from persistence.workspaces.writes import create_workspace
from testbed.running import RunningService
from tests.console.clinic import PASSWORD
from tests.documentation import ROOT

MANAGER = "manager@example.org"
EVENTS = (
    ("2", "weeks", "before the date", "Two weeks to go, @contact.first_name!"),
    ("1", "days", "before the date", "Tomorrow is your visit. Please bring your card."),
    ("1", "weeks", "after the date", "How was your visit? Answer GOOD or BAD."),
)
Show = Callable[[str], object]
MATCHING = "district = Gasabo"


def add_manager(service: RunningService) -> None:
    """The person who makes the programme, the administrator of a new workspace."""
    with service.database.writing() as tx:
        workspace = create_workspace(tx, "Lake Clinic", country="RW", timezone="Africa/Kigali")
        add_member(tx, workspace.id, MANAGER, "administrator", first_name="Ana", last_name="Manager")
        set_password(tx, find_member(tx, workspace.id, MANAGER) or 0, Passwords().hash(PASSWORD))


def people(count: int) -> FilePayload:
    """A file as a spreadsheet saves it: every second row is of Gasabo."""
    first = datetime.now(UTC) + timedelta(days=20)
    rows = (
        f"+25078{at:07},Mother {at},{('Gasabo', 'Kicukiro')[at % 2]},{first + timedelta(days=at % 100):%d-%m-%Y}"
        for at in range(count)
    )
    text = "\n".join(["Phone,Name,District,Due Date", *rows])
    return {"name": "mothers.csv", "mimeType": "text/csv", "buffer": text.encode()}


def make_programme(page: Page, service: RunningService, provider_url: str, count: int, show: Show) -> None:
    """Makes the programme with a file of so many contacts; `show` is called where the guide has a picture."""
    page.goto(service.url)
    page.get_by_label("E-mail address").fill(MANAGER)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    add_gateway(page, provider_url, show)
    import_contacts(page, count, show)
    save_search(page, count, show)
    import_flow(page, show)
    add_trigger(page, show)
    add_campaign(page, count, show)
    write_to_many(page, count, show)
    _go(page, "Flows")
    page.get_by_role("link", name="Calendar").click()
    expect(page.locator("main")).to_contain_text("Visits")
    show("calendar")


def add_gateway(page: Page, provider_url: str, show: Show) -> None:
    _go(page, "Channels")
    page.get_by_role("link", name="Add a channel").first.click()
    page.get_by_label("Search channels").fill("http")
    page.get_by_role("link", name="HTTP gateway").click()
    for label, value in (("Sender", "8080"), ("URL for sending", provider_url)):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_label("Country", exact=True).select_option("Rwanda")
    show("gateway")
    page.get_by_role("button", name="Add", exact=True).click()
    page.wait_for_url("**/connect")


def import_contacts(page: Page, count: int, show: Show) -> None:
    _go(page, "Contacts")
    _more(page, "Import contacts")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Choose a file").click()
    chosen.value.set_files(people(count))
    page.get_by_label("What District means").select_option(label="New field (Text)")
    page.get_by_label("What Due Date means").select_option(label="New field (Date)")
    page.get_by_label("Put everybody of this file into a group").select_option("A new group…")
    page.get_by_label("Name of the new group").fill("Mothers")
    show("columns")
    page.get_by_role("button", name=f"Import {count:,} rows").click()
    expect(page.locator(".page-header .badge")).to_have_text("imported")
    show("imported")


def save_search(page: Page, count: int, show: Show) -> None:
    _go(page, "Contacts")
    page.get_by_label("Name, number or query").fill(MATCHING)
    expect(page.locator(".page-header")).to_contain_text(f"{count // 2:,}")
    _more(page, "Save the search as a group")
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("Gasabo")
    show("smart-group")
    _save(form)


def import_flow(page: Page, show: Show) -> None:
    _go(page, "Flows")
    page.get_by_role("link", name="Import").first.click()
    page.get_by_label("File with flows").set_input_files(ROOT / "docs" / "clinic.json")
    expect(page.locator(".records")).to_be_visible()
    show("flow")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="What clinic.json did")).to_be_visible()


def add_trigger(page: Page, show: Show) -> None:
    _go(page, "Triggers")
    page.get_by_role("button", name="New trigger").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Flow to start").select_option(label="Registration")
    form.get_by_label("Keywords").fill("baby")
    _save(form)
    page.get_by_label("Text of the message").fill("Baby!")
    page.get_by_role("button", name="Try").click()
    expect(page.locator("main")).to_contain_text("Begins with the word")
    show("trigger")


def add_campaign(page: Page, count: int, show: Show) -> None:
    _go(page, "Campaigns")
    page.get_by_role("button", name="New campaign").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("Visits")
    form.get_by_label("For this group").select_option(label=f"Mothers ({count:,})")
    _save(form)
    for offset, unit, side, text in EVENTS:
        page.get_by_role("button", name="Add an event").first.click()
        form.get_by_label("How many").fill(offset)
        form.get_by_label("Unit").select_option(label=unit)
        form.get_by_label("Before or after").select_option(label=side)
        form.get_by_label("The date", exact=True).select_option(label="Due Date")
        form.locator("textarea").first.fill(text)
        _save(form)
    page.get_by_role("searchbox", name="What this contact gets").fill("Mother 17")
    page.get_by_role("radio").first.check()
    expect(page.locator(".scheduled")).to_have_count(len(EVENTS))
    show("campaign")


def write_to_many(page: Page, count: int, show: Show) -> None:
    _go(page, "Broadcasts")
    page.get_by_role("link", name="Write to many").first.click()
    page.get_by_label("Also to contacts that match a query").fill(MATCHING)
    page.locator("textarea").first.fill("The clinic opens at 8 on Monday, @contact.first_name.")
    expect(page.locator(".estimate")).to_contain_text(f"{count // 2:,} contacts")
    page.get_by_role("button", name="Send", exact=True).click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text(f"Send to {count // 2:,} contacts?")
    show("broadcast")
    question.get_by_role("button", name="Send").click()
    expect(page.locator("main progress")).to_be_visible()


def _go(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()
    expect(page.locator("main h1")).to_be_visible()


def _more(page: Page, item: str) -> None:
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name=item).click()


def _save(form: Locator) -> None:
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
