"""Built-in functions: one module per family, each function registered by name.

A call is an aggregate or a window function (hooks of the scope), a user-defined function (two-part
name), or built in. What is none of these is error 195; what the server has and the embedded broker
lacks is refused by name.
"""

from __future__ import annotations

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec import documented
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.registry import compile_expression, compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions import (
    bits,
    catalog,
    choices,
    cultures,
    cursors,
    dates,
    facts,
    formatting,
    json,
    keys,
    moments,
    numbers,
    session,
    strings,
    sums,
    texts,
    variants,
)
from redial_broker.exec.functions.formatting import format_message
from redial_broker.exec.functions.registry import FUNCTIONS, Call, check_count

__all__ = [
    "AGGREGATES",
    "bits",
    "catalog",
    "choices",
    "cultures",
    "cursors",
    "dates",
    "facts",
    "format_message",
    "formatting",
    "json",
    "keys",
    "moments",
    "numbers",
    "session",
    "strings",
    "sums",
    "texts",
    "variants",
]

ONLY_WITH_OVER = frozenset(
    {
        "ROW_NUMBER",
        "RANK",
        "DENSE_RANK",
        "NTILE",
        "PERCENT_RANK",
        "CUME_DIST",
        "LAG",
        "LEAD",
        "FIRST_VALUE",
        "LAST_VALUE",
        "PERCENTILE_CONT",
        "PERCENTILE_DISC",
    }
)
AGGREGATES = frozenset(
    {
        "COUNT",
        "COUNT_BIG",
        "SUM",
        "MIN",
        "MAX",
        "AVG",
        "STDEV",
        "STDEVP",
        "VAR",
        "VARP",
        "STRING_AGG",
        "CHECKSUM_AGG",
        "APPROX_COUNT_DISTINCT",
        "GROUPING",
        "GROUPING_ID",
    }
)
"""Functions over many rows; the query compiler computes them."""


SYSTEM_SCALARS = frozenset({"FN_HADR_IS_PRIMARY_REPLICA"})
"""Scalar functions of schema sys, which is written before them."""


@compiles(ast.FunctionCall)
def _call(node: ast.FunctionCall, scope: Scope) -> Expr:
    name = node.name.name.upper()
    if len(node.name.parts) > 1:
        if name not in SYSTEM_SCALARS or node.name.parts[-2].lower() != "sys":
            return _user_defined(node, scope)
    elif name in SYSTEM_SCALARS:
        raise SqlError(195, node.name.name, aborts="scope")
    if node.over is not None:
        if scope.window is None:
            raise SqlError(4108, aborts="scope")
        return scope.window(node)
    if name in AGGREGATES:
        if scope.aggregate is None:
            raise SqlError(147, aborts="scope")
        return scope.aggregate(node)
    if name in ONLY_WITH_OVER:
        raise SqlError(10753, node.name.name, aborts="scope")
    found = FUNCTIONS.get(name)
    if found is None:
        if documented.scalar(None, name):
            raise scope.refuse(f"function {name}", node)
        raise SqlError(195, node.name.name, aborts="scope")
    least, most, build = found
    check_count(name, least, most, len(node.arguments))
    return build(Call(name, node, scope))


def _user_defined(node: ast.FunctionCall, scope: Scope) -> Expr:
    build = scope.scalar_function(node.name) if scope.scalar_function else None
    if build is None:
        shown = ".".join(part for part in node.name.parts if part)
        if documented.scalar(node.name.schema, node.name.name):
            raise scope.refuse(f"function {shown}", node)
        raise SqlError(4121, node.name.parts[0], shown, aborts="scope")
    arguments = [
        argument if isinstance(argument, ast.DefaultValue) else compile_expression(argument, scope)
        for argument in node.arguments
    ]
    called: Expr = build(arguments, node)
    return called
