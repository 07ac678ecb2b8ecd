"""The page of commands is what the command line says."""

from tests.documentation import ROOT
from tools.command_page import render_page


def test_the_page_of_commands_is_current() -> None:
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == render_page()
