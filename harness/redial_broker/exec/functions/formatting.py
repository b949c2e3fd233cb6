"""printf-style texts: FORMATMESSAGE, and the same formatting for RAISERROR ("RAISERROR" page)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import nvarchar
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.functions.registry import Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

MAX_MESSAGE = 2047
"""Characters of a message; a longer one ends in three dots."""

_SPECIFICATION = re.compile(
    r"%(?P<flags>[-+0 #]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*))?(?:h|l|I64)?"
    r"(?P<kind>[diosuxX])|%%"
)
_MASK_32, _MASK_64 = (1 << 32) - 1, (1 << 64) - 1


def _number(kind: str, flags: str, precision: str | None, value: int) -> str:
    if kind in "di":
        digits = str(abs(value))
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    else:
        unsigned = value & (_MASK_32 if -(1 << 31) <= value <= _MASK_32 else _MASK_64)
        digits = {
            "u": f"{unsigned}",
            "o": f"{unsigned:o}",
            "x": f"{unsigned:x}",
            "X": f"{unsigned:X}",
        }[kind]
        sign = {"x": "0x", "X": "0X", "o": "0"}.get(kind, "") if "#" in flags else ""
    return sign + digits.rjust(int(precision or 0), "0")


def _padded(text: str, flags: str, width: str | None, numeric: bool) -> str:
    size = int(width or 0)
    if "-" in flags:
        return text.ljust(size)
    if "0" in flags and numeric:
        sign = text[0] if text[:1] in "+-" else ""
        return sign + text[len(sign) :].rjust(size - len(sign), "0")
    return text.rjust(size)


def format_message(template: str, arguments: Sequence[Any]) -> str:
    """The text with its arguments put in; NULL shows as (null), a missing one likewise.

    Raises 2787 for a specification that is none, 2786 for an argument of the wrong kind.
    """
    values = iter(arguments)
    taken = 0

    def following(missing: Any) -> Any:
        nonlocal taken
        taken += 1
        return next(values, missing)

    def star(text: str | None) -> str | None:
        return str(following(0)) if text == "*" else text

    def fill(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        flags, width, precision = match["flags"], star(match["width"]), star(match["precision"])
        value = following(None)
        if value is None:
            return _padded("(null)", flags, width, False)
        if isinstance(value, int) == (match["kind"] == "s"):
            raise SqlError(2786, taken)
        if match["kind"] == "s":
            text = str(value)
            return _padded(text[: int(precision)] if precision else text, flags, width, False)
        return _padded(_number(match["kind"], flags, precision, value), flags, width, True)

    parts, at = [], 0
    while True:
        start = template.find("%", at)
        if start < 0:
            parts.append(template[at:])
            break
        match = _SPECIFICATION.match(template, start)
        if match is None:
            raise SqlError(2787, template[start : start + 20])
        parts.append(template[at:start] + fill(match))
        at = match.end()
    text = "".join(parts)
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 3] + "..."


def _stored(session: SessionState, number: int) -> str | None:
    """The text of a message of sys.messages; None up to 13000 and for a number without one."""
    try:
        found: str = session.instance.user_message(number).text
    except SqlError:
        return None
    return found if number > LAST_SMALL else None


LAST_SMALL = 13000
_WHOLE = frozenset({"bigint", "int", "smallint", "tinyint"})


@function("FORMATMESSAGE", 1, 21)
def _formatmessage(call: Call) -> Expr:
    template = call.arg(0)
    numbered = not template.type.is_string
    if numbered and template.type.name not in _WHOLE:
        raise call.invalid(template, 1)
    arguments = tuple(arg.fn for arg in call.args()[1:])
    text = template.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> str | None:
        pattern = text(session, variables, row)
        if numbered and pattern is not None:
            pattern = _stored(session, pattern)
        if pattern is None:
            return None
        return format_message(pattern, [fn(session, variables, row) for fn in arguments])

    return Expr(run, nvarchar(MAX_MESSAGE))
