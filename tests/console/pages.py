"""What people do on every page of the console, and what is checked on each."""

import base64
import re
from typing import Any, Literal

from playwright.sync_api import BrowserContext, Locator, Page, Route, ViewportSize, expect

from handlers.asgi.request_body import COOKIE
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.console.clinic import Clinic
from tests.thinned import EVERY_CASE
from tools.console.packages import installed

PATIENCE_MS = PATIENCE_SECONDS * 1000
expect.set_options(timeout=PATIENCE_MS)
WIDE: ViewportSize = {"width": 1280, "height": 800}
RESTS_AT = "/health/live"
"""Where a page is between two tests: not at a page of the console, and no further than its files are kept."""
NARROW: ViewportSize = {"width": 360, "height": 740}
WALK = """(isWhole) => {
    const controls = "a[href], button, input, select, textarea, summary, audio[controls], video[controls], [tabindex]";
    const root = document.querySelector("dialog[open]") ?? document;
    const main = isWhole || root !== document ? null : document.getElementById("main");
    const isLast = (radio) => {
        const group = [...root.querySelectorAll(`input[type=radio][name="${radio.name}"]`)];
        return (group.find(({checked}) => checked) ?? group[0]) === radio;
    };
    const wanted = [...root.querySelectorAll(controls)].filter((each) =>
        each.tabIndex >= 0 && !each.matches(":disabled, [type=hidden]") && !each.closest("[inert]") &&
        !(main && each.closest(".navigation, .skip")) &&
        each.checkVisibility({visibilityProperty: true}) && (each.type !== "radio" || isLast(each)));
    const hasRing = (each) => {
        const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(each);
        return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    };
    const walk = {left: new Set(wanted), ringless: new Set(), before: document.activeElement};
    walk.seen = ({target}) => {
        if (walk.left.delete(target) && !hasRing(target) && !hasRing(target.closest(".reply, .search") ?? target))
            walk.ringless.add(target);
    };
    document.addEventListener("focusin", walk.seen);
    main?.focus({preventScroll: true});
    document.activeElement.blur();
    window.walk = walk;
    // A date is a field for each of its parts.
    return wanted.length + 7 * wanted.filter(({type}) => ["date", "datetime-local"].includes(type)).length;
}"""
FONT = """async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (sign) => sign.charCodeAt(0));
    document.fonts.add(await new FontFace("Noto Sans Arabic", bytes, {weight: "100 900"}).load());
    // What is drawn already would keep its boxes.
    document.body.style.fontFamily = `"Noto Sans Arabic", ${getComputedStyle(document.body).fontFamily}`;
}"""
LEFT = """() => {
    // A notice goes by itself, and its button with it.
    for (const each of window.walk.left) if (!each.isConnected) window.walk.left.delete(each);
    return window.walk.left.size;
}"""
WALKED = """() => {
    const {left, ringless, before, seen} = window.walk;
    document.removeEventListener("focusin", seen);
    before.focus({preventScroll: true});
    const told = (each) => each.outerHTML.slice(0, 160);
    return [...[...left].map((each) => "not reached: " + told(each)),
            ...[...ringless].map((each) => "no ring: " + told(each))];
}"""
FOCUS_EACH = """() => {
    for (const each of [...window.walk.left]) each.focus({preventScroll: true});
}"""
AT_ONCE = 12
LEAVE_OUT = """() => {
    const isLike = (one, other) => one?.tagName === other.tagName && one.className === other.className;
    const isChosen = (row) => row.contains(document.activeElement) ||
        row.matches("[aria-current], :has([aria-current], :checked)");
    for (const each of document.querySelectorAll("#app *"))
        if (each.children.length > 20)
            for (const row of [...each.children].slice(8))
                if (isLike(row.previousElementSibling, row) && !isChosen(row) && !row.inert)
                    row.inert = row.dataset.leftOut = true;
}"""
"""Of rows that look the same, the first eight and those that are chosen are enough."""
TAKE_BACK = """() => {
    for (const row of document.querySelectorAll("[data-left-out]")) {
        row.inert = false;
        delete row.dataset.leftOut;
    }
}"""
CHANGING = ["aria-hidden-focus", "button-name", "label", "link-name", "scrollable-region-focusable", "select-name"]
"""What axe may find on a screen of another width: what is shown only there, and what scrolls only there."""
CHECK = """async ([rules, isWhole]) => {
    const some = rules && {runOnly: {type: "rule", values: rules}};
    const dialog = isWhole ? null : document.querySelector("dialog[open]");
    const where = dialog ?? (isWhole ? document : {exclude: [[".navigation"]]});
    const found = await axe.run(where, {resultTypes: ["violations"], preload: false, iframes: false, ...some});
    return found.violations.filter(({impact}) => ["serious", "critical"].includes(impact)).map(
        ({id, nodes}) => id + ": " + nodes.slice(0, 3).map(({html, any}) =>
            html.slice(0, 160) + " " + (any[0]?.message ?? "")).join(" | "));
}"""

