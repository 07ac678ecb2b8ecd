"""The explorer as a person uses it: opens it, gives a token, unfolds an operation, tries it out."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page

from testbed.running import wait_until
from tests.browser.conftest import PATIENCE_SECONDS
from tests.contract.documents import Operation

PATIENCE_MS = PATIENCE_SECONDS * 1000
NO_BROWSER_FILE = {"name": "map.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n" + bytes(64)}


@dataclass
class Executed:
    """What one click on "Execute" did: the request as it went out, and the status that the page shows."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None
    status: int
    text: str


class ExplorerPage:
    """One tab with the explorer of a generation."""

    def __init__(self, page: Page, service_url: str, generation: str) -> None:
        self.page = page
        self.generation = generation
        self.address = f"{service_url}/api/{generation}/docs"
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda said: self._note(said.type, said.text))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:  # said for every answer of 400 and above
            self.troubles.append(text)

    def open(self) -> None:
        self.page.goto(self.address)
        self.page.locator(".opblock-tag").first.wait_for()

    def turn_to(self, generation: str) -> None:
        """Open the page of another generation, which knows the token too."""
        self.address = self.address.replace(f"/{self.generation}/", f"/{generation}/")
        self.generation = generation
        self.open()

    def authorize(self, token: str) -> None:
        self.page.get_by_role("button", name="Authorize").first.click()
        dialog = self.page.locator(".modal-ux")
        dialog.locator("input").fill(token)
        dialog.get_by_role("button", name="Apply credentials").click()
        dialog.get_by_role("button", name="Close").click()

    def unfold(self, operation: Operation) -> Locator:
        """The form of an operation, ready to be filled in."""
        tag = operation.body["tags"][0]
        block = self.page.locator(f"#operations-{tag}-{operation.body['operationId']}")
        self.find(operation)
        heading = self.page.locator(f"#operations-tag-{tag}")
        if heading.get_attribute("data-is-open") == "false":
            heading.click()
        block.locator(".opblock-summary-control").first.click()
        block.locator(".try-out__btn").click()
        return block

    def find(self, operation: Operation) -> None:
        """Filter by its path: anything that changes makes the browser work on all that the page shows."""
        self.page.locator(".operation-filter-input").fill(operation.path)
        applied = "ui.getSystem().layoutSelectors.currentFilter()"
        wait_until(lambda: self.page.evaluate(applied) == operation.path, "the filter to be applied")

    def show_events(self, operation: Operation) -> None:
        """Look at the events that the operation leads to: each has its name."""
        block = self.unfold(operation)
        block.locator(".tab-item", has_text="Callbacks").click()
        for name in operation.body["callbacks"]:
            block.locator(".callbacks-container").get_by_text(name, exact=True).wait_for()
        self.fold(block)

    def fold(self, block: Locator) -> None:
        block.locator(".opblock-summary-control").first.click()
        block.locator(".opblock-body").first.wait_for(state="detached")

    def fill(self, block: Locator, values: Mapping[str, Any]) -> None:
        """Fill in parameters by name."""
        for name, value in values.items():
            row = block.locator(f'tr[data-param-name="{name}"]')
            add = row.get_by_role("button", name=re.compile("Add"))
            if add.count():
                add.click()
            row.locator("input").last.fill(str(value))

    def filled_in(self, block: Locator) -> dict[str, str]:
        """Parameters that hold a value, by name."""
        found: dict[str, str] = block.evaluate(
            """block => Object.fromEntries(
                [...block.querySelectorAll(".parameters input, .parameters select")]
                    .filter(field => field.value && field.type !== "file")
                    .map(field => [field.closest("tr").dataset.paramName, field.value]))"""
        )
        return found

    def attach(self, block: Locator) -> None:
        block.locator('input[type="file"]').set_input_files(files=[NO_BROWSER_FILE])  # type: ignore[list-item]

    def execute(self, block: Locator, operation: Operation) -> Executed:
        path = f"/api/{self.generation}{operation.path}"
        with self.page.expect_response(lambda answer: path in answer.url, timeout=PATIENCE_MS) as waited:
            block.locator(".execute").click()
        request = waited.value.request
        statuses = block.locator(".live-responses-table tbody .response-col_status")
        shown = statuses.filter(has_text=re.compile(r"^\d{3}")).first
        status = int((shown.text_content(timeout=PATIENCE_MS) or "")[:3])
        text = waited.value.text() if status != 204 else ""
        return Executed(request.method, request.url, request.headers, request.post_data, status, text)
