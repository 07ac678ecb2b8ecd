"""The pages of docs/ as a person opens them from a disk, without a network."""

import shutil
from pathlib import Path

from playwright.sync_api import BrowserContext, Route

from tests.documentation import ROOT
from tools.docs_site import build_site


def test_docs_become_a_site_and_are_found_by_their_words_without_a_network(
    visitor: BrowserContext, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    built = tmp_path / "site"
    build_site(tmp_path, built)
    names = {path.stem for path in (tmp_path / "docs").rglob("*.md") if path.name != "README.md"}
    assert {path.stem for path in built.rglob("*.html")} == {*names, "404"}
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    visitor.route("http*://**", refuse)
    page = visitor.new_page()
    page.goto((built / "index.html").as_uri())
    page.keyboard.press("/")
    page.locator("input[aria-label=Search]").press_sequentially("bucket")
    page.locator("a[role=option][href$='#files-in-a-bucket']").first.click()

    page.locator("#files-in-a-bucket").wait_for()
    assert asked == []
