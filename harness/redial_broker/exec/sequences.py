"""NEXT VALUE FOR: one number per row ("NEXT VALUE FOR" page). Numbers given out are not undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.inside import noted
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.registry import compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.objects import Sequence

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState

_CHOICES = frozenset({"CHOOSE", "COALESCE", "IIF", "ISNULL", "NULLIF"})
_SIMPLE = (
    ast.SelectStatement,
    ast.Insert,
    ast.SetVariable,
    ast.Print,
    ast.Query,
    ast.Select,
    ast.Values,
    ast.SelectItem,
    ast.Cast,
    ast.BinaryOp,
    ast.UnaryOp,
    ast.FunctionCall,
    ast.Update,
    ast.Assignment,
)
"""What may stand around it: nothing that runs once per something else than a row."""

SUBQUERIES = (
    ast.ScalarSubquery,
    ast.Exists,
    ast.InQuery,
    ast.QuantifiedComparison,
    ast.DerivedTable,
    ast.CommonTable,
)


@compiles(ast.NextValueFor)
def _next_value(node: ast.NextValueFor, scope: Scope) -> Expr:
    if scope.next_value is None:
        raise scope.refuse("NEXT VALUE FOR here", node)
    return scope.next_value(node)


def next_value(node: ast.NextValueFor, context: Context, *, ordered: bool = False) -> Expr:
    """The next number of a sequence. Raises SqlError 208, 11728 at run time, NotSupported.

    ordered: a query block takes care of the OVER clause.
    """
    if node.over is not None and not ordered:
        raise context.not_supported(node, "NEXT VALUE FOR ... OVER here")
    _check_place(node, context)
    name = node.sequence
    if name.database is not None:
        raise context.not_supported(node, "a sequence of another database")
    sequence = context.database.resolve(name.schema, name.name, context.session, context.home)
    if not isinstance(sequence, Sequence):
        raise context.fail(node, SqlError(208, ".".join(part for part in name.parts if part)))

    def take(session: SessionState, variables: Values, row: RowValues) -> Any:
        if session.user is not None and session.user.name != "dbo":
            session.check_permission("UPDATE", sequence)
        value = noted(session, sequence.name, sequence.take, session.engine.journal)
        if value is None:
            raise SqlError(11728, sequence.name)
        return value

    return Expr(take, sequence.type, False)


def _check_place(node: ast.NextValueFor, context: Context) -> None:
    """Only where it is worked out exactly once for each row of the statement."""
    path = _path(context.statement, node)
    number = forbidden(path, node)
    if number:
        raise context.fail(node, SqlError(number, aborts="scope"))
    queries = [part for part in path if isinstance(part, ast.Query)]
    plain = all(isinstance(part, _SIMPLE) for part in path) and len(queries) <= 1
    for part, following in zip(path, [*path[1:], node]):
        if isinstance(part, ast.Select) and (
            part.distinct or part.group_by is not None or following not in part.items
        ):
            plain = False
        if isinstance(part, ast.Query) and part.order_by and node.over is None:
            plain = False
        if isinstance(part, ast.FunctionCall) and part.name.name.upper() in _CHOICES:
            plain = False
        if isinstance(part, (ast.Insert, ast.Update)) and following in (part.outputs or []):
            plain = False
    same = (
        [
            part
            for part in context.statement.walk()
            if isinstance(part, ast.NextValueFor)
            and part.sequence.name.lower() == node.sequence.name.lower()
        ]
        if plain
        else []
    )
    values = any(isinstance(part, ast.Values) for part in path)
    if not plain or (len(same) > 1 and not values):
        raise context.not_supported(node, "NEXT VALUE FOR here")


def forbidden(path: list[Any], node: ast.NextValueFor) -> int:
    """The number a server has for this place ("NEXT VALUE FOR" page, Limitations); 0 for none."""
    if path == [None]:
        return 0
    if any(isinstance(part, SUBQUERIES) for part in path):
        return 11719
    for part, following in zip(path, [*path[1:], node]):
        if isinstance(part, (ast.Case, ast.Iif)) or (
            isinstance(part, ast.FunctionCall) and part.name.name.upper() in _CHOICES
        ):
            return 11741
        if isinstance(part, ast.SetOperation) or (isinstance(part, ast.Select) and part.distinct):
            return 11721
        if isinstance(part, ast.Select) and following not in part.items:
            return 11720
        if isinstance(part, ast.Query) and part.order_by and node.over is None:
            return 11723 if following is part.body else 11720
        if isinstance(part, (ast.Insert, ast.Update)) and following in (part.outputs or []):
            return 11720
    return 0


def _path(top: Any, node: ast.Node) -> list[Any]:
    """The nodes from ``top`` down to ``node``, that one left out; [None] when it is not below."""
    if top is None:
        return [None]
    for child in top.children():
        if child is node:
            return [top]
        below = _path(child, node)
        if below != [None]:
            return [top, *below]
    return [None]
