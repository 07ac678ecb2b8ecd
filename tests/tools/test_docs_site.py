"""docs/ as a site: every page has its place, no link leads nowhere, and nothing comes from the network. The whole site
is built in tests/browser/test_docs_site.py.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documentation import ROOT
from tools.docs_site import BuildFailed, build_site

PAGES = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small site of its own, with the settings of the real one."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    settings["nav"] = ["index.md", "other.md"]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(settings))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n\nSee [a part](other.md#a-part).\n")
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## A part\n\nSomething.\n")
    return tmp_path


def list_nav(entries: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += list_nav(value) if isinstance(value, list) else [value]
    return found


def test_every_page_has_one_place_in_the_navigation() -> None:
    nav = list_nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])

    assert sorted(nav) == sorted(str(path.relative_to(ROOT / "docs")) for path in PAGES)


def test_links_that_lead_nowhere_end_the_build(source: Path) -> None:
    with (source / "docs" / "index.md").open("a") as page:
        page.write("\n[Broken](missing.md)\n\n[Broken](other.md#no-part)\n\n[Broken](../elsewhere.md)\n")

    with pytest.raises(BuildFailed) as failed:
        build_site(source, source / "site")

    assert re.findall(r"index\.md:(\d+)", str(failed.value)) == ["5", "7", "9"]


def test_a_picture_from_the_network_ends_the_build(source: Path) -> None:
    with (source / "docs" / "index.md").open("a") as page:
        page.write("\n![Logo](https://example.org/logo.png)\n")

    with pytest.raises(BuildFailed, match=r"takes https://example\.org/logo\.png from the network"):
        build_site(source, source / "site")
