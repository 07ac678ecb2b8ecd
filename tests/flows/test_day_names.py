import pytest

from flows.day_names import day_name, day_period, month_name
from flows.environment import Environment


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
