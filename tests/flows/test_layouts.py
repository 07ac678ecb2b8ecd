from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from flows.environment import Environment
from flows.layouts import LayoutError, day_name, day_period, format_with_layout, month_name, parse_with_layout

ENVIRONMENT = Environment()
MOMENT = datetime(2006, 1, 2, 15, 4, 5, 123456, tzinfo=timezone(-timedelta(hours=7)))
KIGALI = ZoneInfo("Africa/Kigali")


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("YYYY-MM-DD", "2006-01-02"),
        ("D/M/YY", "2/1/06"),
        ("tt:mm:ss", "15:04:05"),
        ("h:m aa", "3:4 pm"),
        ("hh.mm AA", "03.04 PM"),
        ("fff", "123"),
        ("ffffff", "123456"),
        ("fffffffff", "123456000"),
        ("EEE, D MMM YYYY", "Mon, 2 Jan 2006"),
        ("EEEE MMMM", "Monday January"),
        ("YYYY-MM-DDTtt:mm:ssZ", "2006-01-02T15:04:05-07:00"),
        ("ZZZ", "-07:00"),
        ("", ""),
        ("//__--", "//__--"),
    ],
)
def test_a_datetime_is_written_in_a_layout(layout, text):
    assert format_with_layout(MOMENT, layout, ENVIRONMENT, "datetime") == text


def test_utc_is_written_as_a_letter_or_as_an_offset():
    moment = MOMENT.astimezone(UTC)

    assert format_with_layout(moment, "Z ZZZ", ENVIRONMENT, "datetime") == "Z +00:00"


@pytest.mark.parametrize(
    ("hour", "text"), [(0, "12 am 0"), (11, "11 am 11"), (12, "12 pm 12"), (13, "1 pm 13"), (23, "11 pm 23")]
)
def test_hours_of_half_days_run_from_twelve_to_eleven(hour, text):
    assert format_with_layout(time(hour), "h aa t", ENVIRONMENT, "time") == text


def test_names_are_in_the_default_language():
    environment = Environment(allowed_languages=("fra", "eng"), default_country="FR")

    assert format_with_layout(date(2006, 1, 2), "EEEE D MMMM", environment, "date") == "lundi 2 janvier"


@pytest.mark.parametrize(
    ("layout", "kind", "message"),
    [
        ("EE", "datetime", "'EE' is not valid in a datetime formatting layout"),
        ("YYYYYYY", "date", "'YYYYYYY' is not valid in a date formatting layout"),
        ("tt", "date", "'tt' is not valid in a date formatting layout"),
        ("YY", "time", "'YY' is not valid in a time formatting layout"),
        ("YYYY x", "datetime", "'x' is not valid in a datetime formatting layout"),
    ],
)
def test_sequences_that_have_no_meaning_are_refused(layout, kind, message):
    value = {"date": MOMENT.date(), "time": MOMENT.time(), "datetime": MOMENT}[kind]

    with pytest.raises(LayoutError) as raised:
        format_with_layout(value, layout, ENVIRONMENT, kind)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "layout", "moment"),
    [
        ("2018-12-30 14:45", "YYYY-MM-DD t:mm", "2018-12-30T14:45:00+02:00"),
        ("30/1/18 3.05 PM", "DD/M/YY h.mm aa", "2018-01-30T15:05:00+02:00"),
        ("30/1/69 03", "DD/M/YY hh", "1969-01-30T03:00:00+02:00"),
        ("30/1/2018 9:05", "DD/M/YYYY tt:mm", "2018-01-30T09:05:00+02:00"),
        ("1977-06-23T15:34:00.1234Z", "YYYY-MM-DDTtt:mm:ssZ", "1977-06-23T17:34:00.123400+02:00"),
        ("1977-06-23T15:34:00+05:30", "YYYY-MM-DDTtt:mm:ssZZZ", "1977-06-23T12:04:00+02:00"),
        ("٢٠١٨-١٢-٣٠ ١٤:٤٥", "YYYY-MM-DD tt:mm", "2018-12-30T14:45:00+02:00"),
        ("২০১৮-১২-৩০ ১৪:৪৫", "YYYY-MM-DD tt:mm", "2018-12-30T14:45:00+02:00"),
        ("３０／１２／２０１８\u3000９：０５", "DD/MM/YYYY t:mm", "2018-12-30T09:05:00+02:00"),
        ("\u200f30/12/2018\u00a003.05 PM\u200e", "DD/MM/YYYY hh.mm aa", "2018-12-30T15:05:00+02:00"),
        ("2018-12-30 00:00:01.250", "YYYY-MM-DD tt:mm:ss.fff", "2018-12-30T00:00:01.250000+02:00"),
    ],
)
def test_a_datetime_is_read_in_a_layout_and_a_timezone(text, layout, moment):
    assert parse_with_layout(text, layout, KIGALI, "datetime").isoformat() == moment


