"""DATETRUNC, DATE_BUCKET, the FROMPARTS family, time zones."""

from datetime import date, datetime, time, timedelta, timezone

import pytest

from ..evaluate import fails, typed, value

CET = "'Central European Standard Time'"
D, T2 = "cast('2026-05-17' as date)", "cast('2026-05-17T13:47:59.1234567' as datetime2)"


def offset(hours):
    return timezone(timedelta(hours=hours))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"datetrunc(year, {D})", date(2026, 1, 1)),
        (f"datetrunc(quarter, {D})", date(2026, 4, 1)),
        (f"datetrunc(month, {D})", date(2026, 5, 1)),
        (f"datetrunc(week, {D})", date(2026, 5, 17)),
        (f"datetrunc(iso_week, {D})", date(2026, 5, 11)),
        (f"datetrunc(hour, {T2})", datetime(2026, 5, 17, 13)),
        (f"datetrunc(minute, {T2})", datetime(2026, 5, 17, 13, 47)),
        (f"datetrunc(millisecond, {T2})", datetime(2026, 5, 17, 13, 47, 59, 123000)),
        ("datetrunc(second, cast('13:47:59.5' as time))", time(13, 47, 59)),
        ("datetrunc(day, '2026-05-17T05:06')", datetime(2026, 5, 17)),
        (f"date_bucket(week, 2, {D})", date(2026, 5, 4)),
        (f"date_bucket(month, 3, {D})", date(2026, 4, 1)),
        (f"date_bucket(hour, 6, {T2})", datetime(2026, 5, 17, 12)),
        (f"date_bucket(day, 7, {D}, cast('2026-05-15' as date))", date(2026, 5, 15)),
        (f"date_bucket(day, 7, {D}, cast('2026-05-18' as date))", date(2026, 5, 11)),
    ],
)
def test_truncated_moments_and_buckets(text, expected):
    assert value(text) == expected


def test_the_week_begins_where_datefirst_says():
    from redial_broker.exec.options import Options

    from ..evaluate import FakeSession

    session = FakeSession(options=Options(datefirst=1))
    assert value(f"datetrunc(week, {D})", session=session) == date(2026, 5, 11)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"datetrunc(hour, {D})", 9810),
        ("datetrunc(day, cast('01:00' as time))", 9810),
        (f"datetrunc(weekday, {D})", 9810),
        (f"datetrunc(nope, {D})", 155),
        ("datetrunc(microsecond, cast('2026-01-01' as datetime))", 9810),
        (f"date_bucket(day, 0, {D})", 9834),
        (f"date_bucket(hour, 1, {D})", 9810),
        ("datetimefromparts(1752, 1, 1, 0, 0, 0, 0)", 289),
        ("smalldatetimefromparts(2026, 13, 1, 0, 0)", 289),
        ("timefromparts(24, 0, 0, 0, 0)", 289),
        ("timefromparts(1, 0, 0, 10, 1)", 289),
        ("timefromparts(1, 0, 0, 0, 8)", 10760),
        ("datetimeoffsetfromparts(2026, 1, 1, 0, 0, 0, 0, 15, 0, 0)", 289),
        ("todatetimeoffset('2026-01-01', '+15:00')", 9812),
        (f"{T2} at time zone 'Nowhere'", 9820),
        ("cast(1 as int) at time zone 'UTC'", 8116),
    ],
)
def test_errors(text, number):
    assert fails(text).number == number


@pytest.mark.parametrize(
    ("text", "expected", "of"),
    [
        (
            "datetimefromparts(2026, 3, 5, 13, 2, 3, 998)",
            datetime(2026, 3, 5, 13, 2, 3, 997000),
            "datetime",
        ),
        ("smalldatetimefromparts(2026, 3, 5, 1, 2)", datetime(2026, 3, 5, 1, 2), "smalldatetime"),
        ("timefromparts(13, 2, 3, 5, 1)", time(13, 2, 3, 500000), "time(1)"),
        (
            "datetimeoffsetfromparts(2026, 3, 5, 1, 2, 3, 0, -5, 0, 0)",
            datetime(2026, 3, 5, 1, 2, 3, tzinfo=offset(-5)),
            "datetimeoffset(0)",
        ),
        (
            "todatetimeoffset(cast('2026-03-05' as datetime2(0)), '+02:00')",
            datetime(2026, 3, 5, tzinfo=offset(2)),
            "datetimeoffset(0)",
        ),
        ("datetimefromparts(2026, NULL, 5, 13, 2, 3, 0)", None, "datetime"),
    ],
)
def test_from_parts(text, expected, of):
    assert value(text) == expected
    assert typed(text) == of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"cast('2022-01-01T12:00:00' as datetime2(0)) at time zone {CET}",
            datetime(2022, 1, 1, 12, tzinfo=offset(1)),
        ),
        (
            f"cast('2022-03-27T02:01:00' as datetime2(0)) at time zone {CET}",
            datetime(2022, 3, 27, 3, 1, tzinfo=offset(2)),
        ),
        (
            f"cast('2022-10-30T02:30:00' as datetime2(0)) at time zone {CET}",
            datetime(2022, 10, 30, 2, 30, tzinfo=offset(2)),
        ),
        (
            "cast('2022-07-01' as datetime) at time zone 'UTC' at time zone 'pacific standard time'",
            datetime(2022, 6, 30, 17, tzinfo=offset(-7)),
        ),
    ],
)
def test_at_time_zone(text, expected):
    """The skipped hour takes the offset after the change, the doubled one that before it."""
    found = value(text)
    assert (found, found.utcoffset()) == (expected, expected.utcoffset())
    assert typed("cast('2022-07-01' as datetime) at time zone 'UTC'") == "datetimeoffset(3)"
