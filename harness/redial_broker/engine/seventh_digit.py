"""Dates and times whose second has seven digits, as time, datetime2 and datetimeoffset keep them.

Python's datetime and time end at the microsecond. A value whose seventh digit is not 0 is an
instance of a subclass that knows this digit; every other value stays what Python has. So a value
without that digit costs nothing, and there is one form of each value.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Self, TypeVar, cast

DIGITS = 7
"""How many digits of a second these types keep; the last is 100 ns."""

PER_SECOND = 10**DIGITS
_PER_MICROSECOND = 10
_MICROSECOND_ARGUMENT = {datetime: 6, time: 3}
"""At which place ``replace`` takes the microsecond."""

Clock = TypeVar("Clock", datetime, time)


class _Ordered:
    """Comparisons: first as Python compares, then by the seventh digit."""

    __slots__ = ()
    seventh: int
    rough: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, datetime | time):
            return False
        return self.seventh == seventh_digit(other) and bool(self.rough == _rough(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.rough, self.seventh))

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(self) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(self) >= _key(other)

    def __repr__(self) -> str:
        return f"{self.rough!r}+{self.seventh}00ns"

    def __reduce__(self) -> tuple[Any, ...]:
        return fine, (self.rough, self.seventh)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return self.__reduce__()


class FineMoment(_Ordered, datetime):
    """A datetime with a seventh digit, 1 to 9. Made by ``fine``."""

    __slots__ = ("seventh",)

    @property
    def rough(self) -> datetime:
        """The same moment without its seventh digit."""
        return datetime.combine(self.date(), super().time(), self.tzinfo)

    def replace(self, *arguments: Any, **named: Any) -> Self:
        """As datetime.replace; a new microsecond takes the seventh digit away."""
        return cast("Self", _replaced(self, datetime, arguments, named))

    def time(self) -> time:
        """The time of day, with the seventh digit."""
        return fine(super().time(), self.seventh)

    def astimezone(self, tz: tzinfo | None = None) -> Self:
        """The same moment elsewhere."""
        return cast("Self", fine(self.rough.astimezone(tz), self.seventh))

    def __add__(self, other: timedelta) -> Self:
        return cast("Self", fine(self.rough + other, self.seventh))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Less a timedelta: a moment. Less a moment: what lies between without seventh digits."""
        if isinstance(other, timedelta):
            return fine(self.rough - other, self.seventh)
        return self.rough - _rough(other)


class FineTime(_Ordered, time):
    """A time with a seventh digit, 1 to 9. Made by ``fine``."""

    __slots__ = ("seventh",)

    @property
    def rough(self) -> time:
        """The same time without its seventh digit."""
        return time(self.hour, self.minute, self.second, self.microsecond, self.tzinfo)

    def replace(self, *arguments: Any, **named: Any) -> Self:
        """As time.replace; a new microsecond takes the seventh digit away."""
        return cast("Self", _replaced(self, time, arguments, named))


def _replaced(value: Any, of: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    kept = "microsecond" not in named and len(arguments) <= _MICROSECOND_ARGUMENT[of]
    return fine(value.rough.replace(*arguments, **named), value.seventh if kept else 0)


def _rough(value: Any) -> Any:
    return value.rough if isinstance(value, _Ordered) else value


def _key(value: Any) -> tuple[Any, int]:
    return _rough(value), seventh_digit(value)


def seventh_digit(value: date | time) -> int:
    """The digit behind the microseconds."""
    return value.seventh if isinstance(value, FineMoment | FineTime) else 0


def fine(value: Clock, seventh: int) -> Clock:
    """A value of Python with this seventh digit instead of its own."""
    value = _rough(value)
    if not seventh:
        return value
    made: Any
    if isinstance(value, datetime):
        made = datetime.__new__(
            FineMoment,
            value.year,
            value.month,
            value.day,
            value.hour,
            value.minute,
            value.second,
            value.microsecond,
            value.tzinfo,
        )
    else:
        made = time.__new__(
            FineTime, value.hour, value.minute, value.second, value.microsecond, value.tzinfo
        )
    made.seventh = seventh
    return cast("Clock", made)


def fraction(value: datetime | time) -> int:
    """What lies behind the whole second, in units of 100 ns."""
    return value.microsecond * _PER_MICROSECOND + seventh_digit(value)


def with_fraction(value: Clock, units: int) -> Clock:
    """The value with so many units of 100 ns behind its whole second."""
    micros, seventh = divmod(units, _PER_MICROSECOND)
    return fine(value.replace(microsecond=micros), seventh)


def moved(value: datetime, units: int) -> datetime:
    """The moment so many units of 100 ns later."""
    micros, seventh = divmod(seventh_digit(value) + units, _PER_MICROSECOND)
    later: datetime = _rough(value) + timedelta(microseconds=micros)
    return fine(later, seventh)


def units_between(start: datetime, end: datetime) -> int:
    """How many units of 100 ns lie between two moments."""
    gap: timedelta = _rough(end) - _rough(start)
    micros = gap // timedelta(microseconds=1)
    return micros * _PER_MICROSECOND + seventh_digit(end) - seventh_digit(start)


def rounded(value: datetime, digits: int) -> datetime:
    """The moment with so many digits of a second, the nearest one; half way is up."""
    if digits >= DIGITS:
        return value
    unit = 10 ** (DIGITS - digits)
    held = fraction(value)
    return moved(value, (held + unit // 2) // unit * unit - held)


def cut(value: Clock, digits: int) -> Clock:
    """The value with so many digits of a second, the others cut off."""
    unit = 10 ** (DIGITS - digits)
    return with_fraction(value, fraction(value) // unit * unit)


def at(day: date, clock: time) -> datetime:
    """The moment of a day and a time of day."""
    return fine(datetime.combine(day, _rough(clock)), seventh_digit(clock))


def digits_of(value: datetime | time) -> str:
    """The seven digits of a second, as text."""
    return f"{fraction(value):07}"
