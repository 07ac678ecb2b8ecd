"""The guides of `docs/` as pages, read from the source tree or from where the package installs them."""

import html
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

GUIDES = {
    "webhooks": "What the service sends to you, and how to check it",
    "flows": "Conversations that run by themselves",
    "services": "Services that flows ask",
    "migrating": "Moving a workspace here",
    "operating": "Installing, running and looking after the service",
    "operations": "Every operation of the API in one table",
    "decisions": "The rules that no specification states",
}
"""The name of each guide's file, and what it is about."""
INSTALLED = Path(sys.prefix) / "share" / "relayboard" / "docs"
GUIDE_LINK = re.compile(r"(?:docs/)?([a-z]+)\.md(#[a-z0-9-]+)?\Z")


@cache
def guides_folder() -> Path:
    """Where the guides are: beside the packages of the source tree, else in the installation's shared files."""
    source = Path(__file__).parents[1] / "docs"
    return source if (source / "operations.md").is_file() else INSTALLED


def render_guide(name: str) -> tuple[str, str]:
    """The title and the content of a guide as HTML; its links to other guides lead to their pages."""
    text = (guides_folder() / f"{name}.md").read_text(encoding="utf-8")
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs["href"] = _page_of(str(part.attrs["href"]))
    title = next(after.content for token, after in pairwise(tokens) if token.tag == "h1")
    return html.escape(title), markdown.renderer.render(tokens, markdown.options, {})


def render_list() -> str:
    items = (f'<li><a href="{name}">{html.escape(text)}</a></li>' for name, text in GUIDES.items())
    return f"<h1>Guides</h1>\n<ul>\n{chr(10).join(items)}\n</ul>"


def _page_of(target: str) -> str:
    found = GUIDE_LINK.match(target)
    if found is None or found[1] not in GUIDES:
        return target
    return found[1] + (found[2] or "")
