from hypothesis import given
from hypothesis import strategies as st

from flows.expressions.scanner import CONTEXT_ROOTS, TokenKind, find_text_end, has_expressions, scan_template

ROOTS = ("order", "_note", "名前")


def scan(template, roots=ROOTS):
    return [(token.kind.value, token.text) for token in scan_template(template, roots)]


def test_the_root_ignores_case_and_takes_letters_of_any_script():
    assert scan("@ORDER.Item") == [("identifier", "ORDER.Item")]
    assert scan("@名前") == [("identifier", "名前")]
    assert scan("@_note") == [("identifier", "_note")]


def test_a_name_cannot_begin_with_a_digit():
    assert not has_expressions("@1order", roots=None)


def test_a_text_that_ends_in_a_lone_backslash_is_closed_by_its_last_quote():
    assert find_text_end('"\\"', 0) == 3
    assert find_text_end('"\\" & "x"', 0) == 7
    assert find_text_end('"open', 0) is None


def test_the_roots_of_a_running_flow_are_known():
    assert {"contact", "results", "legacy_extra"} <= CONTEXT_ROOTS


@given(st.text(alphabet='@()". abc1\\_é', max_size=60))
def test_the_sources_of_all_pieces_give_the_template(template):
    tokens = list(scan_template(template))
    assert "".join(token.source for token in tokens) == template
    for token in tokens:
        if token.kind is TokenKind.BODY:
            assert token.text == (token.source if token.source != "@@" else "@")
