"""What may stand in a function: nothing that others could see ("CREATE FUNCTION" page)."""

from __future__ import annotations

from typing import Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.registry import describe

ALLOWED = (
    ast.DeclareVariable,
    ast.DeclareTableVariable,
    ast.SetVariable,
    ast.If,
    ast.While,
    ast.Block,
    ast.Return,
    ast.Break,
    ast.Continue,
    ast.Goto,
    ast.Label,
    ast.SelectStatement,
    ast.Insert,
    ast.Update,
    ast.Delete,
)
SIDE_EFFECTS = frozenset({"NEWID", "RAND", "NEWSEQUENTIALID"})
"""Built-in functions that leave something behind: not allowed in a function."""


def check_body(node: Any, context: Context) -> None:
    """Raise SqlError 443, 444, 455 or 557 for a body that is not one of a function."""
    if isinstance(node, ast.CreateInlineFunction):
        _check_calls(node.query, context)
        return
    for statement in _statements(node.body):
        _check_statement(statement, context)
    _check_calls(node, context)
    if not node.body or not isinstance(_last(node.body), ast.Return):
        raise context.fail(node, SqlError(455, aborts="batch"))


def _last(body: list[Any]) -> Any:
    last = body[-1]
    return _last(last.statements) if isinstance(last, ast.Block) and last.statements else last


def _statements(body: list[Any]) -> list[Any]:
    return [part for item in body for part in ast.noted(item, _statements_below)]


def _statements_below(node: ast.Node) -> tuple[ast.Statement, ...]:
    return tuple(part for part in node.walk() if isinstance(part, ast.Statement))


def _check_statement(node: ast.Node, context: Context) -> None:
    if isinstance(node, (ast.ExecuteProcedure, ast.ExecuteString)):
        raise context.fail(node, SqlError(557, aborts="batch"))
    if not isinstance(node, ALLOWED):
        raise context.fail(node, SqlError(443, describe(node), aborts="batch"))
    if isinstance(node, ast.SelectStatement):
        body = node.query.body
        if not isinstance(body, ast.Select) or any(i.variable is None for i in body.items):
            raise context.fail(node, SqlError(444, aborts="batch"))
    if isinstance(node, (ast.Insert, ast.Update, ast.Delete)):
        if not isinstance(node.target, ast.Variable):
            raise context.fail(node, SqlError(443, describe(node), aborts="batch"))
        if any(clause.into is None for clause in node.outputs or []):
            raise context.fail(node, SqlError(444, aborts="batch"))


def _calls_below(node: ast.Node) -> tuple[ast.FunctionCall | ast.NextValueFor, ...]:
    return tuple(
        part for part in node.walk() if isinstance(part, (ast.FunctionCall, ast.NextValueFor))
    )


def _check_calls(node: ast.Node, context: Context) -> None:
    for part in ast.noted(node, _calls_below):
        if (
            isinstance(part, ast.FunctionCall)
            and part.name.name.upper() in SIDE_EFFECTS
            and len(part.name.parts) == 1
        ):
            raise context.fail(part, SqlError(443, part.name.name.lower(), aborts="batch"))
        if isinstance(part, ast.NextValueFor):
            raise context.fail(part, SqlError(11719, aborts="batch"))
