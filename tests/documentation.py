"""The examples of README and docs/: blocks that are indented or fenced, and commands within sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
FENCE = re.compile(r"^```(\w*)$")
INLINE = re.compile(r"`((?:relayboard|\.venv/bin/relayboard) [^`]+)`")


@dataclass(frozen=True, slots=True)
class Block:
    """An example: its text without indent, the page and line it begins at, and why it is not run if it is not."""

    page: Path
    line: int
    text: str
    reason: str | None
    language: str = ""

    @property
    def kind(self) -> str:
        """`shell`, `json`, `python`, `yaml`, or nothing for what is none of them."""
        if self.language:
            return self.language
        first = self.text.lstrip().split("\n", 1)[0]
        if re.match(r"(relayboard|make|curl|source|python) ", first):
            return "shell"
        if first.startswith(("{", "[")):
            return "json"
        if re.match(r"(from|import) \w", first):
            return "python"
        return "yaml" if re.match(r"(- )?\w+:", first) else ""

    @property
    def name(self) -> str:
        return f"{self.page.name}:{self.line}"


def read_blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    reason, index = None, 0
    while index < len(lines):
        line = lines[index]
        start = index
        fence = FENCE.match(line)
        if fence:
            index += 1
            while lines[index] != "```":
                index += 1
            yield Block(page, start + 1, "\n".join(lines[start + 1 : index]), reason, fence.group(1))
            reason = None
        elif line.startswith("    ") and not lines[max(index - 1, 0)].strip():
            while index < len(lines) and (lines[index].startswith("    ") or not lines[index].strip()):
                index += 1
            text = "\n".join(each[4:] for each in lines[start:index]).rstrip()
            yield Block(page, start + 1, text, reason)
            reason = None
            continue
        elif line.strip():
            marked = NOT_RUN.match(line)
            reason = marked.group(1) if marked else None
        index += 1


def read_inline_commands(page: Path) -> list[str]:
    """Commands within sentences; decisions tell of commands, they are no instructions."""
    return [found for found in INLINE.findall(page.read_text(encoding="utf-8").replace("\n", " "))]


def expand(command: str) -> list[str]:
    """A command without what may be left out, and with all of it: `[--match only]` stands for both."""
    plain = command.replace(" ...", "")
    if "[" not in plain:
        return [plain]
    return [re.sub(r"\s*\[[^\]]*\]", "", plain), plain.replace("[", "").replace("]", "")]
