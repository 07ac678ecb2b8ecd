"""URLs of requests: what is refused, and what the inner layers get of the others."""

from urllib.parse import parse_qs, quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.asgi.plain_responses import Refusal
from handlers.asgi.request_checks import URL_LIMIT_BYTES, check_url


def checked(path: bytes, query: bytes = b"") -> bytes:
    """The query as the inner layers see it."""
    scope = {"path": path.decode("latin-1"), "raw_path": path, "query_string": query, "headers": []}
    check_url(scope)
    result: bytes = scope["query_string"]
    return result


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (b"a=%", "badly escaped"),
        (b"a=%4", "badly escaped"),
        (b"a=%zz", "badly escaped"),
        (b"a=%00", "NUL"),
        (b"%00=a", "NUL"),
        (b"a=\x00", "NUL"),
        (b"a=%ff", "not valid UTF-8"),
        (b"a=%ed%a0%80", "not valid UTF-8"),
        (b"a=\xff", "not valid UTF-8"),
        (b"a=%c3&b=%a9", "not valid UTF-8"),
    ],
)
def test_a_query_that_is_no_text_is_refused_and_so_is_a_path(query, reason):
    for arguments in ((b"/api/v2/labels.json", query), (b"/api/v2/" + query, b"")):
        with pytest.raises(Refusal, match=reason) as refused:
            checked(*arguments)

        assert refused.value.status == 400


def test_path_and_query_together_have_a_limit():
    path = b"/" + b"p" * 99
    longest = b"a=" + b"x" * (URL_LIMIT_BYTES - 102)

    assert checked(path, longest) == longest
    with pytest.raises(Refusal, match="longer than 8192 bytes"):
        checked(path, longest + b"x")


def test_text_that_a_client_did_not_escape_is_escaped_for_the_inner_layers():
    assert checked(b"/", "name=Café&x=%C3".encode() + b"\xa9") == b"name=Caf%C3%A9&x=%C3%A9"


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_every_text_can_be_asked_for(text):
    query = f"name={quote(text)}".encode()

    assert checked(b"/", query) == query
    assert parse_qs(query.decode())["name"] == [text]
