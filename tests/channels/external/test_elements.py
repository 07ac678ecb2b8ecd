"""XML of strangers is bounded, whatever it contains."""

import pytest

from channels.calls import Unread
from channels.external.elements import MOST_BYTES, MOST_DEPTH, MOST_ELEMENTS, read_xml


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("<s>" + "a" * MOST_BYTES + "</s>", "more than 256 KiB"),
        ("<a>" * (MOST_DEPTH + 1) + "</a>" * (MOST_DEPTH + 1), "inside each other"),
        ("<s>" + "<a/>" * MOST_ELEMENTS + "</s>", "elements"),
        ("<s " + " ".join(f'a{number}=""' for number in range(MOST_ELEMENTS)) + "/>", "elements"),
        ("", "is not XML"),
        ("<a/><b/>", "is not XML"),
        ("<!DOCTYPE a><a/>", "document type"),
        ("<!DOCTYPE a SYSTEM 'http://example.org/a.dtd'><a/>", "document type"),
        ('<?xml version="1.0" encoding="utf-7"?><a/>x', "is not XML"),
    ],
    ids=lambda each: each[:20],
)
def test_what_is_too_large_deep_or_dangerous_is_refused(content: str, said: str) -> None:
    with pytest.raises(Unread, match=said):
        read_xml(content.encode())


def test_the_deepest_that_is_allowed_is_read() -> None:
    found = read_xml(("<a>" * MOST_DEPTH + "x" + "</a>" * MOST_DEPTH).encode())

    for _ in range(MOST_DEPTH - 1):
        found = found["a"]
    assert found == "x"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("<a>x</a>", {"#text": "x"}),
        ("<a/>", {"#text": ""}),
        ('<a b="1">x</a>', {"@b": "1", "#text": "x"}),
        ("<a><b/> <b>2</b><n:c xmlns:n='u'>3</n:c></a>", {"b": ["", "2"], "c": "3"}),
        ("<a><!-- no --><?do no?>x<![CDATA[<y>]]></a>", {"#text": "x<y>"}),
    ],
)
def test_elements_become_objects_lists_and_texts(content: str, found: object) -> None:
    assert read_xml(content.encode()) == found
