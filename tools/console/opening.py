"""How fast the inbox opens, and how much is loaded: `python -m tools.console.opening`.

Measures a workspace of a thousand messages and one of a million (`--messages`) in a real browser, from the request of
the page to the first conversation on the screen: for a new browser, and for one that has the files. The two are opened
in turns, so that the machine has as much else to do for the one as for the other.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright
from rich.progress import Progress
from sqlalchemy import select, text

from bench.data import SPACING, contact_rows, message_rows, urn_rows, write_rows
from channels.types import DEFAULT_GATEWAY
from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.channels.channels import create_gateway
from persistence.channels.settings import new_gateway_secret
from persistence.conversations import write_conversations
from persistence.sql.columns import split
from persistence.stamps import Unread
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import message
from persistence.users import add_member, find_member
from testbed.running import RunningService, forked_service
from tests.browser.chromium import find_chromium
from tests.console.pages import count_bytes

FEW = 1_000
ROUNDS = 15
expect.set_options(timeout=60_000)
EMAIL, PASSWORD = "bench@example.org", "a long sentence is best"
PER_CONTACT, LEAST = 100, 250
"""Messages of a contact; and contacts, so that the first page of the list is full."""
TIMED = "() => performance.now()"


@dataclass(slots=True)
class Openings:
    """Milliseconds of each opening, and bytes over the wire for a new browser."""

    first_ms: list[float] = field(default_factory=list)
    again_ms: list[float] = field(default_factory=list)
    bytes: int = 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.console.opening", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with ExitStack() as stack:
        services = {count: stack.enter_context(filled(count)) for count in (FEW, options.messages)}
        found = measure(stack.enter_context(launched()), services, options.rounds)
    for count, opened in found.items():
        sys.stdout.write(
            f"{count:>10,} messages: {statistics.median(opened.first_ms):6.0f} ms in a new browser "
            f"(least {min(opened.first_ms):.0f}), {statistics.median(opened.again_ms):6.0f} ms again "
            f"(least {min(opened.again_ms):.0f}), {opened.bytes / 1000:.0f} KB\n"
        )
    few, many = found[FEW], found[options.messages]
    sys.stdout.write(
        f"{options.rounds} rounds in turns; many to few: {ratio(many.first_ms, few.first_ms):.2f} in a new browser, "
        f"{ratio(many.again_ms, few.again_ms):.2f} again\n"
    )
    return 0


def ratio(many: Sequence[float], few: Sequence[float]) -> float:
    """The median of the ratios of neighbours."""
    return statistics.median(one / other for one, other in zip(many, few, strict=True))


@contextmanager
def launched() -> Iterator[Browser]:
    chromium = find_chromium()
    environment: dict[str, str | float | bool] | None = {**chromium.environment} or None
    with sync_playwright() as playwright:
        arguments = list(chromium.arguments)
        browser = playwright.chromium.launch(executable_path=chromium.executable, args=arguments, env=environment)
        yield browser
        browser.close()


@contextmanager
def filled(count: int) -> Iterator[RunningService]:
    """A running service with a workspace of so many messages."""
    with (
        tempfile.TemporaryDirectory() as folder,
        forked_service(f"sqlite:///{folder}/relayboard.db", Path(folder)) as service,
    ):
        fill(service, count)
        yield service


def fill(service: RunningService, count: int) -> None:
    """Messages of contacts in bulk, and a person who may read them."""
    workspace, people = service.workspace.id, max(count // PER_CONTACT, LEAST)
    # Up to now: a worker archives what is older than 90 days.
    start = service.database.clock() - count * SPACING
    secret = {"schemes": ["tel"], "country": "RW", "secret": new_gateway_secret(), "config": {}}
    with service.database.writing() as tx:
        create_gateway(tx, workspace, DEFAULT_GATEWAY, name="Gateway", address="+250788000000", **secret)
        add_member(tx, workspace, EMAIL, "administrator")
        user_id = find_member(tx, workspace, EMAIL)
        set_password(tx, user_id or 0, Passwords().hash(PASSWORD))
    with Progress(transient=True) as progress:
        write_rows(service.database, contact, contact_rows(workspace, people), people, progress, "contacts")
        write_rows(service.database, contact_urn, urn_rows(workspace, people), people, progress, "URNs")
        write_rows(
            service.database, message, message_rows(workspace, count, people, start), count, progress, "messages"
        )
    with service.database.writing() as tx:
        newest = select(message.c.contact_id).order_by(message.c.id.desc()).limit(people)
        for some in split(sorted(set(tx.execute(newest).scalars()))):
            write_conversations(tx, workspace, dict.fromkeys(some, Unread.MORE), dict.fromkeys(some, 1))
        tx.execute(text("ANALYZE"))


def measure(browser: Browser, services: Mapping[int, RunningService], rounds: int) -> dict[int, Openings]:
    """Opens the inbox of each service in turns; by the number of messages."""
    pages = {count: signed_in(browser, service.url) for count, service in services.items()}
    found = {count: Openings() for count in services}
    for turn in range(rounds):
        # The other one first every second time, so that neither always follows the larger one.
        for count in sorted(services, reverse=turn % 2 == 1):
            context = browser.new_context(storage_state=pages[count].context.storage_state())
            fresh = context.new_page()
            loaded = count_bytes(fresh)
            found[count].first_ms.append(_open_inbox(fresh, services[count]))
            found[count].bytes = max(found[count].bytes, sum(loaded))
            context.close()
            found[count].again_ms.append(_open_inbox(pages[count], services[count]))
    return found


def signed_in(browser: Browser, url: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(f"{url}/#/inbox")
    page.locator("#email").fill(EMAIL)
    page.locator("#password").fill(PASSWORD)
    page.locator("button[type=submit]").click()
    expect(page.locator(".conversation").first).to_be_visible()
    return page


def _open_inbox(page: Page, service: RunningService) -> float:
    page.goto("about:blank")
    page.goto(f"{service.url}/#/inbox")
    page.wait_for_selector(".conversation")
    elapsed: float = page.evaluate(TIMED)
    return elapsed


if __name__ == "__main__":
    sys.exit(main())
