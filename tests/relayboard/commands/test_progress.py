"""Progress bars are for the stderr of a terminal."""

import sys

import pytest

from relayboard.commands.progress import show_progress


def test_nobody_else_sees_them(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("Restoring") as progress:
        progress(1, 2)

    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_done_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")

    with show_progress("Restoring") as progress:
        progress(50, 100)

    said = capsys.readouterr()
    assert said.out == "" and "Restoring" in said.err and "50/100" in said.err
