"""The report as a page and as text."""

from typing import Any

import pytest

from relayboard.move.report import headline, write_page, write_text

NAME = "<b>Ann & Co</b>"


def report(**changes: Any) -> dict[str, Any]:
    numbers = {"there": 3, "here": 2, "carried": 2, "lost": 0, "missing": 1, "samples": 2, "different": 1}
    difference = {"reference": "r", "field": "name", "there": NAME, "here": "Bob"}
    kind = {"kind": "label", "title": "labels", **numbers, "missing_names": [NAME], "differences": [difference]}
    missing = {"type": "missing_dependency", "dependency": {"type": "channel", "name": "Front desk"}}
    return {
        "workspace": {"uuid": "u", "name": NAME},
        "source": {"url": "https://old.example.org", "name": NAME},
        "is_complete": True,
        "is_equal": False,
        "settings": [{"name": "languages", "there": ["eng", "kin"], "here": ["eng"]}],
        "kinds": [kind],
        "lost": {
            "group": {
                "number": 1201,
                "reasons": [{"why": "too many", "number": 1201}],
                "records": [{"name": NAME, "why": "too many", "is_here": False}],
            }
        },
        "flows": [{"uuid": "f", "name": NAME, "issues": [missing]}],
        "checklist": [{"step": "copy", "state": "done", "text": "Copy"}, {"step": "x", "state": "open", "text": NAME}],
        **changes,
    }


def test_a_page_says_everything_and_what_names_contain_is_text() -> None:
    page = write_page(report())

    assert NAME not in page
    assert page.count("&lt;b&gt;Ann &amp; Co&lt;/b&gt;") >= 7
    for said in ("There are differences", "eng, kin", "and 1,200 more", "missing dependency (channel Front desk)"):
        assert said in page


def test_a_text_says_the_same() -> None:
    text = write_text(report())

    for said in (
        "[x] Copy",
        f"[ ] {NAME}",
        "1,201 times: too many",
        f"labels: {NAME} is missing",
        f"labels: r, name: {NAME} there, Bob here",
        f"  {NAME}: missing dependency (channel Front desk)",
        "setting languages: eng, kin there, eng here",
    ):
        assert said in text


def test_no_terminal_obeys_what_the_other_server_calls_its_records() -> None:
    named = "Ann\x1b]0;owned\x07\u202e"
    source = {"url": "https://old.example.org", "name": named}
    kind = {**report()["kinds"][0], "missing_names": [named]}
    flow = {"uuid": "f", "name": named, "issues": []}

    text = write_text(report(workspace={"uuid": "u", "name": named}, source=source, kinds=[kind], flows=[flow]))

    assert text.count("Ann\\u001b]0;owned\\u0007\\u202e") == 4
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"is_complete": False}, "The move is not complete: run the command again."),
        ({"is_equal": None}, "Everything was read; both sides have not been compared yet."),
        ({"is_equal": True}, "Both sides agree."),
    ],
)
def test_the_first_sentence_says_how_it_stands(changes: dict[str, Any], sentence: str) -> None:
    assert headline(report(**changes)) == sentence
