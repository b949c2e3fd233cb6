"""Dates and times: reading text, changing precision, writing text.

Values are naive datetime.datetime (aware for datetimeoffset), date and time; a seventh digit of a
second makes one of engine.seventh_digit. Styles: "CAST and CONVERT" page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.seventh_digit import (
    DIGITS,
    PER_SECOND,
    at,
    cut,
    moved,
    rounded,
    with_fraction,
)
from redial_broker.engine.types import SqlType

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert

EPOCH = datetime(1900, 1, 1)
"""Where the days of datetime begin; engine.clock has another, where a test's time begins."""

_EPOCH_DATE = EPOCH.date()
_DATETIME_MIN = datetime(1753, 1, 1)
_SMALL_MAX = datetime(2079, 6, 6, 23, 59, 59)
_DAY = timedelta(days=1)
MILLISECOND_DIGITS = 3
_TEXT_DIGITS = 9
"""The longest fraction of a second a text may have."""

XML_STYLE = 127
"""The style with a time zone: what is read by it is UTC. Otherwise an offset in a text is dropped
on the way to datetime2 (date page, examples)."""
_TICKS_PER_DAY = 300 * 86400
_LEAST_DAYS, _MOST_DAYS = (_DATETIME_MIN - EPOCH).days, (datetime(9999, 12, 31) - EPOCH).days

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_MONTH_NUMBER = {name[:n].lower(): i + 1 for i, name in enumerate(MONTHS) for n in (3, len(name))}

_TIME = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
    r"(?:[.:](?P<fraction>\d{1,9}))?)?)?\s*(?P<half>[AaPp][Mm])?"
)
_ZONE = r"\s*(?P<zone>[Zz]|[+-]\d{2}:\d{1,2})?"
_DATE_FORMS = (
    r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
    r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})",
    r"(?P<first>\d{1,2})[-/.](?P<second_>\d{1,2})[-/.](?P<year>\d{4}|\d{2})",
    r"(?P<name>[A-Za-z]{3,9})\s+(?P<day>\d{1,2})\s*,?\s*(?P<year>\d{4}|\d{2})",
    r"(?P<day>\d{1,2})[\s-]+(?P<name>[A-Za-z]{3,9})[\s,-]+(?P<year>\d{4}|\d{2})",
)
_TEXT_FORMS = tuple(
    re.compile(rf"\s*{form}(?:(?:\s+|[Tt]){_TIME}{_ZONE})?\s*") for form in _DATE_FORMS
)
_YEAR_ONLY = re.compile(r"\s*(\d{4})\s*")
_TIME_ONLY = re.compile(rf"\s*{_TIME}{_ZONE}\s*")
_DAY_FIRST_STYLES = frozenset({3, 4, 5, 103, 104, 105, 13, 113, 6, 106})
_READABLE_STYLES = frozenset(
    {
        None,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        20,
        21,
        23,
        24,
        25,
        100,
        101,
        102,
        103,
        104,
        105,
        106,
        107,
        108,
        109,
        110,
        111,
        112,
        113,
        114,
        120,
        121,
        126,
        127,
    }
)


class _Unreadable(Exception):
    """The text is no date; the caller knows which number that is for its target."""


def _read_time(match: re.Match[str]) -> time:
    if match["hour"] is None:
        return time()
    hour = int(match["hour"])
    if match["minute"] is None and match["half"] is None:
        raise _Unreadable
    if match["half"]:
        if not 0 <= hour <= 12:
            raise _Unreadable
        hour = hour % 12 + (12 if match["half"][0] in "pP" else 0)
    return time(hour, int(match["minute"] or 0), int(match["second"] or 0))


def _year(text: str) -> int:
    # Two-digit year cutoff 2049, the server's default.
    value = int(text)
    return value if len(text) > 2 else value + (2000 if value < 50 else 1900)


