"""Built-in table-valued functions: OPENJSON, OPENXML, STRING_SPLIT, GENERATE_SERIES."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import BIGINT, UNICODE_TYPES, SqlType, sql_type
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import common_collation, converted
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions.registry import as_string, check_count, varying
from redial_broker.exec.language_level import check_rowset
from redial_broker.exec.query.openjson import openjson
from redial_broker.exec.query.openxml import openxml
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.sources import rename

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

    Make = Callable[[ast.FunctionTable, Scope, Any], tuple[list[QueryColumn], Rows]]


def _arguments(
    node: ast.FunctionTable, scope: Scope, context: Context, least: int, most: int
) -> list[Expr]:
    name = node.call.name.name.upper()
    if node.schema is not None:
        raise context.fail(node, SqlError(102, "WITH", severity=15))
    check_count(name, least, most, len(node.call.arguments))
    return [compile_expression(part, scope) for part in node.call.arguments]


def string_split(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[list[QueryColumn], Rows]:
    """STRING_SPLIT(text, separator [, enable_ordinal]): value, and ordinal when asked for."""
    given = _arguments(node, scope, context, 2, 3)
    text, separator = (as_string(arg, at + 1, "string_split") for at, arg in enumerate(given[:2]))
    ordinal = False
    if len(given) == 3:
        if not given[2].constant:
            raise context.fail(node, SqlError(8748, aborts="scope"))
        ordinal = bool(given[2].value)
    wide = any(part.type.name in UNICODE_TYPES for part in (text, separator))
    of = varying(text.type)
    if wide and of.name != "nvarchar":
        of = sql_type("nvarchar", of.length if of.length <= 4000 else 4000)
    columns = [QueryColumn("value", of, True, None, text.collation)]
    if ordinal:
        columns.append(QueryColumn("ordinal", BIGINT, False))
    sensitive = common_collation(text, separator).case_sensitive
    text_of, separator_of = text.fn, separator.fn

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        whole, mark = text_of(session, variables, row), separator_of(session, variables, row)
        if mark is None or len(mark) != 1:
            raise SqlError(214, "separator", "nchar(1)/nvarchar(1)")
        if whole is None:
            return []
        found = (
            whole.split(mark)
            if sensitive or mark.lower() == mark.upper()
            else _split_folded(whole, mark)
        )
        return [(part, place) if ordinal else (part,) for place, part in enumerate(found, 1)]

    return columns, rows


def _split_folded(text: str, mark: str) -> list[str]:
    """Split at a letter of either case."""
    found, start, folded = [], 0, mark.lower()
    for at, char in enumerate(text):
        if char.lower() == folded:
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]]


_NUMBER_BYTES = 96
_SERIES = frozenset({"tinyint", "smallint", "int", "bigint", "decimal", "numeric"})


def generate_series(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[list[QueryColumn], Rows]:
    """GENERATE_SERIES(start, stop [, step]): numbers of one type; 5373 when the types differ.

    The step is 1, or -1 when start is above stop; a step of zero is 4199.
    """
    given = _arguments(node, scope, context, 2, 3)
    of = next((part.type for part in given if not part.untyped), given[0].type)
    for place, part in enumerate(given, 1):
        if not part.untyped and part.type.name not in _SERIES:
            raise context.fail(
                node, SqlError(8116, part.type.name, place, "generate_series", aborts="scope")
            )
    if any(_family(part.type) != _family(of) for part in given if not part.untyped):
        raise context.fail(node, SqlError(5373, aborts="scope"))
    of = _widest(given, of)
    start, stop, *step = [converted(part, of).fn for part in given]
    one = Decimal(1) if group(of) == "exact" else 1

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        low, high = start(session, variables, row), stop(session, variables, row)
        by: Any = step[0](session, variables, row) if step else None
        if low is None or high is None or (step and by is None):
            return []
        if not step:
            by = one if low <= high else -one
        if by == 0:
            raise SqlError(4199, 0, 3, "generate_series")
        found: list[RowValues] = []
        value = low
        meter = session.engine.meter
        while (value <= high) if by > 0 else (value >= high):
            found.append((value,))
            value += by
            meter.left -= 1
            if meter.left < 0:
                meter.look(found, _NUMBER_BYTES)
        return found

    return [QueryColumn("value", of, False)], rows


def _family(of: SqlType) -> str:
    return of.name if of.name not in {"decimal", "numeric"} else "exact"


def _widest(given: list[Expr], of: SqlType) -> SqlType:
    if group(of) != "exact":
        return of
    types = [part.type for part in given if not part.untyped]
    scale = max(part.scale for part in types)
    whole = max(part.precision - part.scale for part in types)
    return sql_type(of.name, 0, min(38, whole + scale), scale)


ROWSET_FUNCTIONS: dict[str, Make] = {
    "openjson": openjson,
    "openxml": openxml,
    "string_split": string_split,
    "generate_series": generate_series,
}
"""Lower-case name -> (node, scope, context) -> (columns, rows)."""


def rowset_function(
    node: ast.FunctionTable, scope: Scope, context: Context
) -> tuple[str, list[QueryColumn], Rows] | None:
    """(alias, columns under the names given behind it, rows); None for another function."""
    name = node.call.name
    make = ROWSET_FUNCTIONS.get(name.name.lower()) if len(name.parts) == 1 else None
    if make is None:
        return None
    check_rowset(name.name, context.database)
    found, rows = make(node, scope, context)
    alias = (node.alias or name.name).lower()
    return alias, rename(found, node.columns, alias, context, node), rows
