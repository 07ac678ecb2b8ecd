import pytest

from tests.flows.expressions.evaluating import error_of, text_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('split("it\'s 2 late!")', "[it's, 2, late]"),
        ('split("a;b,,c", ",;")', "[a, b, c]"),
        ('split("a]b^c", "^]")', "[a, b, c]"),
        ('split("", ",")', "[]"),
        ('split("a b", null)', "[a, b]"),
        ('word("one, two", -1)', "two"),
        ('word("a:b c", 1, ":")', "b c"),
        ('word_count("a-b 😀")', "3"),
        ('word_slice("a b c d", 1, 3)', "b c"),
        ('word_slice("a b c d", 2)', "c d"),
        ('word_slice("a b c d", 2, -5)', "c d"),
        ('word_slice("a b", 5)', ""),
        ('word_slice("a_b_c", 1, 9, "_")', "b c"),
        ('remove_first_word("join, the club!")', "the club!"),
        ('remove_first_word("¡hola! ")', ""),
        ('remove_first_word("a aa")', "aa"),
        ('field("a, b ,c", 1, ",")', "b"),
        ('field("a  b   c", 2, " ")', "c"),
        ('field("abc", 1, "")', "b"),
        ('field("a,b", 7, ",")', ""),
    ],
)
def test_word_functions_give_their_documented_values(expression, expected):
    assert text_of(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        'word("a b", 2)',
        'word("a b", -3)',
        'word_slice("a b", -1)',
        'word_slice("a b", 1, 1)',
        'field("a", -1, ",")',
    ],
)
def test_word_functions_refuse_invalid_arguments(expression):
    assert error_of(expression).startswith("error calling ")


def test_a_split_gives_at_most_ten_thousand_words():
    assert text_of("count(split(text))", text="x " * 10_000) == "10000"
    assert "10000" in error_of("split(text)", text="x " * 10_001)
