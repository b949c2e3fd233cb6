"""Dates and times between Python and the wire (MS-TDS 2.2.5.5.1.8 and following)."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, time, timedelta, timezone

from redial_broker.engine.seventh_digit import DIGITS, PER_SECOND, at, fraction, moved

_DAY_ZERO = date(1, 1, 1).toordinal()
_DAY_1900 = date(1900, 1, 1).toordinal()
_SECONDS_PER_DAY = 86_400
_DATETIME, _SMALLDATETIME = struct.Struct("<iI"), struct.Struct("<HH")
_TICKS_PER_DAY = _SECONDS_PER_DAY * 300


def time_bytes(scale: int) -> int:
    """Bytes of a time with so many fractional digits."""
    return 3 if scale <= 2 else 4 if scale <= 4 else 5


def _seconds(value: time | datetime) -> int:
    return (value.hour * 60 + value.minute) * 60 + value.second


def encode_date(value: date) -> bytes:
    """Days since 0001-01-01, three bytes."""
    return (value.toordinal() - _DAY_ZERO).to_bytes(3, "little")


def decode_date(data: bytes) -> date:
    """The inverse of ``encode_date``."""
    return date.fromordinal(int.from_bytes(data, "little") + _DAY_ZERO)


def encode_time(value: time | datetime, scale: int) -> bytes:
    """Units of 10**-scale seconds since midnight."""
    units: int = (_seconds(value) * PER_SECOND + fraction(value)) // 10 ** (DIGITS - scale)
    return units.to_bytes(time_bytes(scale), "little")


def decode_time(data: bytes, scale: int) -> time:
    """The inverse of ``encode_time``; ValueError for a time past midnight."""
    units = int.from_bytes(data, "little") * 10 ** (DIGITS - scale)
    if units >= _SECONDS_PER_DAY * PER_SECOND:
        raise ValueError(f"a time of {units} units of 100 ns")
    return moved(datetime.min, units).time()


def encode_datetime2(value: datetime, scale: int) -> bytes:
    """Time, then date."""
    return encode_time(value, scale) + encode_date(value)


def decode_datetime2(data: bytes, scale: int) -> datetime:
    """The inverse of ``encode_datetime2``."""
    return at(decode_date(data[-3:]), decode_time(data[:-3], scale))


def encode_datetimeoffset(value: datetime, scale: int) -> bytes:
    """UTC time and date, then the offset in minutes."""
    offset = value.utcoffset() or timedelta()
    utc = value.astimezone(UTC) if value.tzinfo else value
    minutes = int(offset.total_seconds()) // 60
    return encode_datetime2(utc, scale) + minutes.to_bytes(2, "little", signed=True)


def decode_datetimeoffset(data: bytes, scale: int) -> datetime:
    """The inverse of ``encode_datetimeoffset``, aware, with the client's offset."""
    minutes = int.from_bytes(data[-2:], "little", signed=True)
    moment = decode_datetime2(data[:-2], scale) + timedelta(minutes=minutes)
    return moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))


def encode_datetime(value: datetime) -> bytes:
    """Days since 1900-01-01 and ticks of 1/300 s."""
    days = value.toordinal() - _DAY_1900
    ticks = _seconds(value) * 300 + (value.microsecond * 3 + 5_000) // 10_000
    if ticks == _TICKS_PER_DAY:  # 23:59:59.999 rounds up to the next day
        days, ticks = days + 1, 0
    return _DATETIME.pack(days, ticks)


def decode_datetime(data: bytes) -> datetime:
    """The inverse; milliseconds end in 0, 3 or 7 as the server shows them."""
    days, ticks = _DATETIME.unpack(data)
    milliseconds = (ticks * 10 + 1) // 3
    return datetime(1900, 1, 1) + timedelta(days=days, milliseconds=milliseconds)


def encode_smalldatetime(value: datetime) -> bytes:
    """Days since 1900-01-01 and minutes."""
    return _SMALLDATETIME.pack(value.toordinal() - _DAY_1900, value.hour * 60 + value.minute)


def decode_smalldatetime(data: bytes) -> datetime:
    """The inverse of ``encode_smalldatetime``."""
    days, minutes = _SMALLDATETIME.unpack(data)
    return datetime(1900, 1, 1) + timedelta(days=days, minutes=minutes)