LOOSE = """() => {
    const style = getComputedStyle, scrolls = (each) => /auto|scroll/.test(style(each).overflow);
    return [...document.querySelectorAll("#app *")].filter((each) => {
        if (style(each).position !== "absolute") return false;
        let holder = each.parentElement;
        while (holder !== document.body && style(holder).position === "static" && !scrolls(holder))
            holder = holder.parentElement;
        return holder !== document.body && style(holder).position === "static";
    }).slice(0, 3).map((each) => "does not scroll with what is around it: " + each.outerHTML.slice(0, 120));
}"""


def resting_page(context: BrowserContext) -> Page:
    """The page that a test before has left, which has loaded all files, or a new one."""
    return next((page for page in context.pages if page.url.endswith(RESTS_AT)), None) or context.new_page()


def sign_in(context: BrowserContext, clinic: Clinic, role: str, place: str = "inbox") -> Page:
    """The page of a browser in which somebody has signed in before; without a place the first page of their role."""
    context.add_cookies([{"name": COOKIE, "value": clinic.signed_in(role), "url": clinic.service.url}])
    page = resting_page(context)
    page.goto(f"{clinic.service.url}/#/{place}")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    return page


LISTS = "**/api/v2/{channels,fields,flows,groups,labels,templates,topics,users}.json*"
"""What forms offer choices of, which comes after the form."""


class HeldBack:
    """What a page asks of an address from now on, which waits until it is let go; nothing waits after that."""

    def __init__(self, page: Page, address: str) -> None:
        self._page = page
        self._waiting: list[Route] = []
        self._is_over = False
        page.route(address, self._take)

    def _take(self, route: Route) -> None:
        if self._is_over:
            route.continue_()
        else:
            self._waiting.append(route)

    def wait(self, count: int = 1) -> None:
        """Until so many requests wait."""
        # The browser is heard only while it is asked something.
        wait_until(lambda: self._page.title() and len(self._waiting) >= count, "the page to ask")

    def let_go(self) -> None:
        self._is_over = True
        for route in self._waiting:
            route.continue_()


def draw_arabic(page: Page) -> None:
    """Gives the page a font with Arabic letters, which the browser of the tests has none of, until it is reloaded."""
    folder = installed() / "@fontsource-variable" / "noto-sans-arabic" / "files"
    font = (folder / "noto-sans-arabic-arabic-wght-normal.woff2").read_bytes()
    page.evaluate(FONT, base64.b64encode(font).decode())


def fonts_of(page: Page, selector: str) -> set[str]:
    """The families with whose letters the browser draws the first such element."""
    session = page.context.new_cdp_session(page)
    for domain in ("DOM", "CSS"):
        session.send(f"{domain}.enable")
    root = session.send("DOM.getDocument")["root"]["nodeId"]
    node = session.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    return {font["familyName"] for font in session.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]}


def count_bytes(page: Page) -> list[int]:
    """The bytes of each response from now on, as they come over the wire."""
    loaded: list[int] = []
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", lambda event: loaded.append(int(event["encodedDataLength"])))
    return loaded