@pytest.mark.parametrize(
    ("text", "layout", "expected"), [("12:30 am", "hh:mm aa", time(0, 30)), ("12:30 pm", "hh:mm aa", time(12, 30))]
)
def test_noon_and_midnight_are_told_apart(text, layout, expected):
    assert parse_with_layout(text, layout, KIGALI, "time") == expected


def test_a_date_is_read_in_a_layout():
    assert parse_with_layout("5.6.2020", "D.M.YYYY", KIGALI, "date") == date(2020, 6, 5)


@pytest.mark.parametrize(
    ("text", "layout", "kind"),
    [
        ("2018-12-30x", "YYYY-MM-DD", "datetime"),
        ("2018-13-30", "YYYY-MM-DD", "datetime"),
        ("25:00", "tt:mm", "time"),
        ("13:00", "hh:mm", "time"),
        ("x", "tt", "time"),
        ("Monday", "EEEE", "date"),
        ("11", "tt", "date"),
    ],
)
def test_texts_that_are_not_written_in_the_layout_are_refused(text, layout, kind):
    with pytest.raises(LayoutError):
        parse_with_layout(text, layout, KIGALI, kind)


def speak(language: str, country: str = "") -> Environment:
    return Environment(allowed_languages=(language,), default_country=country)


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        (Environment(), ["Monday", "Mon", "January", "Jan", "AM", "PM"]),
        (speak("spa", "EC"), ["lunes", "lun", "enero", "ene", "AM", "PM"]),
        (speak("spa"), ["lunes", "lun", "enero", "ene", "a. m.", "p. m."]),
        (speak("fil", "PH"), ["Lunes", "Lun", "Enero", "Ene", "AM", "PM"]),
        (speak("zho", "US"), ["週一", "一", "一月", "1月", "上午", "下午"]),
        (speak("urd"), ["پیر", "پیر", "جنوری", "جنوری", "AM", "PM"]),
        (speak("urd", "PK"), ["پير", "پير", "جنوری", "جنوری", "ص", "ش"]),
        (speak("som", "KE"), ["Isniin", "Isn", "Bisha Koobaad", "Kob", "subaxnimo", "galabnimo"]),
        (speak("swa", "KE"), ["Jumatatu", "J3", "Januari", "Jan"]),
        (speak("rus"), ["Понедельник", "Пн", "января", "янв", "AM", "PM"]),
        (speak("tir"), ["ሰኑይ", "ሰኑይ", "ጃንዩወሪ", "ጃንዩ", "ንጉሆ ሰዓተ", "ድሕር ሰዓት"]),
        (speak("tir", "ER"), ["ሰኑይ", "ሰኑይ", "ጥሪ", "ጥሪ"]),
        (speak("guz"), ["Chumatato", "Ctt", "Chanuari", "Can"]),
        (speak("zzz"), ["Monday", "Mon", "January", "Jan", "AM", "PM"]),
    ],
    ids=[
        "no language",
        "country of a language",
        "language alone",
        "Filipino",
        "Chinese elsewhere",
        "Urdu",
        "Urdu of Pakistan",
        "Somali of Kenya",
        "dialect",
        "inflected",
        "own halves",
        "other country",
        "CLDR",
        "unknown",
    ],
)
def test_days_months_and_halves_have_names(environment, names):
    named = [day_name(environment, 0, is_short=short) for short in (False, True)]
    named += [month_name(environment, 1, is_short=short) for short in (False, True)]
    named += [day_period(environment, hour) for hour in (11, 12)]

    assert named[: len(names)] == names


def test_weeks_end_on_sunday_and_years_in_december():
    assert day_name(speak("fra"), 6, is_short=False) == "dimanche"
    assert month_name(speak("fra"), 12, is_short=False) == "décembre"
