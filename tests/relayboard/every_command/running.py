"""Running a command in this process as the console script does, and judging what it says."""

import io
import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from relayboard.cli import main
from tests.relayboard.every_command.leaves import Leaf
from tests.relayboard.every_command.world import World

NOUN_OPTIONS = ":"
TYPED = "<"
SHAMEFUL = ("Traceback", "fault of Relayboard", "{'", "['", "object at 0x", "errno", "Errno", "Max retries")


@dataclass(frozen=True, slots=True)
class Said:
    """What a command wrote, and its exit status."""

    status: int
    out: str
    err: str


Run = Callable[..., Said]


def arrange(words: Leaf, text: str, world: World) -> tuple[list[str], str]:
    """The arguments of a case, and what is typed. Options before a colon stand between noun and verb."""
    parts = [part.format(**world.names) for part in shlex.split(text)]
    typed = ""
    if TYPED in parts:
        place = parts.index(TYPED)
        parts, typed = parts[:place], parts[place + 1]
    if NOUN_OPTIONS in parts:
        place = parts.index(NOUN_OPTIONS)
        return [*words[:1], *parts[:place], *words[1:], *parts[place + 1 :]], typed
    return [*words, *parts], typed


def run_here(
    arguments: list[str], typed: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Said:
    capfd.readouterr()
    monkeypatch.setattr("sys.stdin", io.StringIO(typed + "\n"))
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = int(str(ended.code))
    written = capfd.readouterr()
    return Said(status, written.out, written.err)


def find_fault(said: Said, *, writes_text: bool) -> str:
    """What is wrong with how a command ended; nothing when all is well."""
    shameful = [word for word in SHAMEFUL if word in said.err]
    if shameful:
        return f"stderr holds {shameful[0]!r}"
    if "+00:00" in said.out:
        return "a moment is not written as the API writes it"
    if said.status == 0:
        return "" if writes_text or _is_json(said.out) else "stdout is not JSON"
    lines = said.err.splitlines()
    if said.out and not writes_text:
        return "a command that failed wrote to stdout"
    if said.status == 1:
        is_sentence = len(lines) == 1 and lines[0].startswith("relayboard: ") and lines[0].isprintable()
        return "" if is_sentence or writes_text else "stderr is not one sentence"
    if said.status == 2:
        is_usage = (
            said.err.startswith("usage: relayboard") and lines[-1].startswith("relayboard") and ": error: " in lines[-1]
        )
        return "" if is_usage else "stderr does not say what is wrong with the usage"
    return f"exit status {said.status}"


def _is_json(text: str) -> bool:
    try:
        return [json.loads(line) for line in text.splitlines()] != []
    except ValueError:
        return False
