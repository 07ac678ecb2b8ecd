import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.expressions.parser import ExpressionSyntaxError, parse_expression, read_text_literal
from flows.expressions.syntax import TextLiteral, walk_expression


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("Foo.Bar [ 1 ]( 2,3 )", "foo.Bar[1](2, 3)"),
        ("( X,y )=>x+Y", "(x, y) => x + y"),
        ("TRUE", "true"),
        ("Null", "null"),
        ("010.50", "10.5"),
        ("1.0", "1"),
        ('"tab\\t"', '"tab\\t"'),
        ('"\\d+"', '"\\\\d+"'),
        ("f()", "f()"),
        ("--1", "--1"),
        ("a.0.b", "a.0.b"),
    ],
)
def test_the_tree_prints_canonically(written, printed):
    assert str(parse_expression(written)) == printed
    assert str(parse_expression(printed)) == printed


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("1 +", ""),
        ("", ""),
        ("a b", "b"),
        ('"x".y', ".y"),
        ("null[0]", "[0]"),
        ("2.5.1", ".1"),
        ("a.0.1", "0.1"),
        ("(a, b)", ", b)"),
        ("f(1,)", ")"),
        ("a == b", "= b"),
        ("'single quotes are long'", "'single qu"),
        ("1 +\n  ?\n", "?"),
        ("[1]", "[1]"),
        (")", ")"),
        ("(1]", "]"),
    ],
)
def test_a_syntax_error_shows_ten_characters_from_its_place(expression, place):
    with pytest.raises(ExpressionSyntaxError) as caught:
        parse_expression(expression)
    assert str(caught.value) == f"syntax error at {place}"


def test_a_hundred_brackets_may_nest_but_not_more():
    assert parse_expression("(" * 100 + "1" + ")" * 100)
    for opening, closing in (("(", ")"), ("a[", "]"), ("f(", ")")):
        with pytest.raises(ExpressionSyntaxError, match="nesting too deep"):
            parse_expression(opening * 101 + "1" + closing * 101)


@pytest.mark.parametrize("expression", ["1" + " + 1" * 20_000, "a" + ".b" * 20_000, "-" * 20_000 + "1"])
def test_long_expressions_need_no_deep_stack(expression):
    tree = parse_expression(expression)
    assert sum(1 for _ in walk_expression(tree)) > 20_000
    assert str(tree) == expression


def test_anonymous_functions_cannot_nest_without_end():
    with pytest.raises(ExpressionSyntaxError, match="nesting too deep"):
        parse_expression("(x) => " * 600 + "x")


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (r'"a\nb"', "a\nb"),
        (r'"a\\b"', r"a\b"),
        (r'"\u0041\U0001F600"', "A😀"),
        (r'"\w+\n"', r"\w+\n"),
        (r'"\u12"', r"\u12"),
        (r'"\ud800"', r"\ud800"),
        (r'"\u0000"', r"\u0000"),
        (r'"\U00110000"', r"\U00110000"),
        (r'"say \"hi\""', 'say "hi"'),
    ],
)
def test_a_text_with_any_invalid_escape_is_taken_as_it_is(literal, text):
    assert read_text_literal(literal) == text


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_a_printed_text_reads_back_as_itself(text):
    printed = str(TextLiteral(text))
    parsed = parse_expression(printed)
    assert isinstance(parsed, TextLiteral)
    assert parsed.value == text


@given(st.text(alphabet='()[].,+-*/^&=<>! "\\abx01_?\n', max_size=40))
def test_any_text_is_an_expression_or_a_syntax_error(text):
    try:
        printed = str(parse_expression(text))
    except ExpressionSyntaxError:
        return
    assert str(parse_expression(printed)) == printed
