"""What no terminal obeys."""

import pytest

from relayboard.base.terminal_text import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zoë 😀", "Zoë 😀"),
        ("a\nb", "a\nb"),
        ("a\x1b[2Jb\u202e\x9b\r\t", "a\\u001b[2Jb\\u202e\\u009b\\u000d\\u0009"),
    ],
)
def test_control_characters_are_codes_and_lines_stay(text: str, shown: str) -> None:
    assert printable(text) == shown
