"""Date and time functions ("Date and time data types and functions" pages)."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.seventh_digit import (
    DIGITS,
    at,
    fraction,
    moved,
    units_between,
    with_fraction,
)
from redial_broker.engine.types import (
    BIGINT,
    DATE,
    DATETIME,
    DATETIME2,
    DATETIMEOFFSET,
    INT,
    SqlType,
    nvarchar,
    sql_type,
)
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.conversion.dates import EPOCH, MONTHS, rescale, round_datetime
from redial_broker.exec.conversion.rules import group, is_number
from redial_broker.exec.expressions.expr import Expr, closure, strict
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import Call, function

_PARTS = {
    "year": ("yy", "yyyy"),
    "quarter": ("qq", "q"),
    "month": ("mm", "m"),
    "dayofyear": ("dy", "y"),
    "day": ("dd", "d"),
    "week": ("wk", "ww"),
    "iso_week": ("isowk", "isoww"),
    "weekday": ("dw", "w"),
    "hour": ("hh",),
    "minute": ("mi", "n"),
    "second": ("ss", "s"),
    "millisecond": ("ms",),
    "microsecond": ("mcs",),
    "nanosecond": ("ns",),
    "tzoffset": ("tz",),
}
_PART_OF = {name: part for part, names in _PARTS.items() for name in (part, *names)}
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_INT_MAX = (1 << 31) - 1
_NANOSECONDS = 100
"""In one unit of the types with seven digits (DATEADD page: half of it and more is rounded up)."""

_UNITS = {
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}
_DATE_PARTS = frozenset(
    {"year", "quarter", "month", "dayofyear", "day", "week", "iso_week", "weekday"}
)


def date_part(call: Call) -> str:
    """The datepart named by the first argument; 155 when there is no such."""
    node = call.node.arguments[0]
    name = (
        node.text
        if isinstance(node, ast.Identifier)
        else node.parts[-1]
        if isinstance(node, ast.ColumnRef)
        else "?"
    )
    part = _PART_OF.get(name.lower())
    if part is None:
        raise SqlError(155, name, call.name.lower(), aborts="scope")
    return part


def moment_argument(call: Call, at: int) -> Expr:
    """An argument as a date or time: text is read as datetime2 and numbers as datetime."""
    argument = call.arg(at)
    if argument.untyped:
        return converted(argument, DATETIME)
    if argument.type.is_string:
        return converted(argument, DATETIME2)
    if is_number(argument.type):
        return converted(argument, DATETIME)
    if group(argument.type) not in {"datetime", "moment", "date", "time"}:
        raise call.invalid(argument, at + 1)
    return argument


def as_datetime(of: SqlType) -> Callable[[Any], datetime]:
    """value of a date type -> naive datetime (the local one for datetimeoffset)."""
    if of.name == "date":
        return lambda x: datetime(x.year, x.month, x.day)
    if of.name == "time":
        return lambda x: at(EPOCH.date(), x)
    return (lambda x: x.replace(tzinfo=None)) if of.name == "datetimeoffset" else lambda x: x


CLOCK = frozenset(
    {"GETDATE", "GETUTCDATE", "CURRENT_TIMESTAMP", "SYSDATETIME", "SYSUTCDATETIME"}
    | {"SYSDATETIMEOFFSET"}
)
"""Functions that tell the time."""


@function("GETDATE", 0)
@function("GETUTCDATE", 0)
@function("CURRENT_TIMESTAMP", 0)
def _getdate(call: Call) -> Expr:
    return Expr(lambda session, variables, row: round_datetime(session.now()), DATETIME, False)


@function("SYSDATETIME", 0)
@function("SYSUTCDATETIME", 0)
def _sysdatetime(call: Call) -> Expr:
    return Expr(lambda session, variables, row: session.now(), DATETIME2, False)


@function("SYSDATETIMEOFFSET", 0)
def _sysdatetimeoffset(call: Call) -> Expr:
    return Expr(
        lambda session, variables, row: session.now().replace(tzinfo=UTC), DATETIMEOFFSET, False
    )


def add_months(moment: datetime, months: int) -> datetime:
    """The moment months later, on the last day of a month that is shorter."""
    total = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(total, 12)
    return moment.replace(
        year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])
    )


_MONTHS_IN = {"year": 12, "quarter": 3, "month": 1}
_DAY_ALIASES = {"dayofyear": "day", "weekday": "day"}


def _shifted(moment: datetime, part: str, number: int) -> datetime:
    if part in _MONTHS_IN:
        return add_months(moment, number * _MONTHS_IN[part])
    if part == "nanosecond":
        return moved(moment, (number + _NANOSECONDS // 2) // _NANOSECONDS)
    return moment + _UNITS[_DAY_ALIASES.get(part, part)] * number


@function("DATEADD", 3)
def _dateadd(call: Call) -> Expr:
    part = date_part(call)
    moment = moment_argument(call, 2)
    of = moment.type
    if call.arg(2).type.is_string:
        # Text is taken as datetime here, unlike in DATEDIFF (DATEADD page, return types).
        moment, of = converted(call.arg(2), DATETIME), DATETIME
    _check_part(call, part, of)
    number = call.arg(1)
    number = converted(number, INT) if number.type.name != "bigint" else number
    lift, fit, back = as_datetime(of), rescale(of), lowering(of)

    def run(amount: int, x: Any) -> Any:
        try:
            later = _shifted(lift(x), part, amount)
            if of.name == "datetime" and later.year < 1753:
                raise OverflowError
        except (OverflowError, ValueError):
            raise SqlError(517, of.name) from None
        return fit(back(later, x))

    return strict(run, of, [number, moment])


def _check_part(call: Call, part: str, of: SqlType) -> None:
    unfit = (of.name == "date" and part not in _DATE_PARTS) or (
        of.name == "time" and part in _DATE_PARTS
    )
    if unfit or part in {"tzoffset", "iso_week"}:
        raise SqlError(9810, part, call.name.lower(), of.name, aborts="scope")


def lowering(of: SqlType) -> Callable[[datetime, Any], Any]:
    """(naive datetime, the value it came from) -> value of a date type."""
    if of.name == "date":
        return lambda later, x: later.date()
    if of.name == "time":
        return lambda later, x: later.time()
    if of.name == "datetimeoffset":
        return lambda later, x: later.replace(tzinfo=x.tzinfo)
    return lambda later, x: later


def _boundaries(part: str) -> Callable[[datetime], int]:
    """How many boundaries of that part lie before a moment; DATEDIFF subtracts two of these."""
    if part in _MONTHS_IN:
        size = _MONTHS_IN[part]
        return lambda m: (m.year * 12 + m.month - 1) // size
    if part == "week":
        # Weeks begin on Sunday for DATEDIFF whatever DATEFIRST says.
        return lambda m: m.toordinal() // 7
    if part in {"day", "dayofyear", "weekday"}:
        return lambda m: m.toordinal()
    if part == "nanosecond":
        return lambda m: units_between(EPOCH, m) * _NANOSECONDS
    unit = _UNITS[part]
    return lambda m: (m - EPOCH) // unit


@function("DATEDIFF", 3)
@function("DATEDIFF_BIG", 3)
def _datediff(call: Call) -> Expr:
    part = date_part(call)
    if part in {"tzoffset", "iso_week"}:
        raise SqlError(9810, part, call.name.lower(), "datetime", aborts="scope")
    start, end = moment_argument(call, 1), moment_argument(call, 2)
    one, two = _as_utc(start.type), _as_utc(end.type)
    count = _boundaries(part)
    big = call.name == "DATEDIFF_BIG"

    def run(x: Any, y: Any) -> int:
        result = count(two(y)) - count(one(x))
        if not big and not -_INT_MAX - 1 <= result <= _INT_MAX:
            raise SqlError(535)
        return result

    return strict(run, BIGINT if big else INT, [start, end])


def _as_utc(of: SqlType) -> Callable[[Any], datetime]:
    if of.name == "datetimeoffset":
        return lambda x: x.astimezone(UTC).replace(tzinfo=None)
    return as_datetime(of)


_READERS: dict[str, Callable[[datetime], int]] = {
    "year": lambda m: m.year,
    "quarter": lambda m: (m.month + 2) // 3,
    "month": lambda m: m.month,
    "dayofyear": lambda m: m.timetuple().tm_yday,
    "day": lambda m: m.day,
    "iso_week": lambda m: m.isocalendar()[1],
    "weekday": lambda m: m.isoweekday() % 7 + 1,
    "hour": lambda m: m.hour,
    "minute": lambda m: m.minute,
    "second": lambda m: m.second,
    "millisecond": lambda m: m.microsecond // 1000,
    "microsecond": lambda m: m.microsecond,
    "nanosecond": lambda m: fraction(m) * _NANOSECONDS,
}


def _tzoffset(value: Any) -> int:
    gap = value.utcoffset() if isinstance(value, datetime) and value.tzinfo else None
    return int(gap.total_seconds()) // 60 if gap is not None else 0


def _reader(part: str, of: SqlType) -> Callable[[Any], int]:
    if part == "tzoffset":
        return _tzoffset
    lift, read = as_datetime(of), _READERS[part]
    return lambda x: read(lift(x))


def _check_readable(call: Call, part: str, of: SqlType) -> None:
    if (of.name == "date" and part not in _DATE_PARTS) or (
        of.name == "time" and part in _DATE_PARTS
    ):
        raise SqlError(9810, part, call.name.lower(), of.name, aborts="scope")


@function("DATEPART", 2)
def _datepart(call: Call) -> Expr:
    part, moment = date_part(call), moment_argument(call, 1)
    _check_readable(call, part, moment.type)
    if part in {"weekday", "week"}:
        return _weekly(part, moment)
    return strict(_reader(part, moment.type), INT, [moment])


def _weekly(part: str, moment: Expr) -> Expr:
    """weekday and week depend on the session's DATEFIRST (7 is Sunday, the default)."""
    lift = as_datetime(moment.type)

    def weekday(m: datetime, first: int) -> int:
        return (m.isoweekday() - first) % 7 + 1

    def week(m: datetime, first: int) -> int:
        start = weekday(datetime(m.year, 1, 1), first)
        return (m.timetuple().tm_yday + start - 2) // 7 + 1

    count = weekday if part == "weekday" else week
    body = "return count(lift(x0), session.options.datefirst)"
    return Expr(closure(body, [moment], count=count, lift=lift), INT, moment.nullable)


