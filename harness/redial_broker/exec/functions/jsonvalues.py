"""How SQL values are written in JSON, by FOR JSON and by the functions that make JSON."""

from __future__ import annotations

from base64 import b64encode

from redial.tsql import ast
from redial_broker.engine.types import NVARCHAR_MAX, SqlType
from redial_broker.exec.conversion import explicit_conversion
from redial_broker.exec.conversion.documents import Text, float_text, moment_text
from redial_broker.exec.conversion.rules import group
from redial_broker.exec.functions.jsontext import json_string

JSON_FUNCTIONS = frozenset({"JSON_QUERY", "JSON_MODIFY"})


def json_writer(of: SqlType) -> Text:
    """How a value of a type is written ("How FOR JSON converts SQL Server data types")."""
    kind = group(of)
    if of.name == "bit":
        return lambda value: "true" if value else "false"
    if kind in {"int", "exact", "money"}:
        return explicit_conversion(of, NVARCHAR_MAX, 2 if kind == "money" else None)
    if kind == "float":
        return float_text(of)
    if kind == "variant":
        return lambda value: json_writer(value.type)(value.value)
    if kind in {"binary", "rowversion"}:
        return lambda value: json_string(b64encode(value).decode())
    if kind in {"datetime", "moment", "date", "time"}:
        write = moment_text(of)
        return lambda value: json_string(write(value))
    return lambda value: json_string(str(value))


def is_json(node: ast.Node) -> bool:
    """Whether an expression is JSON already, so that it is written as it is.

    A subquery with WITHOUT_ARRAY_WRAPPER is plain text and is escaped ("Remove square brackets").
    """
    if isinstance(node, ast.ScalarSubquery):
        clause = node.query.for_
        return isinstance(clause, ast.ForJson) and not clause.without_array_wrapper
    if isinstance(node, (ast.JsonObject, ast.JsonArray)):
        return True
    return (
        isinstance(node, ast.FunctionCall)
        and len(node.name.parts) == 1
        and node.name.name.upper() in JSON_FUNCTIONS
    )
