"""The guides of `docs/` as pages, read from the source tree or from the folder where the package installs them."""

import html
import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

INDEX = "index"
EXAMPLES = ("clinic.json",)
INSTALLED = Path(sys.prefix) / "share" / "relayboard" / "docs"
GUIDE_LINK = re.compile(r"(?:docs/)?([a-z_-]+)\.md(#[a-z0-9-]+)?\Z")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""Notes for who writes the guides. HTML in guides is shown as text, so that comments would be, too."""
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


@cache
def guides_folder() -> Path:
    """The folder of the guides: next to the packages of the source tree, or in the installation's shared files."""
    source = Path(__file__).parents[2] / "docs"
    return source if (source / "operations.md").is_file() else INSTALLED


@cache
def guide_names() -> list[str]:
    """The files of the guides without their suffix, in alphabetical order."""
    return sorted(path.stem for path in guides_folder().glob("*.md"))


def render_guide(name: str) -> tuple[str, str]:
    """The title and the content of a guide as HTML; links to other guides lead to their pages. Of pictures, which are
    not installed, it has the description."""
    tokens = _parse(name)
    for token in tokens:
        for part in token.children or ():
            if part.type == "link_open":
                part.attrs["href"] = _page_of(str(part.attrs["href"]))
            elif part.type == "image":
                part.type, part.children = "text", None
    return html.escape(_title(tokens)), MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})


def render_list() -> str:
    """The guides by their titles, for the end of the index."""
    items = (
        f'<li><a href="{name}">{html.escape(_title(_parse(name)))}</a></li>' for name in guide_names() if name != INDEX
    )
    return f"<h2>All guides</h2>\n<ul>\n{chr(10).join(items)}\n</ul>"


def _parse(name: str) -> list[Token]:
    text = (guides_folder() / f"{name}.md").read_text(encoding="utf-8")
    return MARKDOWN.parse(COMMENT.sub("", text))


def _title(tokens: list[Token]) -> str:
    return next(after.content for token, after in pairwise(tokens) if token.tag == "h1")


def _page_of(target: str) -> str:
    found = GUIDE_LINK.match(target)
    if found is None or found[1] not in guide_names():
        return target
    return found[1] + (found[2] or "")