@function("DATENAME", 2)
def _datename(call: Call) -> Expr:
    part, moment = date_part(call), moment_argument(call, 1)
    _check_readable(call, part, moment.type)
    if part == "week":
        week = _weekly(part, moment)
        return Expr(closure("return str(x0)", [week]), nvarchar(30))
    read = _reader(part, moment.type)

    def run(x: Any) -> str:
        number = read(x)
        if part == "month":
            return MONTHS[number - 1]
        if part == "weekday":
            return _WEEKDAYS[number - 1]
        if part == "tzoffset":
            sign = "-" if number < 0 else "+"
            return f"{sign}{abs(number) // 60:02}:{abs(number) % 60:02}"
        return str(number)

    return strict(run, nvarchar(30), [moment])


@function("YEAR", 1)
@function("MONTH", 1)
@function("DAY", 1)
def _calendar_part(call: Call) -> Expr:
    moment = moment_argument(call, 0)
    return strict(_reader(call.name.lower(), moment.type), INT, [moment])


@function("EOMONTH", 1, 2)
def _eomonth(call: Call) -> Expr:
    moment = moment_argument(call, 0)
    lift = as_datetime(moment.type)

    def run(x: Any, months: int = 0) -> date:
        try:
            m = add_months(lift(x).replace(day=1), months)
        except (OverflowError, ValueError):
            raise SqlError(517, "date") from None
        return date(m.year, m.month, monthrange(m.year, m.month)[1])

    return strict(run, DATE, [moment, *([call.integer(1)] if call.count == 2 else [])])


