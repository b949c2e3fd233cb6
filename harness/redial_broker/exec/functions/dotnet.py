"""FORMAT: .NET format strings for the invariant culture and en-US.

Source: "FORMAT (Transact-SQL)", ".NET standard and custom numeric format strings" and ".NET
standard and custom date and time format strings" pages. Other cultures are refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Context, Decimal

from redial_broker.engine.seventh_digit import digits_of
from redial_broker.exec.conversion.dates import MONTHS
from redial_broker.exec.conversion.numbers import WIDE

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Culture:
    """What differs between the cultures: currency sign, patterns of the standard date formats."""

    name: str
    currency: str
    dates: dict[str, str]


_COMMON = {
    "o": "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
    "s": "yyyy'-'MM'-'dd'T'HH':'mm':'ss",
    "r": "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
    "u": "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
}
INVARIANT = Culture(
    "",
    "¤",
    {
        **_COMMON,
        "d": "MM/dd/yyyy",
        "D": "dddd, dd MMMM yyyy",
        "t": "HH:mm",
        "T": "HH:mm:ss",
        "m": "MMMM dd",
        "y": "yyyy MMMM",
    },
)
EN_US = Culture(
    "en-US",
    "$",
    {
        **_COMMON,
        "d": "M/d/yyyy",
        "D": "dddd, MMMM d, yyyy",
        "t": "h:mm tt",
        "T": "h:mm:ss tt",
        "m": "MMMM d",
        "y": "MMMM yyyy",
    },
)
CULTURES = {"": INVARIANT, "iv": INVARIANT, "en-us": EN_US, "en": EN_US}


# ---------------------------------------------------------------------- numbers
_STANDARD = re.compile(r"([A-Za-z])(\d{0,2})")


def _rounded(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP, context=WIDE)


def _grouped(text: str) -> str:
    whole, dot, rest = text.partition(".")
    groups: list[str] = []
    while len(whole) > 3:
        groups.insert(0, whole[-3:])
        whole = whole[:-3]
    return ",".join([whole, *groups]) + dot + rest


def format_number(value: Decimal | int | float, pattern: str, culture: Culture) -> str | None:
    """A number in a standard or custom format; None where .NET raises a format error."""
    whole = isinstance(value, int)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    match = _STANDARD.fullmatch(pattern) if pattern else _STANDARD.fullmatch("G")
    if match is None:
        return _custom_number(exact, pattern)
    letter, digits = match[1].upper(), int(match[2]) if match[2] else None
    return _standard(exact, letter, match[1], digits, culture, whole, isinstance(value, float))


def _standard(
    value: Decimal,
    letter: str,
    written: str,
    digits: int | None,
    culture: Culture,
    whole: bool,
    approximate: bool,
) -> str | None:
    size = abs(value)
    if letter in {"N", "F", "C", "P"}:
        places = 2 if digits is None else digits
        shown = f"{_rounded(size * 100 if letter == 'P' else size, places):f}"
        negative = value < 0 and bool(shown.strip("0."))
        if letter != "F":
            shown = _grouped(shown)
        if letter == "C":
            shown = f"{culture.currency}{shown}"
            return f"({shown})" if negative else shown
        if letter == "P":
            shown += " %"
        return f"-{shown}" if negative else shown
    if letter == "D":
        return f"{'-' if value < 0 else ''}{int(size):0{digits or 1}d}" if whole else None
    if letter == "X":
        if not whole:
            return None
        width = 32 if value >= -(1 << 31) else 64
        number = int(value) if value >= 0 else int(value) + (1 << width)
        shown = f"{number:x}".rjust(digits or 1, "0")
        return shown.upper() if written == "X" else shown
    if letter == "E":
        places = 6 if digits is None else digits
        mantissa, _, power = f"{value:.{places}e}".partition("e")
        return f"{mantissa}{written}{power[0]}{power[1:].rjust(3, '0')}"
    if letter == "G":
        return _general(value, digits, approximate, written)
    return _general(value, 17, True, written) if letter == "R" and approximate else None


def _general(value: Decimal, digits: int | None, approximate: bool, written: str) -> str:
    if digits:
        value = Context(prec=digits, rounding=ROUND_HALF_UP).plus(value)
    if not approximate and not digits:
        return f"{value:f}"
    precision = digits or 15
    power = value.adjusted() if value else 0
    if -5 < power < precision:
        shown = f"{value:f}"
        return shown.rstrip("0").rstrip(".") if "." in shown else shown
    mantissa = f"{value.scaleb(-power):f}"
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    letter = "E" if written.isupper() else "e"
    return f"{mantissa}{letter}{'-' if power < 0 else '+'}{abs(power):02}"


_PIECE = re.compile(r"""\\.|'[^']*'|"[^"]*"|[eE][+-]?0+|[0#.,%‰;]|.""", re.DOTALL)


