import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.environment import Environment
from flows.words import (
    collate,
    dictionary_words,
    snakify,
    token_spans,
    tokens,
    tokens_between,
)

CONFUSABLES = Environment(input_collation="confusables")
ARABIC = Environment(input_collation="arabic_variants")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("one   two", ["one", "two"]),
        ("one.two/three", ["one", "two", "three"]),
        ("O'Grady can't foo_bar", ["O'Grady", "can't", "foo_bar"]),
        ("hi😀😃there", ["hi", "😀", "😃", "there"]),
        ("$5 + €3", ["$", "5", "+", "€", "3"]),
        ("বাতিল", ["বাতিল"]),
    ],
)
def test_a_text_is_cut_into_words_and_single_symbols(text, expected):
    assert tokens(text) == expected


@given(st.text())
def test_spans_point_at_the_words(text):
    assert [text[begin:end] for begin, end in token_spans(text)] == tokens(text)


def test_pieces_between_characters_of_ones_own_choice():
    assert tokens_between("a.b c||d", ". |") == ["a", "b", "c", "d"]
    assert tokens_between("abc", "") == ["abc"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", ["don't"]),
        ("ac/dc", ["ac", "dc"]),
        ("216.239.63.104 (4,600`)", ["216.239.63.104", "4,600"]),
        ("bob 😀 bob", ["bob", "bob"]),
        ("'ann' O'Aa l'amour", ["ann", "O'Aa", "l'amour"]),
        ("a_b __ c_", ["a_b", "c_"]),
        ("a.b a.1 1.5 1,x", ["a.b", "a", "1", "1.5", "1", "x"]),
        ("カタカナxカタ_1", ["カタカナ", "x", "カタ_1"]),
        ("王小明 สิ", ["王", "小", "明", "สิ"]),
        ('צה"ל', ['צה"ל']),
        ("a\u0301.b \u0301c", ["a\u0301.b", "c"]),
        ("  ", []),
    ],
)
def test_words_of_names_follow_the_rule_of_unicode(text, expected):
    assert dictionary_words(text) == expected


def test_by_default_case_makes_no_difference():
    assert collate(Environment(), "Yes") == collate(Environment(), "yES")
    assert collate(Environment(), "yes") != collate(Environment(), "y\u0435s")


def test_look_alikes_are_equal_under_confusables():
    assert collate(CONFUSABLES, "y\u0435s") == collate(CONFUSABLES, "YES")
    assert collate(CONFUSABLES, "𝕟𝔂𝛼𝐫ᴜ𝞳𝕒") == collate(CONFUSABLES, "Nyaruka")
    assert collate(CONFUSABLES, "yes") != collate(CONFUSABLES, "no")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("\u0664\u0665", "\u06f4\u06f5"),
        ("\u0628\u0644\u0649", "\u0628\u0644\u064a"),
        ("\u0622", "\u0627"),
        ("ﻛ", "\u06a9"),
    ],
)
def test_letters_of_neighboring_scripts_are_equal_under_arabic_variants(typed, meant):
    assert collate(ARABIC, typed) == collate(ARABIC, meant)


@given(st.text(), st.sampled_from([Environment(), ARABIC]))
def test_a_collated_word_equals_the_word_it_came_from(text, environment):
    assert collate(environment, text) == collate(environment, text)
    assert collate(environment, text).lower() == collate(environment, text)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Date of Birth", "date_of_birth"),
        ("  Hello World ", "hello_world"),
        ("this@isn't@email", "this_isn_t_email"),
        ("hi😀😃there", "hi_there"),
        ("Ваш Возраст?", "ваш_возраст_"),
        ("العمر ٢", "العمر_٢"),
        ("İSİM", "isim"),
        ("ΛΟΓΟΣ", "λογοσ"),
        ("", ""),
    ],
)
def test_names_become_keys(name, key):
    assert snakify(name) == key