@function("DATEFROMPARTS", 3)
def _datefromparts(call: Call) -> Expr:
    def run(year: int, month: int, day: int) -> date:
        try:
            return date(year, month, day)
        except (ValueError, OverflowError):
            raise SqlError(289, "date") from None

    return strict(run, DATE, [call.integer(at) for at in range(3)])


@function("DATETIME2FROMPARTS", 8)
def _datetime2fromparts(call: Call) -> Expr:
    scale = call.integer(7)
    if not scale.constant or scale.value is None or not 0 <= scale.value <= 7:
        raise SqlError(10760, "datetime2", aborts="scope")
    digits = scale.value

    def run(*parts: int) -> datetime:
        year, month, day, hour, minute, second, part = parts
        try:
            if not 0 <= part < 10**digits:
                raise ValueError
            whole = datetime(year, month, day, hour, minute, second)
            return with_fraction(whole, part * 10 ** (DIGITS - digits))
        except (ValueError, OverflowError):
            raise SqlError(289, "datetime2") from None

    return strict(run, sql_type("datetime2", scale=digits), [call.integer(at) for at in range(7)])


@function("SWITCHOFFSET", 2)
def _switchoffset(call: Call) -> Expr:
    given, zone = call.arg(0), call.arg(1)
    kept = given.type.name in {"datetimeoffset", "datetime2"}
    of = sql_type("datetimeoffset", scale=given.type.scale) if kept else DATETIMEOFFSET
    moment = converted(given, of)

    def run(x: datetime, to: Any) -> datetime:
        minutes = zone_minutes(to)
        return x.astimezone(timezone(timedelta(minutes=minutes)))

    return strict(run, moment.type, [moment, zone])


def zone_minutes(zone: Any) -> int:
    """Minutes of an offset given as a number or as +hh:mm. Raises 9812."""
    if isinstance(zone, int):
        if abs(zone) > 840:
            raise SqlError(9812)
        return zone
    text = str(zone).strip()
    try:
        minutes = int(text[1:3]) * 60 + int(text[4:6])
        if text[0] not in "+-" or text[3] != ":" or minutes > 840:
            raise ValueError
    except (ValueError, IndexError):
        raise SqlError(9812) from None
    return -minutes if text[0] == "-" else minutes


@function("ISDATE", 1)
def _isdate(call: Call) -> Expr:
    argument = call.arg(0)
    if group(argument.type) == "datetime":
        return strict(lambda x: 1, INT, [argument])
    if not argument.type.is_string:
        return Expr(lambda session, variables, row: 0, INT, False, True, 0)
    read, inner = explicit_conversion(argument.type, DATETIME, None, try_=True), argument.fn
    return Expr(
        lambda session, variables, row: int(read(inner(session, variables, row)) is not None),
        INT,
        False,
    )
