"""What people do on every page of the console, and what is checked on each."""

from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from testbed.patience import PATIENCE_SECONDS
from tests.console.clinic import PASSWORD, Clinic
from tools.console.packages import installed

PATIENCE_MS = PATIENCE_SECONDS * 1000
expect.set_options(timeout=PATIENCE_MS)
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
CHECK = """async () => {
    const found = await axe.run(document, {resultTypes: ["violations"]});
    return found.violations.filter(({impact}) => ["serious", "critical"].includes(impact)).map(
        ({id, nodes}) => id + ": " + nodes.slice(0, 3).map(({html, any}) =>
            html.slice(0, 160) + " " + (any[0]?.message ?? "")).join(" | "));
}"""


def sign_in(context: BrowserContext, clinic: Clinic, role: str, place: str = "inbox") -> Page:
    """Without a place a person comes to the first page of their role."""
    page = context.new_page()
    page.goto(f"{clinic.service.url}/#/{place}")
    page.get_by_label("E-mail address").fill(clinic.email(role))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    return page


def count_bytes(page: Page) -> list[int]:
    """The bytes of each response from now on, as they come over the wire."""
    loaded: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: loaded.append(int(event["encodedDataLength"])))
    return loaded


def open_page(page: Page, clinic: Clinic, *parts: str) -> None:
    page.goto(f"{clinic.service.url}/#/{'/'.join(parts)}")
    expect(page.locator("main h1:visible, main h2:visible").first).to_be_visible()
    expect(page.locator(".spinner")).to_have_count(0)


def refused(page: Page, path: str) -> int:
    """The status of a change by the person's own cookie, with all that the page would send."""
    status: int = page.evaluate(
        """async path => {
            const account = await (await fetch("/api/v2/account.json")).json();
            const headers = {"X-CSRF-Token": account.csrf_token, "Content-Type": "application/json"};
            return (await fetch(path, {method: "POST", headers, body: "{}"})).status;
        }""",
        path,
    )
    return status


def findings(page: Page, where: str) -> list[str]:
    """Serious findings of axe, and whether the page is wider than the screen."""
    page.evaluate((installed() / "axe-core" / "axe.min.js").read_text())
    found = [f"{where}: {finding}" for finding in page.evaluate(CHECK)]
    size: Any = page.viewport_size
    width = page.evaluate("document.documentElement.scrollWidth")
    return found + ([f"{where}: {width} wide"] if width > size["width"] else [])
