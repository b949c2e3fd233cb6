"""CAST and CONVERT of dates and times: styles, rounding, texts that are dates and texts that are none."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine import types as t
from redial_broker.engine.errors import SqlError
from redial_broker.engine.seventh_digit import moved
from redial_broker.engine.types import sql_type
from redial_broker.exec.conversion import seconds_of_day

from .convert import WHEN, convert, error_of

MOMENTS = st.datetimes(datetime(1753, 1, 1), datetime(9999, 12, 31, 23, 59, 59))


@given(MOMENTS)
def test_datetime_is_rounded_to_a_three_hundredth_and_survives(moment):
    rounded = convert(moment, t.DATETIME2, t.DATETIME)
    assert abs(rounded - moment) <= timedelta(milliseconds=2.4)
    assert rounded.microsecond // 1000 % 10 in {0, 3, 7}
    assert convert(rounded, t.DATETIME, t.DATETIME) == rounded
    for style in (121, 126):
        text = convert(rounded, t.DATETIME, t.varchar(40), style)
        assert convert(text, t.varchar(40), t.DATETIME) == rounded
    raw = convert(rounded, t.DATETIME, t.varbinary(8))
    assert convert(raw, t.varbinary(8), t.DATETIME) == rounded


@given(MOMENTS)
def test_datetime2_survives_its_text(moment):
    for style in (None, 121, 126):
        text = convert(moment, t.DATETIME2, t.varchar(40), style)
        assert convert(text, t.varchar(40), t.DATETIME2) == moment


SEVEN = moved(WHEN.replace(microsecond=123456), 7)


@pytest.mark.parametrize(
    ("text", "of", "units"),
    [
        (".1234567", t.DATETIME2, 1234567),
        (".1234567", sql_type("datetime2", scale=6), 1234570),
        (".1234567", sql_type("datetime2", scale=3), 1230000),
        (".12345675", t.DATETIME2, 1234568),
        (".123456749", t.DATETIME2, 1234567),
        (".99999995", sql_type("datetime2", scale=7), 10_000_000),
        (".9999995", sql_type("datetime2", scale=6), 10_000_000),
    ],
)
def test_a_text_s_second_has_seven_digits(text, of, units):
    whole = f"{WHEN:%Y-%m-%dT%H:%M:%S}"
    wanted = moved(WHEN.replace(microsecond=0), units)
    assert convert(whole + text, t.varchar(40), of) == wanted
    assert convert(
        whole + text + "Z", t.varchar(40), sql_type("datetimeoffset", scale=of.scale)
    ) == (wanted.replace(tzinfo=UTC))
    assert (
        convert(whole[11:] + text, t.varchar(40), sql_type("time", scale=of.scale)) == wanted.time()
    )


@pytest.mark.parametrize("style", [None, 121, 126])
def test_the_seventh_digit_is_written(style):
    assert convert(SEVEN, t.DATETIME2, t.varchar(40), style).endswith(".1234567")
    assert convert(SEVEN.time(), t.TIME, t.varchar(40), style).endswith(".1234567")
    offset = SEVEN.replace(tzinfo=UTC)
    assert ".1234567" in convert(offset, t.DATETIMEOFFSET, t.varchar(40), style)


def test_the_seventh_digit_goes_from_type_to_type():
    """The types' pages, "Convert": a time keeps its digits, what is shorter rounds."""
    offset = SEVEN.replace(tzinfo=UTC)
    assert convert(SEVEN, t.DATETIME2, t.TIME) == SEVEN.time()
    assert convert(SEVEN, t.DATETIME2, t.DATETIMEOFFSET) == offset
    assert convert(offset, t.DATETIMEOFFSET, t.DATETIME2) == SEVEN
    assert convert(SEVEN.time(), t.TIME, t.DATETIME2).time() == SEVEN.time()
    assert convert(SEVEN, t.DATETIME2, t.DATE) == SEVEN.date()


@pytest.mark.parametrize(
    ("milliseconds", "units"), [(0, 0), (3, 33_333), (7, 66_667), (997, 9_966_667)]
)
def test_a_three_hundredth_has_seven_digits_as_datetime2(milliseconds, units):
    """Since compatibility level 130 ("Breaking changes", 2016)."""
    moment = datetime(2026, 1, 1, microsecond=milliseconds * 1000)
    assert convert(moment, t.DATETIME, t.DATETIME2) == moved(datetime(2026, 1, 1), units)


def test_behind_the_last_second_of_all_is_its_end():
    last = moved(datetime(9999, 12, 31, 23, 59, 59), 9_999_999)
    assert convert("9999-12-31 23:59:59.99999999", t.varchar(40), t.DATETIME2) == last
    assert convert(last, t.DATETIME2, sql_type("datetime2", scale=3)).microsecond == 999_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (".998", ".997"),
        (".999", ".000"),
        (".994", ".993"),
        (".001", ".000"),
        (".002", ".003"),
        (".005", ".007"),
        (".008", ".007"),
        (".009", ".010"),
    ],
)
def test_documented_datetime_rounding(text, shown):
    moment = convert(f"2026-01-01T23:59:59{text}", t.varchar(30), t.DATETIME)
    assert convert(moment, t.DATETIME, t.varchar(30), 121).endswith(shown)
    assert moment.day == (2 if text == ".999" else 1)


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (None, "Mar  5 2026  3:04PM"),
        (0, "Mar  5 2026  3:04PM"),
        (1, "03/05/26"),
        (101, "03/05/2026"),
        (102, "2026.03.05"),
        (103, "05/03/2026"),
        (104, "05.03.2026"),
        (105, "05-03-2026"),
        (106, "05 Mar 2026"),
        (107, "Mar 05, 2026"),
        (108, "15:04:09"),
        (109, "Mar  5 2026  3:04:09:070PM"),
        (110, "03-05-2026"),
        (111, "2026/03/05"),
        (112, "20260305"),
        (113, "05 Mar 2026 15:04:09:070"),
        (114, "15:04:09:070"),
        (120, "2026-03-05 15:04:09"),
        (121, "2026-03-05 15:04:09.070"),
        (126, "2026-03-05T15:04:09.070"),
        (127, "2026-03-05T15:04:09.070"),
        (23, "2026-03-05"),
    ],
)
def test_styles_of_datetime(style, text):
    assert convert(WHEN, t.DATETIME, t.varchar(40), style) == text


