"""Functions on texts, rule by rule: what each of them gives, and what it refuses."""

from __future__ import annotations

import pytest

from tests.flows.expressions.evaluating import error_of, outcome_of, text_of


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("char(65)", '"A"'),
        ('char("65.9")', '"A"'),
        ("char(8364)", '"€"'),
        ("char(128519)", '"😇"'),
        ("code(char(1114112))", "65533"),
        ("code(char(55296))", "65533"),
        ("code(char(-1))", "65533"),
        ("code(char(0))", "0"),
        ('char("x")', "error"),
        ('code("€uro")', "8364"),
        ('code("😇 x")', "128519"),
        ('code("")', "error"),
        ("code(null)", "error"),
        ('char(code("ñ"))', '"ñ"'),
    ],
)
def test_characters_are_made_of_code_points_and_read_back(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('split("one two,three; four")', '["one","two","three","four"]'),
        ("split(\"rock'n'roll re-run a_b\")", '["rock\'n\'roll","re","run","a_b"]'),
        ('split("a-b_c", "-_")', '["a","b","c"]'),
        ('split("a--b-", "-")', '["a","b"]'),
        ('split("uno  dos", " ")', '["uno","dos"]'),
        ('split("x.y|z", "|.")', '["x","y","z"]'),
        ('split("a]b^c", "^]")', '["a","b","c"]'),
        ('split("", "")', "[]"),
        ('split("", ",")', "[]"),
        ('split("a,b", null)', '["a","b"]'),
        ('split(12.5, ".")', '["12","5"]'),
        ('split("💛💚 ok")', '["💛","💚","ok"]'),
    ],
)
def test_texts_split_into_words_or_between_delimiters(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'trim("  \t tea \n")', '"tea"'),
        ('trim("**tea**", "*")', '"tea"'),
        ('trim("xyteayx", "yx")', '"tea"'),
        ('trim(" tea ", "")', '"tea"'),
        ('trim(" tea ", null)', '"tea"'),
        ("trim(null)", '""'),
        ('trim("t.e.a..", ".")', '"t.e.a"'),
        ('trim_left("__a__", "_")', '"a__"'),
        ('trim_left("  a ")', '"a "'),
        ('trim_right("__a__", "_")', '"__a"'),
        ('trim_right("  a ")', '"  a"'),
        ('trim("a", "b", "c")', "error"),
    ],
)
def test_trimming_takes_space_or_the_given_characters(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('upper("straße")', '"STRAßE"'),
        ('upper("ñandú")', '"ÑANDÚ"'),
        ('upper("ὀδός")', '"ὈΔΌΣ"'),
        ('upper("ᾳŉ")', '"ᾼŉ"'),
        ('lower("ΟΔΟΣ")', '"οδοσ"'),
        ('title("ᾳβ İZMİR")', '"ᾼβ Izmir"'),
        ('lower("STRASSE ÉTÉ")', '"strasse été"'),
        ('lower("İZMİR")', '"izmir"'),
        ('title("the QUICK brown")', '"The Quick Brown"'),
        ("title(\"don't o'NEILL re-run\")", "\"Don't O'neill Re-Run\""),
        ('title("élan vital")', '"Élan Vital"'),
        ('title("")', '""'),
        ("title(12)", '"12"'),
    ],
)
def test_case_is_mapped_letter_by_letter(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('word("ein zwei drei", 0)', '"ein"'),
        ('word("ein zwei drei", 2)', '"drei"'),
        ('word("ein zwei drei", -1)', '"drei"'),
        ('word("ein zwei drei", -3)', '"ein"'),
        ('word("ein zwei drei", 3)', "error"),
        ('word("ein zwei drei", -4)', "error"),
        ('word("ein zwei drei", "1")', '"zwei"'),
        ('word("ein zwei drei", 1.7)', '"zwei"'),
        ('word("ein, zwei drei", 1, ",")', '" zwei drei"'),
        ('word("a::b", 1, ":")', '"b"'),
        ('word("", -1)', "error"),
        ("word(null, 0)", "error"),
        ('word("ein", "x")', "error"),
        ('word_count("ein zwei-drei")', "3"),
        ('word_count("a b,c d", ",")', "2"),
        ('word_count("...")', "0"),
        ("word_count(null)", "0"),
        ("word_count(3.14)", "2"),
    ],
)
def test_words_are_counted_from_zero_or_from_the_end(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('word_slice("a b c d", 1, 3)', '"b c"'),
        ('word_slice("a b c d", 0)', '"a b c d"'),
        ('word_slice("a b c d", 3)', '"d"'),
        ('word_slice("a b c d", 4)', '""'),
        ('word_slice("a b c d", 2, 2)', "error"),
        ('word_slice("a b c d", 2, 1)', "error"),
        ('word_slice("a b c d", 2, -1)', '"c d"'),
        ('word_slice("a b c d", 1, 0)', '"b c d"'),
        ('word_slice("a b c d", 0, 99)', '"a b c d"'),
        ('word_slice("a b c d", -1)', "error"),
        ('word_slice("a.b.c d", 1, 3, ".")', '"b c d"'),
        ('word_slice("a-b c", 0, -1, null)', '"a b c"'),
    ],
)
def test_slices_of_words_end_before_their_end(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('remove_first_word("eat,  more, fruit!")', '"more, fruit!"'),
        ('remove_first_word("😀 rest of it")', '"rest of it"'),
        ('remove_first_word("  lonely ")', '""'),
        ('remove_first_word("a aa")', '"aa"'),
        ('remove_first_word("")', '""'),
        ("remove_first_word(null)", '""'),
    ],
)
def test_the_first_word_is_removed_and_the_rest_stays_as_written(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('field("a,b , c", 1, ",")', '"b"'),
        ('field("a,,c", 1, ",")', '""'),
        ('field("a  b   c", 2, " ")', '"c"'),
        ('field("a--b--c", 2, "--")', '"c"'),
        ('field("abc", 1, "")', '"b"'),
        ('field("a,b", 9, ",")', '""'),
        ('field("a,b", -1, ",")', "error"),
        ('field("", 0, ",")', '""'),
    ],
)
def test_fields_are_trimmed_pieces_between_separators(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'clean("tea\tat\r\nfive")', '"teaatfive"'),
        (r'clean("a\u0007b\u007fc\u200bd\ufeffe")', '"abcde"'),
        (r'clean("10\u00a0000 €")', '"10 000 €"'),
        (r'clean("x\u2028y")', '"xy"'),
        ('clean("café 💛")', '"café 💛"'),
        ("clean(5)", '"5"'),
    ],
)
def test_what_does_not_print_is_cleaned_away(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('text_slice("banana", 1, 3)', '"an"'),
        ('text_slice("banana", 2)', '"nana"'),
        ('text_slice("banana", -3)', '"ana"'),
        ('text_slice("banana", -3, -1)', '"an"'),
        ('text_slice("banana", 0, -2)', '"bana"'),
        ('text_slice("banana", -99, 2)', '"ba"'),
        ('text_slice("banana", 4, 2)', '""'),
        ('text_slice("banana", 6)', '""'),
        ('text_slice("banana", 2, 99)', '"nana"'),
        ('text_slice("ñ💛é", 1, 2)', '"💛"'),
        ('text_slice("banana", "x")', "error"),
        ("text_slice(12345, 1, 3)", '"23"'),
        ('text_length("ñ💛é")', "3"),
        ('text_length("")', "0"),
        ("text_length(1050)", "4"),
        ('text_compare("ape", "bee")', "-1"),
        ('text_compare("bee", "ape")', "1"),
        ('text_compare("Bee", "ape")', "-1"),
        ('text_compare("é", "z")', "1"),
        ('text_compare(null, "")', "0"),
    ],
)
def test_texts_are_sliced_by_characters(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('repeat("ab", 0)', '""'),
        ('repeat("ab", 3)', '"ababab"'),
        ('repeat("ab", "2.9")', '"abab"'),
        ('repeat("", 50000)', '""'),
        ('repeat("ab", 5001)', "error"),
        ('repeat("ab", -1)', "error"),
        ('replace("banana", "a", "o")', '"bonono"'),
        ('replace("banana", "a", "o", 2)', '"bonona"'),
        ('replace("banana", "a", "o", 0)', '"banana"'),
        ('replace("banana", "a", "o", -3)', '"bonono"'),
        ('replace("banana", "x", "o")', '"banana"'),
        ('replace("banana", "A", "o")', '"banana"'),
        ('replace("añañ", "ñ", "💛")', '"a💛a💛"'),
        ('replace("banana", "an", "")', '"ba"'),
        ('replace("ab", "", "-")', '"-a-b-"'),
        ('replace("ab", "", "-", 1)', '"-ab"'),
        ('replace("banana", "a")', "error"),
    ],
)
def test_texts_are_repeated_and_replaced(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'regex_match("room 12, floor 3", "\d+")', '"12"'),
        ('regex_match("ROOM", "room")', '"ROOM"'),
        (r'regex_match("a\nbee", "^b\w+$")', '"bee"'),
        (r'regex_match("Ana Lopez", "(\w+) (\w+)", 2)', '"Lopez"'),
        (r'regex_match("Ana Lopez", "(\w+) (\w+)", 0)', '"Ana Lopez"'),
        (r'regex_match("Ana Lopez", "(\w+) (\w+)", 3)', "error"),
        (r'regex_match("Ana Lopez", "(\w+) (\w+)", -1)', "error"),
        ('regex_match("ab", "(a)(c)?b", 2)', '""'),
        ('regex_match("Ana", "[")', "error"),
        ('regex_match("Ana", "xyz")', "error"),
        ('regex_match("x", "(?=x)")', "error"),
    ],
)
def test_regular_expressions_find_their_first_match(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("percent(0.54234)", '"54%"'),
        ("percent(0.125)", '"13%"'),
        ('percent("-0.125")', '"-13%"'),
        ("percent(-0.005)", '"-1%"'),
        ("percent(10 ^ 20)", "error"),
        ("percent(12)", '"1200%"'),
        ("percent(null)", "error"),
        ('url_encode("a b&c=d/é~._-+*\'")', '"a%20b%26c%3Dd%2F%C3%A9~._-%2B%2A%27"'),
        ('url_encode("")', '""'),
        ('url_encode("💛")', '"%F0%9F%92%9B"'),
        ("url_encode(1.5)", '"1.5"'),
        ('html_decode("fish &amp; chips &lt;b&gt; &quot;&#39;")', '"fish & chips <b> \\"\'"'),
        ('html_decode("a&nbsp;b")', '"a b"'),
        ('html_decode("&xyz; & &#x20AC;")', '"&xyz; & €"'),
        ('read_chars("123456")', '"1 2 3 , 4 5 6"'),
        ('read_chars("abcd")', '"a b c d"'),
        ('read_chars("12345678")', '"1 2 3 4 , 5 6 7 8"'),
        ('read_chars("12345")', '"1 , 2 , 3 , 4 , 5"'),
        ('read_chars("+250788")', '"2 5 0 , 7 8 8"'),
        ('read_chars("+1234567")', '"1 , 2 , 3 , 4 , 5 , 6 , 7"'),
        ('read_chars("")', '""'),
        ('read_chars("éñü")', '"é ñ ü"'),
    ],
)
def test_texts_are_encoded_decoded_and_read_out(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


def test_a_split_gives_at_most_ten_thousand_words() -> None:
    assert text_of("count(split(text))", text="x " * 10_000) == "10000"
    assert "10000" in error_of("split(text)", text="x " * 10_001)
