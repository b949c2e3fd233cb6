"""FORMAT, PARSE and TRY_PARSE: values and texts in a culture (their pages)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import time
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import NVARCHAR_MAX, SqlType, nvarchar
from redial_broker.exec.conversion import explicit_conversion, resolve_type
from redial_broker.exec.conversion.declared import CAST
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compile_expression
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions.dotnet import (
    CULTURES,
    EN_US,
    Culture,
    format_moment,
    format_number,
    format_span,
)
from redial_broker.exec.functions.registry import Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_CULTURE_NAME = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def culture(name: str | None) -> Culture:
    """The culture of a name, en-US when none is given (us_english).

    Raises 9818 for what is no culture's name, NotSupported for one other than en-US and invariant.
    """
    if name is None:
        return EN_US
    found = CULTURES.get(name.strip().lower())
    if found is None:
        if not _CULTURE_NAME.fullmatch(name.strip()):
            raise SqlError(9818, name)
        raise NotSupported(f"the culture {name}: only en-US and the invariant culture are known")
    return found


def _writer(of: SqlType) -> Callable[[Any, str, Culture], str | None] | None:
    kind = group(of)
    if kind in {"int", "exact", "money", "float"} and of.name != "bit":
        return format_number
    if kind == "time":
        return lambda value, pattern, _: format_span(value, pattern)
    if kind in {"datetime", "moment", "date"}:
        return format_moment
    return None


@function("FORMAT", 2, 3)
def _format(call: Call) -> Expr:
    """FORMAT(value, format [, culture]): NULL where .NET finds the format wrong."""
    value = call.arg(0)
    write = _writer(value.type)
    if write is None:
        raise call.invalid(value, 1)
    pattern = converted(call.arg(1), nvarchar(4000)).fn
    named = converted(call.arg(2), nvarchar(128)).fn if call.count == 3 else None
    inner = value.fn

    def run(session: SessionState, variables: Values, row: RowValues) -> str | None:
        held, wanted = inner(session, variables, row), pattern(session, variables, row)
        chosen = culture(named(session, variables, row)) if named is not None else EN_US
        return None if held is None else write(held, wanted or "", chosen)

    return Expr(run, nvarchar(4000))


# ---------------------------------------------------------------------- PARSE
_GROUPING = re.compile(
    r"\s*(\()?\s*([-+])?\s*([$¤])?\s*([-+])?\s*"
    r"((?:\d[\d,]*)?(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(-)?\s*(\))?\s*"
)
_DAY_NAMES = re.compile(
    r"^\s*(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\s*,?\s+", re.IGNORECASE
)
_PARSED = frozenset({"int", "exact", "money", "float", "datetime", "moment", "date", "time"})


def _number_text(text: str, of: SqlType, given: Culture) -> str | None:
    """A number as .NET's NumberStyles take it, as plain text; None when it is none."""
    match = _GROUPING.fullmatch(text)
    if match is None or not any(char.isdigit() for char in match[5]):
        return None
    opened, first, currency, second, digits, behind, closed = match.groups()
    signs = [sign for sign in (first, second, behind) if sign]
    if bool(opened) != bool(closed) or len(signs) > 1 or (opened and signs):
        return None
    if (currency or opened) and (group(of) != "money" or currency not in {None, given.currency}):
        return None
    if re.search("[eE]", digits) and group(of) != "float":
        return None
    return ("-" if opened or "-" in signs else "") + digits.replace(",", "")


def parse_cast(node: ast.Cast, scope: Scope) -> Expr:
    """PARSE(text AS type [USING culture]) and TRY_PARSE; 9819 for a text that does not parse."""
    of = resolve_type(node.data_type, CAST, scope.user_type, scope.position(node.data_type))
    if group(of) not in _PARSED or of.name == "bit":
        raise SqlError(10761, of.name, node.function, aborts="scope")
    text = converted(compile_expression(node.operand, scope), NVARCHAR_MAX).fn
    named = (
        None
        if node.style is None
        else converted(compile_expression(node.style, scope), nvarchar(128)).fn
    )
    convert, attempt = explicit_conversion(NVARCHAR_MAX, of), node.function == "TRY_PARSE"

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        value = text(session, variables, row)
        chosen = culture(named(session, variables, row)) if named is not None else EN_US
        if value is None:
            return None
        try:
            return _parsed(value, of, chosen, convert)
        except NotSupported:
            raise
        except SqlError:
            if attempt:
                return None
            raise SqlError(9819, value, of.name, chosen.name) from None

    return Expr(run, of)


def _parsed(value: str, of: SqlType, chosen: Culture, convert: Callable[[str], Any]) -> Any:
    if group(of) in {"int", "exact", "money", "float"}:
        plain = _number_text(value, of, chosen)
        if plain is None:
            raise SqlError(9819, value, of.name, chosen.name)
        return convert(plain)
    found = convert(_DAY_NAMES.sub("", value))
    if isinstance(found, time) or value.strip():
        return found
    raise SqlError(9819, value, of.name, chosen.name)
