"""Dates and times, continued: truncation, buckets, construction from parts, time zones.

Rules: the functions' pages. Windows time zone names come from tzlocal's table, the rules of the
zones from the system's or tzdata's time zone database.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tzlocal.windows_tz import win_tz

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.seventh_digit import DIGITS, moved, units_between, with_fraction
from redial_broker.engine.types import (
    DATETIME,
    DATETIME2,
    DATETIMEOFFSET,
    SqlType,
    nvarchar,
    sql_type,
)
from redial_broker.exec.conversion.dates import rescale, round_datetime
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.expressions.expr import Expr, closure, strict
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions.dates import (
    add_months,
    as_datetime,
    date_part,
    lowering,
    moment_argument,
    zone_minutes,
)
from redial_broker.exec.functions.registry import Call, function

_FIRST = datetime(1900, 1, 1)
_UNITS = {
    "hour": "hours",
    "minute": "minutes",
    "second": "seconds",
    "millisecond": "milliseconds",
    "microsecond": "microseconds",
}


# ---------------------------------------------------------------------- DATETRUNC, DATE_BUCKET
def _truncated(moment: datetime, part: str, first: int) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if part == "year":
        return day.replace(month=1, day=1)
    if part == "quarter":
        return day.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
    if part == "month":
        return day.replace(day=1)
    if part == "week":
        return day - timedelta(days=(moment.isoweekday() - first) % 7)
    if part == "iso_week":
        return day - timedelta(days=moment.isoweekday() - 1)
    if part in {"day", "dayofyear"}:
        return day
    if part == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    if part == "minute":
        return moment.replace(second=0, microsecond=0)
    if part == "second":
        return moment.replace(microsecond=0)
    unit = 1000 if part == "millisecond" else 1
    return moment.replace(microsecond=moment.microsecond // unit * unit)


_DIGITS_OF = {"millisecond": 3, "microsecond": 6}
_TRUNCATABLE = frozenset(
    {
        "year",
        "quarter",
        "month",
        "week",
        "iso_week",
        "day",
        "dayofyear",
        "hour",
        "minute",
        "second",
        "millisecond",
        "microsecond",
    }
)
_CLOCK_PARTS = frozenset({"hour", "minute", "second", "millisecond", "microsecond"})


@function("DATETRUNC", 2)
def _datetrunc(call: Call) -> Expr:
    """DATETRUNC(part, moment): the type of the moment; text counts as datetime2."""
    part, moment = date_part(call), moment_argument(call, 1)
    of = moment.type
    unfit = (
        (of.name == "date" and part in _CLOCK_PARTS)
        or (of.name == "time" and part not in _CLOCK_PARTS)
        or part not in _TRUNCATABLE
    )
    digits = 3 if of.name == "datetime" else 0 if of.name == "smalldatetime" else of.scale
    if unfit or (of.name != "date" and _DIGITS_OF.get(part, 0) > digits):
        raise SqlError(9810, part, "datetrunc", of.name, aborts="scope")
    lift, lower, fit = as_datetime(of), lowering(of), rescale(of)

    def run(value: Any, first: int) -> Any:
        try:
            begun = _truncated(lift(value), part, first)
        except OverflowError:  # the week began before 0001-01-01 (DATETRUNC page)
            raise SqlError(9837) from None
        return fit(lower(begun, value))

    body = "return f(x0, session.options.datefirst)"
    return Expr(closure(body, [moment], f=run), of, moment.nullable)


@function("DATE_BUCKET", 3, 4)
def _date_bucket(call: Call) -> Expr:
    """DATE_BUCKET(part, width, moment [, origin]): the start of the bucket, from 1900-01-01."""
    part, moment = date_part(call), moment_argument(call, 2)
    of = moment.type
    allowed = {"day", "week", "month", "quarter", "year", *(_CLOCK_PARTS - {"microsecond"})}
    if (
        part not in allowed
        or (of.name == "date" and part in _CLOCK_PARTS)
        or (of.name == "time" and part not in _CLOCK_PARTS)
    ):
        raise SqlError(9810, part, "date_bucket", of.name, aborts="scope")
    width = call.integer(1)
    origin = [converted(call.arg(3), of)] if call.count == 4 else []
    lift, lower, fit = as_datetime(of), lowering(of), rescale(of)

    def run(size: int, value: Any, start: Any = None) -> Any:
        if size <= 0:
            raise SqlError(9834)
        begin = _FIRST if start is None else lift(start)
        return fit(lower(_bucket(lift(value), part, size, begin), value))

    return strict(run, of, [width, moment, *origin])


def _bucket(moment: datetime, part: str, size: int, origin: datetime) -> datetime:
    months = {"month": 1, "quarter": 3, "year": 12}.get(part)
    if months is not None:
        size *= months
        count = (moment.year - origin.year) * 12 + moment.month - origin.month
        if add_months(origin, count) > moment:
            count -= 1
        return add_months(origin, count // size * size)
    step = (
        timedelta(days=size * (7 if part == "week" else 1))
        if part in {"day", "week"}
        else timedelta(**{_UNITS[part]: size})
    )
    units = units_between(_FIRST, _FIRST + step)
    return moved(origin, units_between(origin, moment) // units * units)


# ---------------------------------------------------------------------- from parts
def _constructed(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    def run(*parts: int) -> Any:
        try:
            return make(*parts)
        except (ValueError, OverflowError):
            raise SqlError(289, name) from None

    return run


def _units(part: int, digits: int) -> int:
    """A fraction of a second of so many digits, in units of 100 ns."""
    if not 0 <= part < 10**digits:
        raise ValueError
    units: int = part * 10 ** (DIGITS - digits)
    return units


def _digits(call: Call, at: int, name: str) -> int:
    scale = call.integer(at)
    if not scale.constant or scale.value is None or not 0 <= scale.value <= 7:
        raise SqlError(10760, name, aborts="scope")
    digits: int = scale.value
    return digits


@function("DATETIMEFROMPARTS", 7)
def _datetimefromparts(call: Call) -> Expr:
    def make(*parts: int) -> datetime:
        year, month, day, hour, minute, second, millisecond = parts
        if not 0 <= millisecond <= 999 or not 1753 <= year <= 9999:
            raise ValueError
        return round_datetime(datetime(year, month, day, hour, minute, second, millisecond * 1000))

    parts = [call.integer(at) for at in range(7)]
    return strict(_constructed("datetime", make), DATETIME, parts)


@function("SMALLDATETIMEFROMPARTS", 5)
def _smalldatetimefromparts(call: Call) -> Expr:
    def make(*parts: int) -> datetime:
        year, month, day, hour, minute = parts
        if not 1900 <= year <= 2079:
            raise ValueError
        return datetime(year, month, day, hour, minute)

    return strict(
        _constructed("smalldatetime", make),
        sql_type("smalldatetime"),
        [call.integer(at) for at in range(5)],
    )


@function("TIMEFROMPARTS", 5)
def _timefromparts(call: Call) -> Expr:
    digits = _digits(call, 4, "time")

    def make(hour: int, minute: int, second: int, part: int) -> time:
        return with_fraction(time(hour, minute, second), _units(part, digits))

    return strict(
        _constructed("time", make),
        sql_type("time", scale=digits),
        [call.integer(at) for at in range(4)],
    )


@function("DATETIMEOFFSETFROMPARTS", 10)
def _datetimeoffsetfromparts(call: Call) -> Expr:
    digits = _digits(call, 9, "datetimeoffset")

    def make(*parts: int) -> datetime:
        year, month, day, hour, minute, second, part, hours, minutes = parts
        if (
            abs(hours) > 14
            or abs(minutes) > 59
            or hours * minutes < 0
            or abs(hours * 60 + minutes) > 840
        ):
            raise ValueError
        zone = timezone(timedelta(hours=hours, minutes=minutes))
        whole = datetime(year, month, day, hour, minute, second, tzinfo=zone)
        return with_fraction(whole, _units(part, digits))

    return strict(
        _constructed("datetimeoffset", make),
        sql_type("datetimeoffset", scale=digits),
        [call.integer(at) for at in range(9)],
    )


# ---------------------------------------------------------------------- zones
@function("TODATETIMEOFFSET", 2)
def _todatetimeoffset(call: Call) -> Expr:
    moment, zone = converted(call.arg(0), DATETIME2), call.arg(1)
    given = call.arg(0).type
    of = sql_type("datetimeoffset", scale=given.scale if given.name == "datetime2" else 7)

    def run(value: datetime, to: Any) -> datetime:
        return value.replace(tzinfo=timezone(timedelta(minutes=zone_minutes(to))))

    return strict(run, of, [moment, zone])


@lru_cache(maxsize=256)
def time_zone(name: str) -> tzinfo:
    """The zone of a Windows name. Raises 9820 for an unknown one."""
    known = _ZONES.get(name.lower())
    if known is None:
        raise SqlError(9820, name)
    try:
        return ZoneInfo(known)
    except ZoneInfoNotFoundError:
        raise NotSupported(f"time zone {name}: this machine has no rules for {known}") from None


_ZONES = {name.lower(): zone for name, zone in win_tz.items()}


def zone_names() -> list[str]:
    """The Windows names AT TIME ZONE knows, in order."""
    return sorted(win_tz)


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The moment with the zone's offset at that time, as a fixed offset."""
    there = moment.astimezone(zone)
    gap = there.utcoffset()
    assert gap is not None
    minutes = round(gap.total_seconds() / 60)
    return moment.astimezone(timezone(timedelta(minutes=minutes)))


