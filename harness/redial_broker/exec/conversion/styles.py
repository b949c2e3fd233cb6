"""Dates as text: the styles of CONVERT ("CAST and CONVERT" page, date and time styles)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.seventh_digit import at, digits_of
from redial_broker.engine.types import SqlType
from redial_broker.exec.conversion.dates import EPOCH, MONTHS

_ABBREVIATIONS = tuple(name[:3] for name in MONTHS)
_DATE_ONLY = {
    1: "{m:02}/{d:02}/{y:02}",
    101: "{m:02}/{d:02}/{Y:04}",
    2: "{y:02}.{m:02}.{d:02}",
    102: "{Y:04}.{m:02}.{d:02}",
    3: "{d:02}/{m:02}/{y:02}",
    103: "{d:02}/{m:02}/{Y:04}",
    4: "{d:02}.{m:02}.{y:02}",
    104: "{d:02}.{m:02}.{Y:04}",
    5: "{d:02}-{m:02}-{y:02}",
    105: "{d:02}-{m:02}-{Y:04}",
    6: "{d:02} {b} {y:02}",
    106: "{d:02} {b} {Y:04}",
    7: "{b} {d:02}, {y:02}",
    107: "{b} {d:02}, {Y:04}",
    10: "{m:02}-{d:02}-{y:02}",
    110: "{m:02}-{d:02}-{Y:04}",
    11: "{y:02}/{m:02}/{d:02}",
    111: "{Y:04}/{m:02}/{d:02}",
    12: "{y:02}{m:02}{d:02}",
    112: "{Y:04}{m:02}{d:02}",
    23: "{Y:04}-{m:02}-{d:02}",
}
_UNSUPPORTED = frozenset({22, 130, 131})
"""Styles the page lists that are not written here; every other number is no style (281)."""

_ALIASES = {8: 108, 24: 108, 9: 109, 13: 113, 14: 114, 20: 120, 21: 121, 25: 121, 0: 100}
_OLD_TYPES = frozenset({"datetime", "smalldatetime"})


def writer(source: SqlType, style: int | None) -> Callable[[Any], str]:
    """value of a date type -> text in that style; None is the type's default style."""
    if style is None:
        style = 0 if source.name in _OLD_TYPES else 121
    if source.name == "time" and style in _DATE_ONLY:
        raise NotSupported(f"style {style} for a time")
    if style in _DATE_ONLY:
        template = _DATE_ONLY[style]
        return lambda value: _fill(template, value)
    style = _ALIASES.get(style, style)
    make = _WRITERS.get(style)
    if make is None and style not in _UNSUPPORTED:
        raise SqlError(281, style, source.name)
    if make is None:
        raise NotSupported(f"style {style} when converting {source.name} to text")
    return make(source)


def _fill(template: str, value: date) -> str:
    return template.format(
        Y=value.year,
        y=value.year % 100,
        m=value.month,
        d=value.day,
        b=_ABBREVIATIONS[value.month - 1],
    )


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, time):
        return at(EPOCH.date(), value)
    return datetime.combine(value, time())


def _digits(source: SqlType) -> int:
    return 3 if source.name == "datetime" else source.scale


def _fraction(moment: datetime, digits: int, separator: str = ".") -> str:
    if not digits:
        return ""
    return separator + digits_of(moment)[:digits]


def _offset(moment: datetime) -> str:
    gap = moment.utcoffset()
    if gap is None:
        return ""
    minutes = int(gap.total_seconds()) // 60
    sign = "-" if minutes < 0 else "+"
    return f" {sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _half_day(moment: datetime) -> str:
    return f"{moment.hour % 12 or 12:>2}:{moment.minute:02}"


def _default(source: SqlType) -> Callable[[Any], str]:
    """Style 0: Nov 21 2026  1:05PM; a date has no time and a time no date."""

    def run(value: Any) -> str:
        m = _moment(value)
        day = f"{_ABBREVIATIONS[m.month - 1]} {m.day:>2} {m.year:04}"
        clock = _half_day(m) + ("PM" if m.hour >= 12 else "AM")
        if source.name == "date":
            return day
        return clock.lstrip() if source.name == "time" else f"{day} {clock}{_offset(m)}"

    return run


def _with_milliseconds(source: SqlType) -> Callable[[Any], str]:
    def run(value: Any) -> str:
        m = _moment(value)
        fraction = (
            _fraction(m, 3, ":") if source.name in _OLD_TYPES else _fraction(m, _digits(source))
        )
        half = "PM" if m.hour >= 12 else "AM"
        return (
            f"{_ABBREVIATIONS[m.month - 1]} {m.day:>2} {m.year:04} "
            f"{_half_day(m)}:{m.second:02}{fraction}{half}{_offset(m)}"
        )

    return run


def _european(source: SqlType) -> Callable[[Any], str]:
    old = source.name in _OLD_TYPES

    def run(value: Any) -> str:
        m = _moment(value)
        return (
            f"{m.day:02} {_ABBREVIATIONS[m.month - 1]} {m.year:04} {m:%H:%M:%S}"
            f"{_fraction(m, 3, ':') if old else _fraction(m, _digits(source))}"
        )

    return run


def _clock(digits: bool) -> Callable[[SqlType], Callable[[Any], str]]:
    def make(source: SqlType) -> Callable[[Any], str]:
        def run(value: Any) -> str:
            m = _moment(value)
            if not digits:
                return f"{m:%H:%M:%S}"
            if source.name in _OLD_TYPES:
                return f"{m:%H:%M:%S}{_fraction(m, 3, ':')}"
            return f"{m:%H:%M:%S}{_fraction(m, _digits(source))}"

        return run

    return make


def _canonical(fraction: bool) -> Callable[[SqlType], Callable[[Any], str]]:
    """Styles 120 and 121: yyyy-mm-dd hh:mi:ss[.fff]."""

    def make(source: SqlType) -> Callable[[Any], str]:
        digits = (3 if source.name in _OLD_TYPES else _digits(source)) if fraction else 0

        def run(value: Any) -> str:
            if source.name == "date":
                return f"{value.year:04}-{value.month:02}-{value.day:02}"
            m = _moment(value)
            clock = f"{m:%H:%M:%S}{_fraction(m, digits)}"
            if source.name == "time":
                return clock
            return f"{m.year:04}-{m.month:02}-{m.day:02} {clock}{_offset(m)}"

        return run

    return make


def _iso(zone: bool) -> Callable[[SqlType], Callable[[Any], str]]:
    """Styles 126 and 127: yyyy-mm-ddThh:mi:ss[.fff]; 127 writes datetimeoffset in UTC with Z."""

    def make(source: SqlType) -> Callable[[Any], str]:
        def run(value: Any) -> str:
            if source.name == "date":
                return f"{value.year:04}-{value.month:02}-{value.day:02}"
            m = _moment(value)
            utc = zone and m.tzinfo is not None
            if utc:
                m = m.astimezone(UTC)
            digits = _digits(source)
            if source.name == "datetime" and not m.microsecond:
                digits = 0
            clock = f"{m:%H:%M:%S}{_fraction(m, digits)}"
            if source.name == "time":
                return clock
            day = f"{m.year:04}-{m.month:02}-{m.day:02}T{clock}"
            return day + ("Z" if utc else _offset(m).strip())

        return run

    return make


_WRITERS = {
    100: _default,
    109: _with_milliseconds,
    113: _european,
    108: _clock(False),
    114: _clock(True),
    120: _canonical(False),
    121: _canonical(True),
    126: _iso(False),
    127: _iso(True),
}
