"""Date and time functions."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.seventh_digit import moved
from redial_broker.engine.types import (
    DATE,
    DATETIME,
    DATETIME2,
    DATETIMEOFFSET,
    INT,
    TIME,
)

from ..evaluate import NOW, FakeSession, fails, typed, value

WHEN = datetime(2026, 1, 31, 22, 5, 7, 123000)
GIVEN = {
    "@d": (DATETIME, WHEN),
    "@2": (DATETIME2, WHEN),
    "@day": (DATE, WHEN.date()),
    "@t": (TIME, WHEN.time()),
    "@n": (INT, None),
    "@o": (DATETIMEOFFSET, WHEN.replace(tzinfo=UTC)),
}


def test_now_comes_from_the_sessions_clock():
    assert value("getdate()") == datetime(2026, 11, 21, 13, 5, 9, 123000)
    assert value("getutcdate()") == value("current_timestamp")
    assert value("sysutcdatetime()") == NOW
    assert value("sysdatetimeoffset()") == NOW.replace(tzinfo=UTC)
    assert typed("getdate()") == "datetime"
    assert typed("sysdatetime()") == "datetime2(7)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dateadd(month, 1, @day)", date(2026, 2, 28)),
        ("dateadd(yy, -1, @day)", date(2025, 1, 31)),
        ("dateadd(quarter, 1, @day)", date(2026, 4, 30)),
        ("dateadd(day, 1, @d)", WHEN + timedelta(days=1)),
        ("dateadd(ss, -7, @2)", WHEN - timedelta(seconds=7)),
        ("dateadd(ms, 1, @d)", WHEN),
        ("dateadd(ms, 2, @d)", WHEN.replace(microsecond=127000)),
        ("dateadd(hour, 3, @t)", time(1, 5, 7, 123000)),
        ("dateadd(day, 1, '2026-01-01')", datetime(2026, 1, 2)),
        ("dateadd(day, @n, @d)", None),
        ("datediff(day, '2025-12-31 23:59', '2026-01-01 00:01')", 1),
        ("datediff(year, '2025-12-31', '2026-01-01')", 1),
        ("datediff(month, '2026-01-31', '2026-03-01')", 2),
        ("datediff(ss, '2026-01-01', '2026-01-01 00:01')", 60),
        ("datediff(minute, '2026-01-01 00:00:59', '2026-01-01 00:01')", 1),
        ("datediff(week, '2026-01-03', '2026-01-04')", 1),
        ("datediff(hour, @d, null)", None),
        ("datediff_big(ms, '2000-01-01', '2026-01-01')", 820540800000),
        ("datepart(year, @d)", 2026),
        ("datepart(dw, '2026-01-04')", 1),
        ("datepart(qq, @d)", 1),
        ("datepart(dy, @d)", 31),
        ("datepart(wk, '2026-01-04')", 2),
        ("datepart(isowk, '2026-01-04')", 1),
        ("datepart(ms, @d)", 123),
        ("datepart(mcs, @2)", 123000),
        ("datepart(ns, @2)", 123000000),
        ("datepart(tz, @o)", 0),
        ("datename(month, @d)", "January"),
        ("datename(weekday, @d)", "Saturday"),
        ("datename(day, @d)", "31"),
        ("year(@d)", 2026),
        ("month('20260301')", 3),
        ("day(@day)", 31),
        ("eomonth(@d)", date(2026, 1, 31)),
        ("eomonth(@d, 1)", date(2026, 2, 28)),
        ("datefromparts(2026, 2, 28)", date(2026, 2, 28)),
        ("datetime2fromparts(2026, 1, 2, 3, 4, 5, 6, 1)", datetime(2026, 1, 2, 3, 4, 5, 600000)),
        ("isdate('2026-01-01')", 1),
        ("isdate('x')", 0),
        ("isdate(null)", 0),
    ],
)
def test_date_functions(text, expected):
    assert value(text, GIVEN) == expected


def test_dateadd_keeps_the_type_of_what_it_moves():
    assert typed("dateadd(day, 1, @day)", GIVEN) == "date"
    assert typed("dateadd(day, 1, '2026-01-01')") == "datetime"


def test_switchoffset_moves_the_clock_not_the_moment():
    moved = value("switchoffset(@o, '+02:00')", GIVEN)
    assert moved == WHEN.replace(tzinfo=UTC)
    assert moved.tzinfo == timezone(timedelta(hours=2))


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-5000, 5000))
def test_datediff_undoes_dateadd(moment, amount):
    for part in ("day", "hour", "second", "month"):
        given_ = {"@d": (DATETIME2, moment), "@n": (INT, amount)}
        text = f"datediff({part}, @d, dateadd({part}, @n, @d))"
        assert value(text, given_) == amount


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("dateadd(year, 9000, @d)", 517),
        ("dateadd(fortnight, 1, @d)", 155),
        ("dateadd(hour, 1, @day)", 9810),
        ("datepart(day, @t)", 9810),
        ("datediff(ms, '1900-01-01', '2026-01-01')", 535),
        ("datefromparts(2026, 2, 30)", 289),
        ("dateadd(day, 1, 'x')", 241),
        ("datetime2fromparts(2026,1,1,0,0,0,0,@n)", 10760),
    ],
)
def test_date_errors(text, number):
    assert fails(text, GIVEN).number == number


def test_the_week_follows_datefirst():
    session = FakeSession()
    session.options = session.options.changed(datefirst=1)
    assert value("datepart(dw, '2026-01-04')", session=session) == 7
    assert value("@@datefirst", session=session) == 1


FINE = "cast('2007-01-01 13:10:10.1111111' as datetime2)"


@pytest.mark.parametrize(
    ("nanoseconds", "units"), [(49, 0), (50, 1), (149, 1), (150, 2), (-50, 0), (-51, -1)]
)
def test_nanoseconds_are_added_to_the_nearest_100(nanoseconds, units):
    """DATEADD page, "Fractional seconds precision": 49 adds nothing, 50 adds 100, 150 adds 200."""
    start = value(FINE)
    assert value(f"dateadd(ns, {nanoseconds}, {FINE})") == moved(start, units)
    assert value(f"datediff(ns, {FINE}, dateadd(ns, {nanoseconds}, {FINE}))") == units * 100


def test_a_part_of_nanoseconds_has_seven_digits():
    """DATEPART page: nanosecond of .1234567 is 123456700."""
    text = "'2007-10-30 12:15:32.1234567 +05:10'"
    assert value(f"datepart(ns, {text})") == 123456700
    assert value(f"datename(nanosecond, {text})") == "123456700"
    assert value(f"datepart(mcs, {text})") == 123456


def test_parts_give_seven_digits():
    assert value("datetime2fromparts(2026, 1, 1, 0, 0, 0, 7, 7)") == moved(datetime(2026, 1, 1), 7)
    assert (
        value("timefromparts(0, 0, 0, 1234567, 7)") == moved(datetime(2026, 1, 1), 1234567).time()
    )
    assert value("datetimeoffsetfromparts(2026, 1, 1, 0, 0, 0, 7, 0, 0, 7)") == moved(
        datetime(2026, 1, 1, tzinfo=UTC), 7
    )


def test_a_bucket_begins_at_its_origin_to_100_ns():
    """A moment 100 ns before a border is in the bucket before."""
    bucket = "date_bucket(second, 1, {}, cast('2007-01-01 00:00:00.0000005' as datetime2))"
    begun = value(bucket.format(f"dateadd(ns, -100, {bucket.format(FINE)})"))
    assert value(bucket.format(FINE)) - begun == timedelta(seconds=1)


def test_format_and_iso_text_have_seven_digits():
    assert value(f"format({FINE}, 'o')") == "2007-01-01T13:10:10.1111111"
    assert value(f"format(cast({FINE} as time), 'c')") == "13:10:10.1111111"
