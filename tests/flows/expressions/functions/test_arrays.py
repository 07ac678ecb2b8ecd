import pytest

from tests.flows.expressions.evaluating import error_of, text_of


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
