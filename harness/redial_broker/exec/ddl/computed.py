"""Computed columns: name AS expression [PERSISTED].

The value of a deterministic expression follows from the row, so it is worked out when the row is
written, PERSISTED or not; readers and indexes find it there. What would have to be worked out at
each read (GETDATE(), user-defined functions) is refused by name. Source: "Specify computed columns"
and "Deterministic and nondeterministic functions" pages, F-231.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.columns import Column, Computed
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.compiler import calls_function
from redial_broker.exec.ddl.row_expressions import names_of

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

DETERMINISTIC = frozenset(
    {
        "ABS",
        "ACOS",
        "ASCII",
        "ASIN",
        "ATAN",
        "ATN2",
        "BINARY_CHECKSUM",
        "CEILING",
        "CHAR",
        "CHARINDEX",
        "CHECKSUM",
        "CHOOSE",
        "COALESCE",
        "CONCAT",
        "CONCAT_WS",
        "COS",
        "COT",
        "DATALENGTH",
        "DATEADD",
        "DATEDIFF",
        "DATEDIFF_BIG",
        "DATEFROMPARTS",
        "DATETIME2FROMPARTS",
        "DATETIMEFROMPARTS",
        "DATETIMEOFFSETFROMPARTS",
        "DATEPART",
        "DATETRUNC",
        "DAY",
        "DEGREES",
        "DIFFERENCE",
        "EOMONTH",
        "EXP",
        "FLOOR",
        "GREATEST",
        "HASHBYTES",
        "IIF",
        "ISJSON",
        "ISNULL",
        "ISNUMERIC",
        "JSON_MODIFY",
        "JSON_QUERY",
        "JSON_VALUE",
        "LEAST",
        "LEFT",
        "LEN",
        "LOG",
        "LOG10",
        "LOWER",
        "LTRIM",
        "MONTH",
        "NCHAR",
        "NULLIF",
        "PARSENAME",
        "PATINDEX",
        "PI",
        "POWER",
        "QUOTENAME",
        "RADIANS",
        "REPLACE",
        "REPLICATE",
        "REVERSE",
        "RIGHT",
        "ROUND",
        "RTRIM",
        "SIGN",
        "SIN",
        "SMALLDATETIMEFROMPARTS",
        "SOUNDEX",
        "SPACE",
        "SQRT",
        "SQUARE",
        "STR",
        "STRING_ESCAPE",
        "STUFF",
        "SUBSTRING",
        "SWITCHOFFSET",
        "TAN",
        "TIMEFROMPARTS",
        "TODATETIMEOFFSET",
        "TRANSLATE",
        "TRIM",
        "UNICODE",
        "UPPER",
        "YEAR",
    }
)
"""Built-in functions that give the same for the same arguments: those the page "Deterministic and
nondeterministic functions" names, and all of text but FORMAT."""

differs(
    "computed columns",
    "Worked out when the row is written, PERSISTED or not. A row for which an expression that "
    "is not PERSISTED fails is refused (60001); a server fails its readers. Expressions that "
    "are not deterministic are refused.",
)

_DATES = frozenset({"date", "time", "datetime", "datetime2", "smalldatetime", "datetimeoffset"})
_REFUSED_NODES = (ast.NextValueFor, ast.GlobalVariable)


def deterministic(node: ast.Expression, is_text: Callable[[ast.Expression], bool]) -> bool:
    """Whether an expression over a row always gives the same for the same row.

    is_text: whether a part of it is a string; its conversion to a date without a style depends on
    SET DATEFORMAT and LANGUAGE.
    """
    for part in node.walk():
        if isinstance(part, _REFUSED_NODES) or calls_function(part):
            return False
        if isinstance(part, ast.FunctionCall) and part.name.name.upper() not in DETERMINISTIC:
            return False
        if (
            isinstance(part, ast.FunctionCall)
            and part.name.name.upper() == "DATEPART"
            and str(getattr(part.arguments[0], "text", "")).lower() in {"dw", "weekday", "w"}
        ):
            return False  # depends on SET DATEFIRST
        if (
            isinstance(part, ast.Cast)
            and part.data_type.name.name.lower() in _DATES
            and part.style is None
            and is_text(part.operand)
        ):
            return False
    return True


def computed_column(builder: Any, node: ast.ComputedColumn, column: Column) -> None:
    """Fill in the column a definition has placed. Raises SqlError 1759, 4936 and NotSupported."""
    names = names_of(node.value)
    for other in builder.columns:
        if other.name.lower() in names and other.name.lower() in builder.computed_names:
            raise SqlError(1759, other.name, builder.table)
    if any(isinstance(part, (ast.ScalarSubquery, ast.Exists)) for part in node.value.walk()):
        raise SqlError(1046)

    def is_text(part: ast.Expression) -> bool:
        return bool(builder.expressions.expression(part, builder.columns).type.is_string)

    if not deterministic(node.value, is_text):
        if node.persisted:
            raise SqlError(4936, node.name, builder.table)
        raise builder.context.not_supported(node, "a computed column that is not deterministic")
    expr = builder.expressions.expression(node.value, builder.columns)
    column.type = expr.type
    column.nullable = node.nullable is not False and (expr.nullable or not node.persisted)
    if expr.collation is not None:
        column.collation, column.case_sensitive = (
            expr.collation.name,
            expr.collation.case_sensitive,
        )
    bind = builder.expressions.value(node.value, expr.type)
    text = f"({builder.context.program.source.slice(node.value)})"
    column.computed = Computed(
        text, node.persisted, _guarded(bind, node)(builder.columns), _guarded(bind, node), names
    )


def _guarded(bind: Any, node: ast.ComputedColumn) -> Any:
    """A value that cannot be worked out fails the write of a PERSISTED column; of another one it
    would fail its readers on a server, which is refused here.
    """
    if node.persisted:
        return bind

    def bound(columns: list[Column]) -> Any:
        value = bind(columns)

        def run(session: SessionState, row: RowValues) -> Any:
            try:
                return value(session, row)
            except NotSupported:
                raise
            except SqlError as error:
                raise NotSupported(
                    f"a row for which the computed column {node.name} fails ({error.number}): "
                    "only its readers would see the error"
                ) from None

        return run

    return bound