def test_styles_of_the_newer_types():
    scaled = sql_type("datetime2", scale=3)
    assert convert(WHEN, t.DATETIME2, t.varchar(40)) == "2026-03-05 15:04:09.0700000"
    assert convert(WHEN, scaled, t.varchar(40), 126) == "2026-03-05T15:04:09.070"
    assert convert(WHEN.date(), t.DATE, t.varchar(40)) == "2026-03-05"
    assert convert(WHEN.time(), sql_type("time", scale=0), t.varchar(40)) == "15:04:09"
    aware = WHEN.replace(tzinfo=UTC)
    assert convert(aware, t.DATETIMEOFFSET, t.varchar(40)) == "2026-03-05 15:04:09.0700000 +00:00"
    assert convert(aware, t.DATETIMEOFFSET, t.varchar(40), 127) == "2026-03-05T15:04:09.0700000Z"


def test_a_style_we_do_not_know_is_refused_by_number():
    assert "style 130" in error_of(WHEN, t.DATETIME, t.varchar(40), 130).text
    assert "style 131" in error_of("x", t.varchar(40), t.DATETIME, 131).text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("20260305", datetime(2026, 3, 5)),
        ("2026-03-05", datetime(2026, 3, 5)),
        ("3/5/2026", datetime(2026, 3, 5)),
        ("3/5/26 3:04 PM", datetime(2026, 3, 5, 15, 4)),
        ("Mar 5 2026 3:04PM", datetime(2026, 3, 5, 15, 4)),
        ("5 March 2026", datetime(2026, 3, 5)),
        ("12:30", datetime(1900, 1, 1, 12, 30)),
        ("", datetime(1900, 1, 1)),
        ("2026-03-05T01:02:03.500Z", datetime(2026, 3, 5, 1, 2, 3, 500000)),
        ("12:00AM", datetime(1900, 1, 1)),
        (" 2026-03-05 23:59 ", datetime(2026, 3, 5, 23, 59)),
    ],
)
def test_texts_that_are_dates(text, moment):
    assert convert(text, t.varchar(40), t.DATETIME) == moment


@pytest.mark.parametrize(
    ("text", "target", "number"),
    [
        ("no date", t.DATETIME, 241),
        ("2026-13-01", t.DATETIME, 242),
        ("2026-13-01", t.DATE, 241),
        ("1700-01-01", t.DATETIME, 242),
        ("1899-12-31", t.SMALLDATETIME, 242),
        ("x", t.SMALLDATETIME, 295),
        ("2026-01-01 10:11:12.1234", t.DATETIME, 241),
        ("25:00", t.TIME, 241),
    ],
)
def test_texts_that_are_no_dates(text, target, number):
    assert error_of(text, t.varchar(40), target).number == number


def test_day_first_styles_read_the_day_first():
    assert convert("03/04/2026", t.varchar(20), t.DATE, 103) == date(2026, 4, 3)
    assert convert("03/04/2026", t.varchar(20), t.DATE, 101) == date(2026, 3, 4)


def test_dates_change_type_with_rounding():
    moment = datetime(2026, 1, 1, 12, 0, 29, 998500)
    assert convert(moment, t.DATETIME2, t.DATE) == date(2026, 1, 1)
    assert convert(moment, t.DATETIME2, t.TIME) == time(12, 0, 29, 998500)
    assert convert(moment, t.DATETIME2, sql_type("datetime2", scale=2)).microsecond == 0
    assert convert(datetime(2026, 1, 1, 12, 0, 30), t.DATETIME, t.SMALLDATETIME).minute == 1
    assert convert(time(1, 2), t.TIME, t.DATETIME) == datetime(1900, 1, 1, 1, 2)
    assert convert(date(2026, 1, 1), t.DATE, t.DATETIMEOFFSET) == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_datetime_is_a_number_of_days():
    assert convert(datetime(1900, 1, 2, 12), t.DATETIME, t.FLOAT) == 1.5
    assert convert(2, t.INT, t.DATETIME) == datetime(1900, 1, 3)
    assert convert(Decimal("0.5"), t.decimal_type(5, 2), t.DATETIME) == datetime(1900, 1, 1, 12)


def test_waitfor_times():
    assert seconds_of_day("00:01:02.500") == 62.5
    assert seconds_of_day(datetime(1900, 1, 1, 1)) == 3600
    with pytest.raises(SqlError) as caught:
        seconds_of_day("soon")
    assert caught.value.number == 241
