import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flows.urns import (
    SCHEMES,
    Urn,
    UrnError,
    check_urn,
    from_parts,
    normalize,
    parse,
    read_phone_urn,
    read_urn,
    validate,
)

UUID = "6a2f41a3-c54c-fce8-32d2-0324e1c32e22"


def test_an_address_has_scheme_path_query_and_display():
    assert parse("facebook:12345?id=7&id=8#Bob") == Urn("facebook", "12345", "id=7&id=8", "Bob")


def test_the_identity_leaves_out_query_and_display():
    assert parse("tel:+250788383383?id=7#Bob").identity == "tel:+250788383383"


def test_query_values_are_lists_by_name():
    assert parse("facebook:12345?id=7&id=8&x=").query_values == {"id": ["7", "8"], "x": [""]}


def test_only_the_first_colon_divides():
    assert parse("facebook:ref:abc").path == "ref:abc"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("xxxx", "path cannot be empty"),
        ("tel:", "path cannot be empty"),
        (":xxxx", "scheme cannot be empty"),
        ("tel:1#a#b", "fragment component can only come after path"),
        ("tel:1?a?b", "query component can only come after path"),
        ("", "scheme cannot be empty"),
    ],
)
def test_broken_syntax_names_the_broken_part(text, message):
    with pytest.raises(UrnError, match=message):
        parse(text)


@given(st.text(min_size=1), st.text())
def test_any_path_and_display_survive_being_written_and_parsed(path, display):
    urn = Urn("ext", path, "", display)

    assert parse(str(urn)) == urn


@pytest.mark.parametrize(
    ("text", "country", "expected"),
    [
        ("tel:250788383383", None, "tel:+250788383383"),
        ("tel:1(800)CABBAGE", None, "tel:+18002222243"),
        ("tel:000", None, "tel:000"),
        ("tel:MTN", None, "tel:mtn"),
        ("tel:+12345678901234567890", None, "tel:+12345678901234567890"),
        ("tel:0788 383 383", "RW", "tel:+250788383383"),
        ("tel:0788 383 383", "", "tel:0788383383"),
        ("mailto: nAme@domAIN.cOm ", None, "mailto:name@domain.com"),
        ("twitter: @jimmyJO", None, "twitter:jimmyjo"),
        ("ext: eXt# Bob ", None, "ext:eXt#Bob"),
        ("whatsapp:br.aBc", None, "whatsapp:BR.aBc"),
        ("bsuid:br.aBc", None, "bsuid:BR.aBc"),
        ("bsuid:12345", None, "bsuid:12345"),
        ("EXT:a", None, "ext:a"),
    ],
)
def test_normalizing_gives_one_form_per_address(text, country, expected):
    assert str(normalize(parse(text), country)) == expected


VALID = [
    "tel:+250788383383",
    "mailto:abcd+label@x.y.z.com",
    "twitter:billy_bob",
    "twitterid:12345#billy_bob",
    "facebook:12345",
    "facebook:ref:abc",
    "instagram:12345",
    "telegram:12345678901234567",
    "whatsapp:12354",
    "whatsapp:US.abc123DEF456",
    "bsuid:BR.1A2B3C",
    "viber:xy5/5y6O81+/kbWHpLhBoA==",
    f"freshchat:{UUID}/{UUID}",
    "line:Uasd224",
    "jiochat:12345",
    "webchat:aA3456789012345678901234",
    "ext:anything at all",
    "fcm:a:b-c",
    "slack:U0123ABCDEF",
]
INVALID = [
    "tel:12345",
    "tel:0722456789",
    "tel:prizes",
    "mailto:@@@",
    "mailto:no-domain@host",
    "twitter:sixteen_letters_",
    "twitter:billy bob",
    "twitterid:jimmyjo",
    "twitterid:1#not a handle",
    "facebook:abcdef",
    "instagram:abcdef",
    "telegram:abcdef",
    "whatsapp:+12067799294",
    "whatsapp:BRA.123",
    "bsuid:br.ABC123",
    "bsuid:BR." + "1" * 129,
    "viber:asdf!12354",
    "viber:" + "a" * 25,
    f"freshchat:{UUID}",
    "xyz:abc",
]


@pytest.mark.parametrize("text", VALID)
def test_paths_that_fit_their_scheme_are_valid(text):
    validate(parse(text))


@pytest.mark.parametrize("text", INVALID)
def test_paths_that_do_not_fit_their_scheme_are_refused(text):
    with pytest.raises(UrnError):
        validate(parse(text))


def test_every_scheme_of_the_table_is_known():
    assert {parse(text).scheme for text in VALID} <= set(SCHEMES)
    assert len(SCHEMES) == 21


@pytest.mark.parametrize("text", ["tel:5080", "tel:mtn", "tel:1", "tel:0788383383"])
def test_short_codes_and_names_of_senders_are_valid_when_lenient(text):
    check_urn(text, lenient=True)
    with pytest.raises(UrnError):
        check_urn(text, lenient=False)


@pytest.mark.parametrize("text", ["tel:PRIZES", "tel:+123", "tel:+prizes", "tel:07883 83383"])
def test_even_lenient_paths_are_clean(text):
    with pytest.raises(UrnError, match="invalid path component"):
        check_urn(text, lenient=True)


def test_the_length_of_a_path_counts_its_escaped_form():
    check_urn("ext:" + "%" * 66)
    with pytest.raises(UrnError, match="too long"):
        check_urn("ext:" + "%" * 67)


def test_an_address_has_at_most_255_characters():
    with pytest.raises(UrnError, match="255"):
        check_urn("ext:abc#" + "x" * 250)


def test_reading_a_number_without_country_needs_its_country_code():
    assert str(read_urn("tel:0722456789", "KE")) == "tel:+254722456789"
    with pytest.raises(UrnError):
        read_urn("tel:0722456789", "")


def test_a_path_of_punctuation_leaves_nothing():
    with pytest.raises(UrnError, match="empty"):
        read_urn("tel:*", "RW", lenient=True)


def test_addresses_are_made_from_parts_normalized_and_valid():
    urn = from_parts("ext", " 12345 ", {"id": ["2"]}, "cool")

    assert str(urn) == "ext:12345?id=2#cool"
    with pytest.raises(UrnError):
        from_parts("viber", "")


def test_phone_numbers_become_tel_addresses():
    assert str(read_phone_urn("0788383383", "RW")) == "tel:+250788383383"
    with pytest.raises(UrnError, match="not a possible number"):
        read_phone_urn("PRIZES", "RW", allow_sender=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("tel:+250788383383", "0788 383 383"), ("tel:+250788383383#Bob", "Bob"), ("twitter:bob", "bob")],
)
def test_addresses_are_shown_for_people(text, shown):
    assert parse(text).show() == shown


@given(st.sampled_from(SCHEMES), st.text(min_size=1, max_size=40))
@example("twitter", "@\r0")
def test_normalizing_twice_changes_nothing(scheme, path):
    once = normalize(Urn(scheme, path), "RW")

    assert normalize(once, "RW") == once
