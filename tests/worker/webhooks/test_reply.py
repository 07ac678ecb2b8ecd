import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.webhooks.dispatcher import Reply, read_answer

AMINA = "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21"


def read(**fields):
    return message_in(json.dumps(fields).encode(), "KE")


def message_in(body, country=""):
    found = read_answer(body, country)
    return found if isinstance(found, Reply) else None


def test_a_message_to_urns_and_contacts():
    reply = read(urn=["tel:+254722000111"], contact=[AMINA], text="Yes, from 8 to 12.")

    assert reply == Reply("Yes, from 8 to 12.", ("tel:+254722000111",), (AMINA,))


def test_a_single_text_counts_as_a_list_of_one():
    assert read(urn="tel:+254722000111", contact=AMINA.upper(), text="x") == read(
        urn=["tel:+254722000111"], contact=[AMINA], text="x"
    )


def test_numbers_are_read_in_the_country_of_the_workspace():
    assert read(urn=["tel:0722 000 111", "tel:+254722000111"], text="x").urns == ("tel:+254722000111",)


def test_text_alone_is_enough_and_other_keys_do_not_matter():
    assert read(text="x", channel=12, urn=None) == Reply("x")


def test_text_has_at_most_480_characters():
    assert read(text="é" * 480) == Reply("é" * 480)
    assert read(text="é" * 481) is None


@pytest.mark.parametrize(("name", "made"), [("contact", AMINA), ("urn", "tel:+254722000111")])
def test_a_hundred_recipients_of_a_kind_are_the_most(name, made):
    assert read(text="x", **{name: [made] * 100}) is not None
    assert read(text="x", **{name: [made] * 101}) is None


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"OK", b"null", b"[]", b'"text"', b"{}", b'{"text": 1}', b'{"text": ""}', b'{"text": " "}'),
        *(b'{"text": "a\\u0000b"}', b'{"text": "\\ud800"}', b'{"text": "\xff"}', b'{"text": NaN}', b'{"text": "x"'),
        *(b'{"text": "x", "urn": 5}', b'{"text": "x", "urn": {}}', b'{"text": "x", "urn": [null]}'),
        *(b'{"text": "x", "urn": ["nobody"]}', b'{"text": "x", "urn": ["tel:+254722000111", "x:1"]}'),
        *(b'{"text": "x", "contact": ["12"]}', b'{"text": "x", "contact": [[]]}', b"[" * 100_000),
        b'{"text": "x", "contact": [' + b'"6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21",' * 100 + b'""]}',
    ],
)
def test_what_is_not_valid_is_no_reply(body):
    assert message_in(body) is None


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_no_answer_is_ever_an_error(body):
    assert message_in(body if isinstance(body, bytes) else body.encode()) is None
