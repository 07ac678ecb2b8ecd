from hypothesis import given
from hypothesis import strategies as st

from flows.expressions.scanner import CONTEXT_ROOTS, TokenKind, find_text_end, has_expressions, scan_template

ROOTS = ("order", "_note", "名前")


def scan(template, roots=ROOTS):
    return [(token.kind.value, token.text) for token in scan_template(template, roots)]


def test_a_known_root_and_its_parts_are_an_identifier():
    assert scan("Buy @order.item.0 now") == [("body", "Buy "), ("identifier", "order.item.0"), ("body", " now")]


def test_the_root_ignores_case_and_takes_letters_of_any_script():
    assert scan("@ORDER.Item") == [("identifier", "ORDER.Item")]
    assert scan("@名前") == [("identifier", "名前")]
    assert scan("@_note") == [("identifier", "_note")]


def test_an_unknown_root_stays_literal():
    assert all(kind == "body" for kind, _ in scan("ask bob@site.com or @support"))


def test_a_dot_belongs_to_the_identifier_only_before_another_name():
    assert scan("@order.") == [("identifier", "order"), ("body", ".")]
    assert scan("@order...") == [("identifier", "order"), ("body", "...")]


def test_a_name_cannot_begin_with_a_digit():
    assert not has_expressions("@1order", roots=None)


def test_parentheses_balance_and_those_in_texts_do_not_count():
    assert scan('@(f(1) & ")") end') == [("expression", 'f(1) & ")"'), ("body", " end")]
    assert scan('@("a\\")b")') == [("expression", '"a\\")b"')]


def test_without_its_closing_parenthesis_the_rest_is_literal():
    assert scan("@(order @order") == [("body", "@(order @order")]


def test_a_doubled_sign_is_a_literal_one():
    assert [token.text for token in scan_template("@@order", ROOTS)] == ["@", "order"]
    assert scan("@@@order") == [("body", "@"), ("identifier", "order")]


def test_a_lone_sign_is_literal():
    assert scan("@") == [("body", "@")]
    assert scan("@ (1)") == [("body", "@"), ("body", " (1)")]


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
