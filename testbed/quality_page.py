"""The page docs/quality.md, of which each command writes one section."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "quality.md"
TITLES = (
    "Faults",
    "Workers that die or freeze",
    "Answers in a circle",
    "Mirrors",
    "Fuzz",
    "Files of strangers",
    "Soak",
    "Mutants",
    "Cases that stand back",
)
"""The sections in their order."""


def replace_section(title: str, text: str, page: Path) -> None:
    """Replaces the section of any page that has this title, or adds it at the end; the others stay as they are."""
    before, found, rest = f"{page.read_text(encoding='utf-8').rstrip()}\n".partition(f"## {title}\n")
    after = re.search(r"^## ", rest, flags=re.MULTILINE) if found else None
    others = f"\n{rest[after.start() :]}" if after else ""
    page.write_text(f"{before.rstrip()}\n\n## {title}\n\n{text.strip()}\n{others}", encoding="utf-8")


def write_section(title: str, text: str, page: Path = PAGE) -> None:
    """Replaces the section with this title, or adds it at its place. `text` is Markdown without the title."""
    head, *parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True)) | {title: f"\n{text.strip()}\n"}
    rest = "\n".join(f"## {name}\n\n{sections[name].strip()}\n" for name in TITLES if name in sections)
    page.write_text(f"{head.strip()}\n\n{rest}", encoding="utf-8")
