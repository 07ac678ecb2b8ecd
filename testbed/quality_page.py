"""The page docs/quality.md, of which each command writes one section."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "quality.md"
TITLES = ("Faults", "Fuzz", "Soak", "Mutants")
"""The sections in their order."""


def write_section(title: str, text: str, page: Path = PAGE) -> None:
    """Replaces the section with this title, or adds it at its place. `text` is Markdown without the title."""
    head, *parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True)) | {title: f"\n{text.strip()}\n"}
    rest = "\n".join(f"## {name}\n\n{sections[name].strip()}\n" for name in TITLES if name in sections)
    page.write_text(f"{head.strip()}\n\n{rest}", encoding="utf-8")
