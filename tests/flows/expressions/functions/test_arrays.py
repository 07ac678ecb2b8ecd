import pytest

from tests.flows.expressions.evaluating import error_of, text_of


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("count(xs)", "3"),
        ("count(null)", "0"),
        ("count(pair)", "2"),
        ('join(xs, "-")', "3-1-2"),
        ("slice(xs, 1)", "[1, 2]"),
        ("slice(xs, -2, -1)", "[1]"),
        ("contains(xs, 2)", "true"),
        ('contains(xs, "2")', "false"),
        ("contains(array(array(1)), array(1.0))", "true"),
        ('unique(array(1, "1", 1.0, true, null, null))', "[1, 1, true, ]"),
        ("reverse(xs)", "[2, 1, 3]"),
        ("sort(xs)", "[1, 2, 3]"),
        ('sort(array("b", "B", "a"))', "[B, a, b]"),
        ("sort(array(true, false))", "[false, true]"),
        ("sort(array(upper))", "[upper]"),
        ('sum(array(1, "2.5"))', "3.5"),
        ("concat(xs, null)", "[3, 1, 2]"),
        ("filter(xs, (x) => x > 1)", "[3, 2]"),
        ("foreach(xs, (x, by) => x * by, 10)", "[30, 10, 20]"),
        ('foreach_value(pair, (v, by) => v & by, "!")', "{a: 1!, b: 2!}"),
        ('extract(pair, "A")', "1"),
        ('extract(pair, "c")', ""),
        ('extract_object(pair, "b", "c")', "{b: 2, c: }"),
        ("keys(pair)", "[a, b]"),
        ("array()", "[]"),
        ('object("k", 1).k', "1"),
    ],
)
def test_array_and_object_functions(expression, expected):
    assert text_of(expression, xs=[3, 1, 2], pair={"b": 2, "a": 1}) == expected


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("count(1)", "error calling count(...): value isn't countable"),
        ('sort(array(1, "a"))', "error calling sort(...): requires items of one comparable type"),
        ("foreach(xs, (x) => x / 0)", "error calling foreach(...): error calling <anon>(...): division by zero"),
        ("foreach(xs, 1)", "error calling foreach(...): unable to convert 1 to a function"),
        ('join("a,b", ",")', 'error calling join(...): unable to convert "a,b" to an array'),
        ('keys("a")', 'error calling keys(...): unable to convert "a" to an object'),
        ('object("k")', "error calling object(...): requires an even number of arguments"),
        ("array(1, 1 / 0)", "error calling array(...): division by zero"),
        ("filter(xs, (x) => 1 / 0)", "error calling filter(...): error calling <anon>(...): division by zero"),
    ],
)
def test_array_and_object_functions_refuse(expression, reason):
    assert error_of(expression, xs=[1]) == reason


def test_arrays_have_at_most_ten_thousand_items():
    xs = list(range(6_000))
    assert text_of("count(concat(xs, slice(xs, 0, 4000)))", xs=xs) == "10000"
    assert "10000" in error_of("concat(xs, xs)", xs=xs)