def sign_in_at(context: BrowserContext, clinic: Clinic, role: str, *parts: str) -> Page:
    """The same, once the page at this place is there."""
    page = sign_in(context, clinic, role, "/".join(parts))
    _settle(page)
    return page


def open_page(page: Page, clinic: Clinic, *parts: str) -> None:
    page.goto(f"{clinic.service.url}/#/{'/'.join(parts)}")
    # A page that is loaded hears of another address a moment later, and shows the former one until then.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    _settle(page)


def _settle(page: Page) -> None:
    expect(page.locator("main h1:visible, main h2:visible").first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)


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


def findings(
    page: Page,
    where: str,
    *,
    walks: bool = True,
    presses: bool = EVERY_CASE,
    is_whole: bool = EVERY_CASE,
    is_again: bool = False,
) -> list[str]:
    """Serious findings of axe, whether the page is wider than the screen or could scroll away, and, if it `walks`, what
    a keyboard does not reach: on the `whole` screen, or in the dialog that is open, or without the navigation, which is
    the same on each page. Each control takes the focus, or the key is pressed for each, as on each page once. When a
    page is looked at again on a screen of another width, only what depends on that.
    """
    is_partly = is_again and not EVERY_CASE
    if not page.evaluate("'axe' in window"):
        page.evaluate((installed() / "axe-core" / "axe.min.js").read_text())
    if not EVERY_CASE:
        page.evaluate(LEAVE_OUT)
    rules = CHANGING if is_partly else None
    found = [f"{where}: {finding}" for finding in page.evaluate(CHECK, [rules, is_whole])]
    size: Any = page.viewport_size
    width = page.evaluate("document.documentElement.scrollWidth")
    found += [f"{where}: {width} wide"] if width > size["width"] else []
    walked = walk_by_keyboard(page, is_whole, presses=presses) if walks and not is_partly else []
    page.evaluate(TAKE_BACK)
    return found + [f"{where}: {each}" for each in (*page.evaluate(LOOSE), *walked)]


def walk_by_keyboard(page: Page, is_whole: bool = True, *, presses: bool = True) -> list[str]:
    """Tabs through the page, or through the dialog that is open, or gives its controls the focus after one press: those
    that are not reached, or show no ring when they are. The focus is where it was before.
    """
    most = page.evaluate(WALK, is_whole) + AT_ONCE
    if not presses:
        page.keyboard.press("Tab")
        page.evaluate(FOCUS_EACH)
    for pressed in range(2 * most if presses else 0):
        if pressed % AT_ONCE == 0 and page.evaluate(LEFT) == 0:
            break
        page.keyboard.press("Tab")
    page.evaluate(LEFT)
    walked: list[str] = page.evaluate(WALKED)
    return walked


def arrives(page: Page, clinic: Clinic, number: str, text: str) -> Locator:
    """An SMS from this number, as the list of conversations shows it."""
    clinic.phone.receive_sms(number, text)
    clinic.sync()
    row = page.locator(".conversation", has_text=text)
    expect(row).to_be_visible()
    return row


def pick(page: Page, menu: str, entry: str, role: Literal["menuitem", "menuitemradio"] = "menuitem") -> None:
    """What is counted gets its number once the service has told it."""
    page.get_by_role("button", name=menu).click()
    page.get_by_role(role, name=re.compile(rf"^{re.escape(entry)}( \(\d+\+?\))?$")).click()


def undo(page: Page, said: str) -> None:
    """Takes back what the notice with this text tells; one of something else may be the last for a moment."""
    page.locator(".notice", has_text=said).last.get_by_role("button", name="Undo").click()


def choose_folder(page: Page, name: str) -> None:
    expect(page.get_by_role("button", name="More folders")).to_be_visible()
    tab = page.get_by_role("navigation", name="Folders").get_by_role("link", name=name)
    if tab.count():
        tab.click()
        expect(tab).to_have_attribute("aria-current", "true")
    else:
        pick(page, "More folders and labels", name, "menuitemradio")
        expect(page.locator(".folder-button")).to_contain_text(name)
    expect(page.locator(".side .waiting")).to_have_count(0)
