"""Functions on lists, objects, JSON, addresses and formats, rule by rule."""

from __future__ import annotations

import pytest

from tests.flows.expressions.evaluating import outcome_of


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("count(array(1, null))", "2"),
        ('count(object("a", 1))', "1"),
        ("count(null)", "0"),
        ('count("abc")', "error"),
        ("count(5)", "error"),
        ('join(array(1, "b", null, 2.50), "+")', '"1+b++2.5"'),
        ('join(array(), "+")', '""'),
        ('join(null, "+")', '""'),
        ('join(array("a"), null)', '"a"'),
        ('join(array(array(1, 2), object("a", 1)), "; ")', '"[1, 2]; {a: 1}"'),
        ("slice(array(1, 2, 3, 4), 1)", "[2,3,4]"),
        ("slice(array(1, 2, 3, 4), -2)", "[3,4]"),
        ("slice(array(1, 2, 3, 4), 1, -1)", "[2,3]"),
        ("slice(array(1, 2, 3, 4), 3, 1)", "[]"),
        ("slice(array(1, 2, 3, 4), -9, 9)", "[1,2,3,4]"),
        ("slice(null, 0)", "[]"),
        ('slice("abc", 0)', "error"),
        ('reverse(array("a", 2, null))', '[null,2,"a"]'),
        ("reverse(null)", "[]"),
        ('reverse("abc")', "error"),
        ('concat(array(1), array("a", array()))', '[1,"a",[]]'),
        ("concat(null, array(1))", "[1]"),
        ('concat(array(1), "a")', "error"),
        ('sum(array(1, "2", 3.25))', "6.25"),
        ("sum(array())", "0"),
        ("sum(null)", "0"),
        ('sum(array(1, "x"))', "error"),
        ("sum(array(null))", "error"),
    ],
)
def test_arrays_are_counted_joined_and_cut(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('contains(array("a", "b"), "b")', "true"),
        ('contains(array("a", "b"), "B")', "false"),
        ("contains(array(1.0), 1)", "true"),
        ('contains(array("1"), 1)', "false"),
        ("contains(array(null), null)", "true"),
        ("contains(array(array(1, 2)), array(1, 2))", "true"),
        ('contains(array(object("a", 1)), object("a", 1))', "true"),
        ('contains(array(object("a", 1)), object("a", 1, "b", 2))', "false"),
        ("contains(array(upper), upper)", "true"),
        ('contains(array(date("2024-02-01")), date("2024-02-01"))', "true"),
        ('contains(array(date("2024-02-01")), datetime("2024-02-01"))', "false"),
        ("contains(null, 1)", "false"),
        ('contains("abc", "a")', "error"),
        ("contains(array(1), 1 / 0)", "error"),
        ('unique(array(1, "1", 1.0, null, null, "a", "A"))', '[1,"1",null,"a","A"]'),
        ("unique(array(array(1), array(1)))", "[[1]]"),
        ("unique(null)", "[]"),
        ('unique("aa")', "error"),
    ],
)
def test_equality_is_of_one_type(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("sort(array(10, 9, 100.5, -1))", "[-1,9,10,100.5]"),
        ('sort(array("10", "9", "B", "a", "é"))', '["10","9","B","a","é"]'),
        ("sort(array(true, false))", "[false,true]"),
        ('sort(array(date("2024-03-01"), date("2023-12-31")))', '["2023-12-31","2024-03-01"]'),
        ('sort(array(time("10:00"), time("9:59")))', '["09:59:00.000000","10:00:00.000000"]'),
        (
            'sort(array(datetime("2024-03-01T10:00:00+02:00"), datetime("2024-03-01T09:00:00Z")))',
            '["2024-03-01T10:00:00.000000+02:00","2024-03-01T09:00:00.000000Z"]',
        ),
        ('sort(array(1, "1"))', "error"),
        ("sort(array(null, null))", "error"),
        ("sort(array(array(2), array(1)))", "error"),
        ('sort(array(date("2024-03-01"), datetime("2024-03-01")))', "error"),
        ("sort(array(null))", "[null]"),
        ("sort(null)", "[]"),
        ('sort("ba")', "error"),
    ],
)
def test_items_of_one_type_are_sorted(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('foreach(array("a", "b"), upper)', '["A","B"]'),
        ("foreach(array(1, 2), (n) => n * 10)", "[10,20]"),
        ('foreach(array("a", "b"), (x, y, z) => x & y & z, "-", 1)', '["a-1","b-1"]'),
        ("foreach(array(1, 0), (n) => 6 / n)", "error"),
        ('foreach(array("a b", "c d"), word, 1)', '["b","d"]'),
        ("foreach(array(1), (a, b) => a)", "error"),
        ("foreach(null, upper)", "[]"),
        ('foreach("ab", upper)', "error"),
        ('foreach(array("a"), "upper")', "error"),
        ("foreach(array(1, 2), (upper) => upper + 1)", "[2,3]"),
        ("foreach(array(1, 2), (n) => foreach(array(10, 20), (m) => n * m))", "[[10,20],[20,40]]"),
        ('filter(array(1, 0, "x", "", "false", null), (x) => x)', '[1,"x"]'),
        ("filter(array(1, 5, 9), (n) => n > 4)", "[5,9]"),
        ('filter(array("a"), (x) => x > 4)', "error"),
        ("filter(null, upper)", "[]"),
        ('filter(array(1), "x")', "error"),
        ('foreach_value(object("a", "x", "b", "y"), upper)', '{"a":"X","b":"Y"}'),
        ('foreach_value(object("a", 1), (n, by) => n * by, 5)', '{"a":5}'),
        ('foreach_value(object("a", object("k", 1, "l", 2)), extract_object, "l")', '{"a":{"l":2}}'),
        ('foreach_value(object("a", "x"), abs)', "error"),
        ("foreach_value(null, upper)", "{}"),
        ("foreach_value(array(1), upper)", "error"),
    ],
)
def test_functions_are_called_for_each_item(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('extract(object("Name", "Ana"), "name")', '"Ana"'),
        ('extract(object("name", "Ana"), "age")', "null"),
        ('extract(null, "age")', "null"),
        ('extract("x", "age")', "error"),
        ("extract(array(1), 0)", "error"),
        ('extract_object(object("a", 1, "b", 2, "c", 3), "c", "a")', '{"a":1,"c":3}'),
        ('extract_object(object("a", 1), "z")', '{"z":null}'),
        ('extract_object(object("a", 1))', "error"),
        ('extract_object(null, "z")', '{"z":null}'),
        ('extract_object("x", "z")', "error"),
        ('keys(object("b", 1, "a", 2, "B", 3))', '["B","a","b"]'),
        ("keys(object())", "[]"),
        ("keys(null)", "[]"),
        ('keys(array("a"))', "error"),
    ],
)
def test_properties_are_taken_out_of_objects(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        (r'json("say \"hi\" to /\\ <b> é💛")', r'"\"say \\\"hi\\\" to /\\\\ <b> é💛\""'),
        (r'json("a\nb\tc")', r'"\"a\\nb\\tc\""'),
        ("json(12.50)", '"12.5"'),
        ("json(null)", '"null"'),
        ("json(false)", '"false"'),
        ('json(array(1, "a", null, object("b", 1 / 4)))', r'"[1,\"a\",null,{\"b\":0.25}]"'),
        ('json(object("z", 1, "a", array()))', r'"{\"a\":[],\"z\":1}"'),
        ('json(date("2024-02-01"))', r'"\"2024-02-01\""'),
        ('json(time("10:30"))', r'"\"10:30:00.000000\""'),
        ('json(datetime("2024-02-01T10:30:00.5Z"))', r'"\"2024-02-01T10:30:00.500000Z\""'),
        ('json(datetime("2024-02-01T10:30:00-03:30"))', r'"\"2024-02-01T10:30:00.000000-03:30\""'),
        ("json(upper)", '"null"'),
        ("json(1 / 0)", "error"),
        (r'parse_json("[1, 2.50, 1e2, null, true, \"x\"]")', '[1,2.5,100,null,true,"x"]'),
        (r'parse_json(" {\"a\": {\"b\": [1, 2]}} ").a.b[1]', "2"),
        (r'parse_json("{\"A\": 1}").a', "1"),
        (r'parse_json("\"\\u00e9\"")', '"é"'),
        ('parse_json("null")', "null"),
        ('parse_json("")', "null"),
        ('parse_json("[1,]")', "error"),
        ('parse_json("1 2")', "error"),
        ('parse_json("NaN")', "error"),
        (r'parse_json("{\"__default__\": 4, \"a\": 1}") + 1', "5"),
        (r'count(parse_json("{\"__default__\": 4, \"a\": 1}"))', "1"),
        ('parse_json("1e200")', "error"),
    ],
)
def test_json_is_written_and_read(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('urn_parts("tel:+250788123456")', '{"display":"","path":"+250788123456","scheme":"tel"}'),
        ('urn_parts("telegram:123456#ana_b")', '{"display":"ana_b","path":"123456","scheme":"telegram"}'),
        (
            'urn_parts("mailto:ana@example.com?cc=1#Ana")',
            '{"display":"Ana","path":"ana@example.com","scheme":"mailto"}',
        ),
        ('urn_parts("ext:a:b")', '{"display":"","path":"a:b","scheme":"ext"}'),
        ('urn_parts("ana")', "error"),
        ('urn_parts(":x")', "error"),
        ('urn_parts("tel:")', "error"),
        ('format_urn("tel:+12065550100")', '"(206) 555-0100"'),
        ('format_urn("tel:+447911123456")', '"07911 123456"'),
        ('format_urn("tel:12345")', '"12345"'),
        ('format_urn("telegram:123456#ana_b")', '"ana_b"'),
        ('format_urn("telegram:123456")', '"123456"'),
        ('format_urn("mailto:ana@example.com")', '"ana@example.com"'),
        ('format_urn("ana")', "error"),
        ("format_urn(null)", "error"),
        (
            'attachment_parts("image/png:https://example.com/a:b.png")',
            '{"content_type":"image/png","url":"https://example.com/a:b.png"}',
        ),
        ('attachment_parts("audio:https://example.com/x")', '{"content_type":"audio","url":"https://example.com/x"}'),
        ('attachment_parts("photo")', '{"content_type":"","url":"photo"}'),
        ('attachment_parts("")', '{"content_type":"","url":""}'),
        ('format_location("Rwanda > Kigali City > Gasabo")', '"Gasabo"'),
        ('format_location("Rwanda>Kigali City")', '"Kigali City"'),
        ('format_location("  Rwanda ")', '"Rwanda"'),
        ('format_location("Rwanda > ")', '""'),
        ("format_location(null)", '""'),
    ],
)
def test_addresses_and_attachments_have_parts(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("format_number(1234567.891)", '"1,234,567.891"'),
        ("format_number(1234567.891, 1)", '"1,234,567.9"'),
        ("format_number(1234567, 2)", '"1,234,567.00"'),
        ("format_number(1234.5, 0)", '"1,235"'),
        ("format_number(0.5, 0)", '"1"'),
        ("format_number(-1234.565, 2)", '"-1,234.57"'),
        ("format_number(-0.001, 2)", '"0.00"'),
        ("format_number(1234567.891, 2, false)", '"1234567.89"'),
        ('format_number(1234567.891, 2, "FALSE")', '"1234567.89"'),
        ('format_number("1234", 1, 1)', '"1,234.0"'),
        ("format_number(999.995, 2)", '"1,000.00"'),
        ("format_number(1, 9)", '"1.000000000"'),
        ("format_number(1, 10)", "error"),
        ("format_number(1, -1)", "error"),
        ("format_number(0)", '"0"'),
        ('format_number("x")', "error"),
        ('format_number(1, "x")', "error"),
    ],
)
def test_numbers_are_written_with_places_and_groups(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ("format(1234.50)", '"1,234.5"'),
        ("format(-0.5)", '"-0.5"'),
        ("format(true)", '"true"'),
        ("format(null)", '""'),
        ('format("as it is")', '"as it is"'),
        ("format(array())", '""'),
        ('format(array(1000, "a", null))', '"1,000, a, "'),
        (r'format(array("a\nb", "c"))', r'"- a\n  b\n- c"'),
        ("format(array(array(1, 2), array(3)))", '"1, 2, 3"'),
        ("format(object())", '""'),
        ('format(object("b", 1000, "a", array(1, 2)))', r'"a: 1, 2\nb: 1,000"'),
        ('format(object("a", object("c", 1, "b", 2), "d", 3))', r'"a:\n  b: 2\n  c: 1\nd: 3"'),
        ('format(array(object("a", 1, "b", 2), "x"))', r'"- a: 1\n  b: 2\n- x"'),
        ('format(date("2024-02-01"))', '"2024-02-01"'),
        ('format(datetime("2024-02-01T10:30:00Z"))', '"2024-02-01 10:30"'),
        ('format(time("15:04"))', '"15:04"'),
        ("format(lower)", '"lower"'),
        ("format(1 / 0)", '""'),
    ],
)
def test_values_are_formatted_for_people(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome


@pytest.mark.parametrize(
    ("expression", "outcome"),
    [
        ('legacy_add(1, "2.5")', "3.5"),
        ('legacy_add("2024-01-31", 1)', '"2024-02-01T00:00:00.000000Z"'),
        ('legacy_add(-1, "2024-03-01")', '"2024-02-29T00:00:00.000000Z"'),
        ('legacy_add("2024-01-31", "2024-01-31")', "error"),
        ('legacy_add("x", 1)', "error"),
        ("legacy_add(1, null)", "error"),
    ],
)
def test_old_sums_add_days_or_numbers(expression: str, outcome: str) -> None:
    assert outcome_of(expression) == outcome