def _read_date(match: re.Match[str], day_first: bool) -> date:
    parts = match.groupdict()
    if "name" in parts:
        month = _MONTH_NUMBER.get(parts["name"].lower())
        if month is None:
            raise _Unreadable
        return date(_year(parts["year"]), month, int(parts["day"]))
    if "first" in parts:
        first, second = int(parts["first"]), int(parts["second_"])
        month, day = (second, first) if day_first else (first, second)
        return date(_year(parts["year"]), month, day)
    return date(int(parts["year"]), int(parts["month"]), int(parts["day"]))


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text in "Zz":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[4:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _read(text: str, day_first: bool) -> tuple[date | None, time, timezone | None, str]:
    """date (None when only a time is given), time, offset, digits of the second's fraction."""
    for form in _TEXT_FORMS:
        match = form.fullmatch(text)
        if match:
            clock = _read_time(match)
            return (
                _read_date(match, day_first),
                clock,
                _offset(match["zone"]),
                match["fraction"] or "",
            )
    match = _YEAR_ONLY.fullmatch(text)
    if match:  # "datetime" page, Unseparated string formats: four digits are a year
        return date(int(match[1]), 1, 1), time(), None, ""
    match = _TIME_ONLY.fullmatch(text)
    if match:
        return None, _read_time(match), _offset(match["zone"]), match["fraction"] or ""
    if not text.strip():
        return None, time(), None, ""
    raise _Unreadable


def _units(digits: str, scale: int) -> int:
    """The fraction of a text in units of 100 ns, rounded to that many digits."""
    unit = 10 ** (_TEXT_DIGITS - scale)
    nanoseconds = int(digits.ljust(_TEXT_DIGITS, "0"))
    rounded_up: int = (nanoseconds + unit // 2) // unit * unit
    return rounded_up // 100


def from_text(source: SqlType, target: SqlType, style: int | None) -> Callable[[str], Any]:
    """text -> date or time value; 241 unreadable, 242 readable but no such moment."""
    if style not in _READABLE_STYLES:
        raise NotSupported(f"style {style} when converting text to {target.name}")
    day_first = style in _DAY_FIRST_STYLES
    legacy = target.name in {"datetime", "smalldatetime"}
    fit = rescale(target)
    scale = MILLISECOND_DIGITS if legacy else target.scale

    def run(text: str) -> Any:
        try:
            day, clock, offset, digits = _read(text, day_first)
        except _Unreadable:
            raise SqlError(295 if target.name == "smalldatetime" else 241) from None
        except ValueError:
            if legacy:
                raise SqlError(242, source.name, target.name) from None
            raise SqlError(241) from None
        if legacy and len(digits) > MILLISECOND_DIGITS:
            raise SqlError(241)
        if target.name == "date":
            return day or _EPOCH_DATE
        moment = datetime.combine(day or _EPOCH_DATE, clock)
        if digits:
            moment = _later(moment, _units(digits, scale))
        if target.name == "time":
            return moment.time()
        if target.name == "datetimeoffset":
            return fit(moment.replace(tzinfo=offset or UTC))
        if (legacy or style == XML_STYLE) and offset is not None and offset.utcoffset(None):
            moment -= offset.utcoffset(None)
        if legacy and not _in_range(moment, target.name):
            raise SqlError(242, source.name, target.name)
        return fit(moment)

    return run


def _in_range(moment: datetime, name: str) -> bool:
    if name == "smalldatetime":
        return EPOCH <= moment <= _SMALL_MAX
    return moment >= _DATETIME_MIN


def round_datetime(moment: datetime) -> datetime:
    """The nearest 1/300 s, shown as the server shows it: milliseconds ending in 0, 3 or 7."""
    ticks = (moment.microsecond * 3 + 5000) // 10000
    if ticks == 300:
        return moment.replace(microsecond=0) + timedelta(seconds=1)
    return moment.replace(microsecond=(ticks * 10 + 1) // 3 * 1000)


def _widen_datetime(moment: datetime) -> datetime:
    """A datetime's 1/300 s in units of 100 ns (compatibility level 130 and later)."""
    ticks = (moment.microsecond * 3 + 5000) // 10000
    return with_fraction(moment, (ticks * PER_SECOND + 150) // 300)


def _later(moment: datetime, units: int) -> datetime:
    """The moment so many units of 100 ns later; behind the last second of all, that second's end."""
    try:
        return moved(moment, units)
    except OverflowError:
        return with_fraction(moment, PER_SECOND - 1)


def _rounded(moment: datetime, scale: int) -> datetime:
    """The nearest moment of that scale; what would lie behind the year 9999 is cut off."""
    try:
        return rounded(moment, scale)
    except OverflowError:
        return cut(moment, scale)


def rescale(target: SqlType) -> Convert:
    """value of the target's kind -> the same with the target's precision."""
    name, scale = target.name, target.scale
    if name == "datetime":
        return round_datetime
    if name == "smalldatetime":
        # By way of datetime: 29.999 s are rounded up (smalldatetime page).
        half = timedelta(seconds=30)
        return lambda m: (round_datetime(m) + half).replace(second=0, microsecond=0)
    if name == "time":
        return lambda t: rounded(at(_EPOCH_DATE, t), scale).time()
    if name == "date" or scale == DIGITS:
        return lambda value: value
    return lambda m: _rounded(m, scale)


def between(source: SqlType, target: SqlType) -> Convert:
    """One date type to another; date and time are never converted into each other."""
    to_moment = _to_moment(source)
    fit = rescale(target)
    if target.name == "date":
        return lambda value: to_moment(value).date()
    if target.name == "time":
        return lambda value: fit(to_moment(value).time())
    if target.name == "datetimeoffset":
        if source.name == "datetimeoffset":
            return fit
        return lambda value: fit(to_moment(value).replace(tzinfo=UTC))
    if target.name == "datetime2":
        return lambda value: fit(to_moment(value))

    def legacy(value: Any) -> Any:
        moment = to_moment(value)
        if not _in_range(moment, target.name):
            raise SqlError(242, source.name, target.name)
        return fit(moment)

    return legacy


def _to_moment(source: SqlType) -> Callable[[Any], datetime]:
    if source.name == "date":
        return lambda value: datetime.combine(value, time())
    if source.name == "time":
        return lambda value: at(_EPOCH_DATE, value)
    if source.name == "datetimeoffset":
        return lambda value: value.replace(tzinfo=None)
    return _widen_datetime if source.name == "datetime" else lambda value: value


def days_since_1900(value: datetime) -> Decimal:
    """A datetime as the number it is stored as: days since 1900-01-01, with fraction."""
    gap = value - EPOCH
    ticks = (gap.seconds * 300) + (gap.microseconds * 3 + 5000) // 10000
    return Decimal(gap.days) + Decimal(ticks) / _TICKS_PER_DAY


def from_days(target: SqlType) -> Convert:
    """number of days since 1900-01-01 -> datetime or smalldatetime; 8115 when out of range."""
    fit = rescale(target)

    def run(value: Any) -> Any:
        try:
            moment = EPOCH + _DAY * float(value)
        except OverflowError:
            raise SqlError(8115, "expression", target.name) from None
        if not _in_range(moment, target.name):
            raise SqlError(8115, "expression", target.name)
        return fit(moment)

    return run


def to_bytes(value: datetime) -> bytes:
    """The eight stored bytes of a datetime: days, then 1/300 s, both big-endian."""
    gap = value - EPOCH
    ticks = gap.seconds * 300 + (gap.microseconds * 3 + 5000) // 10000
    return gap.days.to_bytes(4, "big", signed=True) + ticks.to_bytes(4, "big")


def from_bytes(value: bytes) -> datetime:
    """The datetime of eight stored bytes."""
    padded = value[-8:].rjust(8, b"\x00")
    days, ticks = int.from_bytes(padded[:4], "big", signed=True), int.from_bytes(padded[4:], "big")
    if not _LEAST_DAYS <= days <= _MOST_DAYS or ticks >= _TICKS_PER_DAY:
        raise SqlError(210)
    moment = EPOCH + timedelta(days=days)
    return round_datetime(moment + timedelta(microseconds=(ticks * 10000 + 1) // 3))


def seconds_of_day(value: Any) -> float:
    """The argument of WAITFOR in seconds: 'hh:mm[:ss[.mmm]]' or a datetime. Raises SqlError 241.

    Nothing but blanks is midnight; an hour 0 is no hour of the afternoon (F-527).
    """
    if isinstance(value, str) and not value.strip():
        return 0
    if isinstance(value, str):
        match = _TIME_ONLY.fullmatch(value)
        try:
            if match is None or match["zone"] or len(match["fraction"] or "") > MILLISECOND_DIGITS:
                raise _Unreadable
            if int(match["hour"]) == 0 and (match["half"] or "")[:1] in {"p", "P"}:
                raise _Unreadable
            value = with_fraction(
                _read_time(match), _units(match["fraction"] or "", MILLISECOND_DIGITS)
            )
        except (_Unreadable, ValueError):
            raise SqlError(241) from None
    seconds: int = value.hour * 3600 + value.minute * 60 + value.second
    return seconds + float(value.microsecond) / 1_000_000
