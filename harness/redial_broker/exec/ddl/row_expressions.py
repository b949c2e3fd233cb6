"""Expressions a table keeps: CHECK, filters of indexes, defaults, computed columns.

They are compiled over the columns of one row. Where columns are added or dropped they are bound
anew (``bind``). One that calls a user-defined function or draws from a sequence is compiled again
whenever the database's definitions have changed, so it always calls what is there now; names in it
are looked up in the database the statement runs in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.collation import find_collation
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.compiler import calls_function
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import compile_assignment_conversion
from redial_broker.exec.expressions import Expr, compile_condition, compile_expression
from redial_broker.exec.expressions.scope import Scope, ScopeColumn
from redial_broker.exec.query.aggregates import is_aggregate

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

    Condition = Callable[[Any, tuple[Any, ...]], bool | None]


def refuse_parts(context: Context, node: ast.Node, *, default: bool = False) -> None:
    """112, 1046, 175 and 128: what neither CHECK nor DEFAULT holds, and columns in a DEFAULT."""
    for part in node.walk():
        if isinstance(part, ast.Variable):
            creates = isinstance(context.statement, ast.CreateTable)
            shown = "CREATE TABLE" if creates else "ALTER TABLE"
            raise context.fail(part, SqlError(112, shown, aborts="batch"))
        if isinstance(part, ast.Query):
            raise context.fail(part, SqlError(1046, aborts="scope"))
        if is_aggregate(part):
            raise context.fail(part, SqlError(175, aborts="scope"))
        if default and isinstance(part, ast.ColumnRef):
            raise context.fail(part, SqlError(128, ".".join(part.parts), aborts="scope"))


def filters(node: ast.Node) -> bool:
    """Whether a filtered index may have this predicate: comparisons of a column with constants, IN
    a list of them, IS NULL, joined by AND.
    """
    if isinstance(node, ast.And):
        return all(filters(part) for part in node.children())
    if isinstance(node, ast.IsNull):
        return isinstance(node.operand, ast.ColumnRef)
    if isinstance(node, ast.InList):
        listed = isinstance(node.operand, ast.ColumnRef) and all(map(_constant, node.items))
        return listed and not node.negated
    if not isinstance(node, ast.Comparison):
        return False
    return any(
        isinstance(one, ast.ColumnRef) and _constant(other)
        for one, other in ((node.left, node.right), (node.right, node.left))
    )


def _constant(node: ast.Node) -> bool:
    if isinstance(node, ast.UnaryOp):
        return node.op in "+-" and _constant(node.operand)
    if isinstance(node, ast.Cast):
        return _constant(node.operand)
    return isinstance(node, ast.Literal) and node.kind != "null"


def names_of(node: ast.Node) -> frozenset[str]:
    """Lower-case names of the columns an expression reads."""
    return frozenset(
        part.parts[-1].lower() for part in node.walk() if isinstance(part, ast.ColumnRef)
    )


def uses_objects(node: ast.Node) -> bool:
    """Whether an expression calls a user-defined function or draws from a sequence."""
    return any(calls_function(part) or isinstance(part, ast.NextValueFor) for part in node.walk())


def used_names(node: Any) -> tuple[ast.ObjectName, ...]:
    """Names of the user-defined functions and sequences in an expression."""
    return tuple(
        part.name if isinstance(part, ast.FunctionCall) else part.sequence
        for part in node.walk()
        if calls_function(part) or isinstance(part, ast.NextValueFor)
    )


def renewed(context: Context, make: Callable[[Context], Callable[..., Any]]) -> Callable[..., Any]:
    """fn(s, *rest) that is made again when the definitions of the session's database change."""
    known: dict[str, Any] = {}

    def run(session: SessionState, *rest: Any) -> Any:
        version = session.database.schema_version
        if known.get("version") != version:
            fresh = Context(context.program, Scope(source=context.program.source), session)
            known["fn"], known["version"] = make(fresh), version
        return known["fn"](session, *rest)

    return run


def _no_next_value(node: ast.NextValueFor) -> Expr:
    raise SqlError(11719)


class RowExpressions:
    """Compiles expressions over the rows of one table."""

    def __init__(self, context: Context, table: str) -> None:
        self.context = context
        self.table = table

    def scope(self, context: Context, columns: list[Column]) -> Scope:
        """The names an expression over a row may use: its columns, no variables."""
        found = [
            ScopeColumn(
                (self.table.lower(),),
                c.name,
                c.type,
                i,
                c.nullable,
                find_collation(c.collation) if c.collation else None,
            )
            for i, c in enumerate(columns)
        ]
        scope = context.scope.child(found)
        scope.variables = {}
        scope.next_value = _no_next_value
        return scope

    def condition(self, node: ast.Predicate) -> Callable[[list[Column]], Condition]:
        """bind(columns) -> accepts(s, row) for a condition."""

        def make(context: Context, columns: list[Column]) -> Condition:
            test = compile_condition(node, self.scope(context, columns))
            no_values = cast("Values", ())
            return lambda session, row: test(session, no_values, row)

        return self._binder(node, make)

    def value(
        self, node: ast.Expression, to_type: SqlType
    ) -> Callable[[list[Column]], Callable[..., Any]]:
        """bind(columns) -> value(s, row) for an expression, converted to a type."""

        def make(context: Context, columns: list[Column]) -> Callable[[Any, tuple[Any, ...]], Any]:
            fn = assigned(compile_expression(node, self.scope(context, columns)), to_type)
            return lambda session, row: fn(session, (), row)

        return self._binder(node, make)

    def expression(self, node: ast.Expression, columns: list[Column]) -> Expr:
        """An expression over a row, for its type."""
        return compile_expression(node, self.scope(self.context, columns))

    def _binder(self, node: ast.Node, make: Callable[..., Any]) -> Callable[..., Any]:
        if not uses_objects(node):
            return lambda columns: make(self.context, columns)

        def bind(columns: list[Column]) -> Callable[..., Any]:
            make(self.context, columns)  # finds now what is wrong with it
            return renewed(self.context, lambda fresh: make(fresh, columns))

        return bind


def assigned(value: Expr, to_type: SqlType) -> Callable[..., Any]:
    """The closure of a value as a column of that type stores it."""
    convert = None if value.untyped else compile_assignment_conversion(value.type, to_type)
    evaluate = value.fn
    if convert is None:
        return evaluate

    def converted(session: SessionState, variables: Values, row: RowValues) -> Any:
        found = evaluate(session, variables, row)
        return None if found is None else convert(found)

    return converted


def default_value(context: Context, node: ast.Expression, to_type: SqlType) -> Callable[[Any], Any]:
    """DEFAULT: value(s), converted to the column's type."""
    if (
        isinstance(node, ast.FunctionCall)
        and node.name.parts[-1].upper() == "NEWSEQUENTIALID"
        and to_type.name == "uniqueidentifier"
        and not node.arguments
    ):
        return lambda session: session.database.server.next_sequential_guid()

    def make(where: Context) -> Callable[[Any], Any]:
        # NEXT VALUE FOR may stand here: a default is worked out once per row.
        where.statement = ast.Print(node.pos, node.end, node)
        fn = assigned(where.expression(node), to_type)
        return lambda session: fn(session, (), ())

    made = make(context)
    return renewed(context, make) if uses_objects(node) else made