def _sections(pattern: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for piece in _PIECE.findall(pattern):
        if piece == ";":
            found.append([])
        else:
            found[-1].append(piece)
    return found


def _custom_number(value: Decimal, pattern: str) -> str:
    sections = _sections(pattern)
    section, signed = sections[0], value < 0
    if value < 0 and len(sections) > 1 and sections[1]:
        section, signed = sections[1], False
    elif not value and len(sections) > 2:
        section = sections[2]
    shown, zero = _filled(abs(value), section)
    if zero and value < 0 and len(sections) > 2:
        shown, _ = _filled(Decimal(0), sections[2])
        return shown
    return f"-{shown}" if signed and not zero else shown


def _filled(value: Decimal, section: list[str]) -> tuple[str, bool]:
    """(the number in the section's places, whether it was rounded to zero)."""
    marks = [p for p in section if p in {"0", "#", ".", ","}]
    point = marks.index(".") if "." in marks else len(marks)
    before = list(marks[:point])
    after = [m for m in marks[point + 1 :] if m in {"0", "#"}]
    scale = 0
    while before and before[-1] == ",":
        before.pop()
        scale += 3
    grouping = "," in before
    places = [m for m in before if m != ","]
    value = value.scaleb(-scale)
    value *= 100 ** section.count("%") * 1000 ** section.count("‰")
    power = next((p for p in section if p[0] in "eE" and len(p) > 1), None)
    exponent = 0
    if power is not None and value:
        exponent = value.adjusted() - (len(places) - 1 if places else 0)
        value = value.scaleb(-exponent)
    rounded = _rounded(value, len(after))
    whole, _, rest = f"{rounded:f}".partition(".")
    least = len(places) - places.index("0") if "0" in places else 0
    whole = whole.lstrip("0").rjust(least, "0")
    need = len(after) - after[::-1].index("0") if "0" in after else 0
    rest = rest.rstrip("0").ljust(need, "0")
    if grouping and not power:
        whole = _grouped(whole)
    return _laid_out(section, whole, rest, exponent, len(places)), not rounded


def _laid_out(section: list[str], whole: str, rest: str, exponent: int, places: int) -> str:
    """Digits and literal text in the order of the section."""
    out: list[str] = []
    digits = sum(char.isdigit() for char in whole)
    seen, behind, left = 0, False, whole
    for piece in section:
        if piece in {"0", "#"} and not behind:
            seen += 1
            # The first place takes every digit there is no place for.
            want = (
                digits
                if seen == places
                else max(0, digits - (places - seen))
                if seen == 1
                else sum(c.isdigit() for c in left) - (places - seen)
            )
            taken, count = "", 0
            while left and (count < max(0, want) or (left[0] == "," and count)):
                if left[0].isdigit():
                    if count >= want:
                        break
                    count += 1
                taken += left[0]
                left = left[1:]
            out.append(taken)
        elif piece in {"0", "#"}:
            out.append(rest[:1])
            rest = rest[1:]
        elif piece == ".":
            if not behind:
                out.append(left)
                left, behind = "", True
                out.append("." if rest else "")
        elif piece == ",":
            continue
        elif piece[0] in "eE" and len(piece) > 1:
            sign = "-" if exponent < 0 else "+" if piece[1] == "+" else ""
            out.append(piece[0] + sign + str(abs(exponent)).rjust(piece.count("0"), "0"))
        elif piece[0] == "\\":
            out.append(piece[1:])
        elif piece[0] in "'\"" and len(piece) > 1:
            out.append(piece[1:-1])
        else:
            out.append(piece)
    return "".join(out)


# ---------------------------------------------------------------------- dates
_DATE_PIECE = re.compile(
    r"""\\.|'[^']*'|"[^"]*"|%.|d+|f+|F+|g+|h+|H+|K|m+|M+|s+|t+|y+|z+|.""", re.DOTALL
)
_FULL = {"f": ("D", "t"), "F": ("D", "T"), "g": ("d", "t"), "G": ("d", "T")}


def format_moment(value: date | datetime, pattern: str, culture: Culture) -> str | None:
    """A date in a standard or custom format; None where .NET raises a format error."""
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    if not pattern:
        pattern = "G"
    if len(pattern) == 1:
        return _standard_moment(moment, pattern, culture)
    return _custom_moment(moment, pattern)


def _standard_moment(moment: datetime, letter: str, culture: Culture) -> str | None:
    if letter in _FULL:
        one, two = _FULL[letter]
        return _custom_moment(moment, f"{culture.dates[one]} {culture.dates[two]}")
    if letter == "U":
        utc = moment.astimezone(UTC) if moment.tzinfo else moment
        return _custom_moment(utc, f"{culture.dates['D']} {culture.dates['T']}")
    name = {"M": "m", "Y": "y", "O": "o", "R": "r"}.get(letter, letter)
    pattern = culture.dates.get(name)
    if pattern is None:
        return None
    if name in {"r", "u"} and moment.tzinfo:
        moment = moment.astimezone(UTC)
    return _custom_moment(moment, pattern)


def _custom_moment(moment: datetime, pattern: str) -> str:
    out = []
    for piece in _DATE_PIECE.findall(pattern):
        if piece[0] == "\\":
            out.append(piece[1:])
        elif piece[0] in "'\"" and len(piece) > 1:
            out.append(piece[1:-1])
        elif piece[0] == "%" and len(piece) > 1:
            out.append(_part(moment, piece[1:]))
        else:
            out.append(_part(moment, piece))
    return "".join(out)


def _part(moment: datetime, piece: str) -> str:
    letter, count = piece[0], len(piece)
    numbers = {
        "h": moment.hour % 12 or 12,
        "H": moment.hour,
        "m": moment.minute,
        "s": moment.second,
    }
    if letter in numbers:
        return f"{numbers[letter]:0{min(count, 2)}d}"
    if letter == "d":
        return _named(moment.day, _WEEKDAYS[moment.weekday()], count)
    if letter == "M":
        return _named(moment.month, MONTHS[moment.month - 1], count)
    if letter == "y":
        return f"{moment.year % 100:0{count}d}" if count < 3 else f"{moment.year:0{count}d}"
    if letter == "t":
        return ("AM" if moment.hour < 12 else "PM")[: min(count, 2)]
    if letter in "fF":
        digits = digits_of(moment)[:count]
        return digits if letter == "f" else digits.rstrip("0")
    if letter == "g":
        return "A.D."
    if letter in "zK":
        return _offset(moment, letter, count)
    return piece


def _named(number: int, name: str, count: int) -> str:
    if count < 3:
        return f"{number:0{count}d}"
    return name[:3] if count == 3 else name


def _offset(moment: datetime, letter: str, count: int) -> str:
    if moment.tzinfo is None:
        return "" if letter == "K" else {1: "+0", 2: "+00"}.get(count, "+00:00")
    gap = moment.utcoffset()
    assert gap is not None
    minutes = int(gap.total_seconds()) // 60
    sign, hours, rest = "-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60
    if letter == "z" and count < 3:
        return f"{sign}{hours:0{count}d}"
    return f"{sign}{hours:02}:{rest:02}"


_SPAN_PIECE = re.compile(r"""\\.|'[^']*'|"[^"]*"|%.|d+|h+|m+|s+|f+|F+|.""", re.DOTALL)


def format_span(value: time, pattern: str) -> str | None:
    """A time, which .NET sees as a TimeSpan: text has to be escaped, else None ("FORMAT" page)."""
    whole = f"{value:%H:%M:%S}"
    fraction = digits_of(value)
    if pattern in {"", "c", "t", "T"}:
        return whole + (f".{fraction}" if fraction.strip("0") else "")
    if pattern == "g":
        short = fraction.rstrip("0")
        return f"{value.hour}:{value:%M:%S}" + (f".{short}" if short else "")
    if pattern == "G":
        return f"0:{whole}.{fraction}"
    if len(pattern) == 1:
        return None
    numbers = {"d": 0, "h": value.hour, "m": value.minute, "s": value.second}
    out = []
    for piece in _SPAN_PIECE.findall(pattern):
        if piece[0] == "\\":
            out.append(piece[1:])
        elif piece[0] in "'\"" and len(piece) > 1:
            out.append(piece[1:-1])
        else:
            piece = piece.lstrip("%")
            if piece[:1] in numbers:
                if len(piece) > (8 if piece[0] == "d" else 2):
                    return None
                out.append(f"{numbers[piece[0]]:0{len(piece)}d}")
            elif piece[:1] in {"f", "F"} and len(piece) <= 7:
                digits = fraction[: len(piece)]
                out.append(digits if piece[0] == "f" else digits.rstrip("0"))
            else:
                return None
    return "".join(out)
