import pytest

from tests.flows.expressions.evaluating import error_of, text_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("char(65)", "A"),
        ("char(0)", "\0"),
        ("char(-1) & char(1114112) & char(55296)", "\ufffd\ufffd\ufffd"),
        ('code("é!")', "233"),
        ('trim("  x ") & "|"', "x|"),
        ('trim("--x-", "-")', "x"),
        ('trim_left("--x-", "-")', "x-"),
        ('trim_right("--x-", "-")', "--x"),
        ('trim(" x ", null)', "x"),
        ('upper("straße")', "STRAßE"),
        ('lower("ΟΔΟΣ")', "οδοσ"),
        ('lower("İX")', "ix"),
        ('upper("ᾳŉ")', "ᾼŉ"),
        ('title("ᾳβ İZMİR")', "ᾼβ Izmir"),
        ('title("the o\'neil TWIN-set")', "The O'neil Twin-Set"),
        ('title("élan")', "Élan"),
        ('clean("a\\u0007b\\nc d\\u200b")', "abc d"),
        ('text_slice("abcdef", 1, 3)', "bc"),
        ('text_slice("abcdef", -2)', "ef"),
        ('text_slice("abcdef", 4, 2)', ""),
        ('text_slice("abcdef", -99, 99)', "abcdef"),
        ('text_length("a😀")', "2"),
        ('text_compare("a", "b")', "-1"),
        ('text_compare("b", "a")', "1"),
        ('repeat("ab", 3)', "ababab"),
        ('repeat("", 20000)', ""),
        ('replace("a-b-c", "-", "+")', "a+b+c"),
        ('replace("a-b-c", "-", "+", 1)', "a+b-c"),
        ('replace("ab", "", ".")', ".a.b."),
        ('regex_match("Tel 55 66", "(\\d+) (\\d+)")', "55 66"),
        ('regex_match("Tel 55 66", "(\\d+) (\\d+)", 2)', "66"),
        ('regex_match("ABC", "b")', "B"),
        ('regex_match("x\ny", "^y")', "y"),
        ('regex_match("b", "(a)?b", 1)', ""),
        ('url_encode("a b/ü~-_.")', "a%20b%2F%C3%BC~-_."),
        ('html_decode("&lt;b&gt;&nbsp;&#39;")', "<b> '"),
        ('read_chars("+123456")', "1 2 3 , 4 5 6"),
        ('read_chars("12345678")', "1 2 3 4 , 5 6 7 8"),
        ('read_chars("12345")', "1 , 2 , 3 , 4 , 5"),
        ("percent(0.125)", "13%"),
        ("percent(-0.005)", "-1%"),
    ],
)
def test_text_functions_give_their_documented_values(expression, expected):
    assert text_of(expression) == expected


@pytest.mark.parametrize(
    "expression",
    [
        'code("")',
        'repeat("x", -1)',
        'repeat("xx", 5001)',
        'regex_match("x", "y")',
        'regex_match("x", "x", 1)',
        'regex_match("x", "x", -1)',
        'regex_match("x", "(")',
        'regex_match("x", "(?<=a)x")',
        "percent(10 ^ 20)",
    ],
)
def test_text_functions_refuse_invalid_arguments(expression):
    assert error_of(expression).startswith("error calling ")


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