@compiles(ast.AtTimeZone)
def _at_time_zone(node: ast.AtTimeZone, scope: Scope) -> Expr:
    """moment AT TIME ZONE name ("AT TIME ZONE" page).

    A local time inside the hour that is skipped takes the offset after the change, one inside the
    hour that comes twice the offset before it.
    """
    moment = compile_expression(node.operand, scope)
    if moment.type.is_string or moment.untyped:
        moment = converted(moment, DATETIMEOFFSET)
    if group(moment.type) not in {"datetime", "moment"}:
        raise SqlError(8116, moment.type.name, 1, "AT TIME ZONE", aborts="scope")
    name = converted(compile_expression(node.zone, scope), nvarchar(128))
    of = _zoned(moment.type)
    aware = moment.type.name == "datetimeoffset"

    def run(value: datetime, wanted: str) -> datetime:
        zone = time_zone(wanted)
        if not aware:
            value = value.replace(tzinfo=zone, fold=0)
        return in_zone(value.astimezone(UTC), zone)

    return strict(run, of, [moment, name])


def _zoned(of: SqlType) -> SqlType:
    digits = {"datetime": 3, "smalldatetime": 0}.get(of.name, of.scale)
    return sql_type("datetimeoffset", scale=digits)


@function("CURRENT_TIMEZONE_ID", 0)
def _current_timezone_id(call: Call) -> Expr:
    return Expr(lambda session, variables, row: "UTC", sql_type("varchar", 64), False)


__all__ = ["in_zone", "time_zone", "zone_names"]
