"""Dates and times: reading text, changing precision, writing text.

Values are naive datetime.datetime (aware for datetimeoffset), date and time; digits beyond the
microsecond are dropped by our value representation. Styles: "CAST and CONVERT" page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import SqlType

if TYPE_CHECKING:
    from redial_broker.exec.closures import Convert

differs(
    "100 nanoseconds",
    "The last digit of time(7), datetime2(7) and datetimeoffset(7) is always 0: what is read, from "
    "text or from a driver, ends at the microsecond.",
)

EPOCH = datetime(1900, 1, 1)
"""Where the days of datetime begin; engine.clock has another, where a test's time begins."""

_EPOCH_DATE = EPOCH.date()
_DATETIME_MIN = datetime(1753, 1, 1)
_SMALL_MAX = datetime(2079, 6, 6, 23, 59, 59)
_DAY = timedelta(days=1)
MILLISECOND_DIGITS = 3
MICROSECOND_DIGITS = 6
XML_STYLE = 127
"""The style with a time zone: what is read by it is UTC. Otherwise an offset in a text is dropped
on the way to datetime2 (date page, examples)."""
_TICKS_PER_DAY = 300 * 86400
_MICROSECOND = timedelta(microseconds=1)

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


def _fraction(digits: str | None) -> int:
    return int(digits[:6].ljust(6, "0")) if digits else 0


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
    return time(
        hour, int(match["minute"] or 0), int(match["second"] or 0), _fraction(match["fraction"])
    )


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


def _read(text: str, day_first: bool) -> tuple[date | None, time, timezone | None, int]:
    """date (None when only a time is given), time, offset, number of fraction digits."""
    for form in _TEXT_FORMS:
        match = form.fullmatch(text)
        if match:
            clock = _read_time(match)
            return (
                _read_date(match, day_first),
                clock,
                _offset(match["zone"]),
                len(match["fraction"] or ""),
            )
    match = _YEAR_ONLY.fullmatch(text)
    if match:  # "datetime" page, Unseparated string formats: four digits are a year
        return date(int(match[1]), 1, 1), time(), None, 0
    match = _TIME_ONLY.fullmatch(text)
    if match:
        return None, _read_time(match), _offset(match["zone"]), len(match["fraction"] or "")
    if not text.strip():
        return None, time(), None, 0
    raise _Unreadable


_LONG_FRACTION = re.compile(r"(?<=[0-9]:[0-9]{2})[.:]([0-9]{7,9})|(?<=:[0-9])[.:]([0-9]{7,9})")


def _fitting(text: str, target: SqlType) -> str:
    """The text with at most six digits of a second, rounded to the scale of its type."""
    match = _LONG_FRACTION.search(text)
    digits = (match[1] or match[2]) if match else ""
    if match is None or target.scale > MICROSECOND_DIGITS or not digits[6:].strip("0"):
        return text
    unit = 10 ** (len(digits) - target.scale)
    rounded = (int(digits) + unit // 2) // unit * unit
    if rounded >= 10 ** len(digits):
        return text  # up into the next second, which the six digits that are read do as well
    kept = str(rounded).zfill(len(digits))[:MICROSECOND_DIGITS]
    return f"{text[: match.start()]}.{kept}{text[match.end() :]}"


def from_text(source: SqlType, target: SqlType, style: int | None) -> Callable[[str], Any]:
    """text -> date or time value; 241 unreadable, 242 readable but no such moment."""
    if style not in _READABLE_STYLES:
        raise NotSupported(f"style {style} when converting text to {target.name}")
    day_first = style in _DAY_FIRST_STYLES
    legacy = target.name in {"datetime", "smalldatetime"}
    fit = rescale(target)

    def run(text: str) -> Any:
        if not legacy and target.name != "date":
            text = _fitting(text, target)
        try:
            day, clock, offset, digits = _read(text, day_first)
        except _Unreadable:
            raise SqlError(295 if target.name == "smalldatetime" else 241) from None
        except ValueError:
            if legacy:
                raise SqlError(242, source.name, target.name) from None
            raise SqlError(241) from None
        if legacy and digits > 3:
            raise SqlError(241)
        if target.name == "time":
            return fit(clock)
        if target.name == "date":
            return day or _EPOCH_DATE
        moment = datetime.combine(day or _EPOCH_DATE, clock)
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
    """A datetime's 1/300 s as microseconds (compatibility level 130 and later)."""
    ticks = (moment.microsecond * 3 + 5000) // 10000
    return moment.replace(microsecond=(ticks * 10000 + 1) // 3)


def _round_micros(moment: datetime, scale: int) -> datetime:
    if scale >= 6:
        return moment
    unit = 10 ** (6 - scale)
    rounded = (moment.microsecond + unit // 2) // unit * unit
    return moment + timedelta(microseconds=rounded - moment.microsecond)


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
        return lambda t: _round_micros(datetime.combine(_EPOCH_DATE, t), scale).time()
    if name == "date":
        return lambda d: d
    return lambda m: _round_micros(m, scale)


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
        return lambda value: datetime.combine(_EPOCH_DATE, value)
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
    ticks = int.from_bytes(padded[4:], "big")
    moment = EPOCH + timedelta(days=int.from_bytes(padded[:4], "big", signed=True))
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
            value = _read_time(match)
        except (_Unreadable, ValueError):
            raise SqlError(241) from None
    seconds: int = value.hour * 3600 + value.minute * 60 + value.second
    return seconds + float(value.microsecond) / 1_000_000
