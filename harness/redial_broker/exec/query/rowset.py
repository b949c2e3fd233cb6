"""What a compiled query is: its columns and a closure that yields its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redial.tsql.ast import ColumnRef
from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import ResultColumn, SqlType
from redial_broker.exec.conversion.rules import XML_NODES
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class QueryColumn:
    """One output column."""

    name: str
    type: SqlType
    nullable: bool = True
    identity: Any = None
    """(seed, step) of a column that has it."""
    collation: Collation | None = None
    untyped: bool = False
    """The bare NULL, which takes any type."""
    stored: bool = False
    computed: bool = False
    """stored, computed: see ``ResultColumn``."""

    def result(self) -> ResultColumn:
        """The column as a client sees it; 493 for what .nodes() returned, which is no value."""
        if self.type is XML_NODES:
            raise SqlError(493, self.name, aborts="batch")
        return ResultColumn(
            self.name, self.type, self.nullable, bool(self.identity), self.stored, self.computed
        )


@dataclass(slots=True)
class Rowset:
    """A compiled query: ``rows`` may be called any number of times."""

    columns: list[QueryColumn]
    rows: Rows
    correlated: bool = False
    """It reads columns of the query around it, so its rows differ from outer row to outer row."""
    paths: list[Any] = field(default_factory=list)
    """What was chosen per stored table, for tests and ``explain``."""
    body: Any = None
    """How it can be compiled again, when it is a single block."""
    streamed: Callable[[SessionState, Values, RowValues], tuple[int, str | None]] | None = None
    """Of FOR XML and FOR JSON, (number of rows written, text or None), which a client gets in
    pieces."""


NOT_BOUND = 4104


@dataclass
class QueryScope(Scope):
    """The scope of one query level."""

    width: int = 0
    """Columns of its rows, the outer prefix included."""
    outside: bool = False
    """Set when a name was found in an enclosing query, that is when the query is correlated."""

    def resolve_column(self, node: ColumnRef) -> Expr:
        """Like ``Scope.resolve_column``, noting whether the name leads outside this query."""
        name = node.parts[-1].lower()
        qualifier = tuple(part.lower() for part in node.parts[:-1])
        if not any(c.name.lower() == name and c.answers(qualifier) for c in self.columns):
            self.outside = True
            if self.parent is not None:
                return self._from_outside(node, qualifier)
        return super().resolve_column(node)

    def _from_outside(self, node: ColumnRef, qualifier: tuple[str, ...]) -> Expr:
        """A column of an enclosing query; 207 where only the source's name is known here."""
        assert self.parent is not None
        try:
            return self.parent.resolve_column(node)
        except SqlError as error:
            if error.number != NOT_BOUND or not any(c.answers(qualifier) for c in self.columns):
                raise
            raise SqlError(207, node.parts[-1], line=self.line(node), aborts="scope") from None


def scope_width(scope: Scope | None) -> int:
    """How many columns the rows of a scope have."""
    if scope is None:
        return 0
    if isinstance(scope, QueryScope):
        return scope.width
    own = max((column.index + 1 for column in scope.columns), default=0)
    return max(own, scope_width(scope.parent))


def query_scope(parent: Scope, columns: Sequence[Any], width: int) -> QueryScope:
    """A query's scope inside ``parent``, with the parent's variables and hooks."""
    return QueryScope(
        variables=parent.variables,
        columns=columns,
        parent=parent,
        source=parent.source,
        namespaces=parent.namespaces,
        compile_subquery=parent.compile_subquery,
        scalar_function=parent.scalar_function,
        user_type=parent.user_type,
        xml_type=parent.xml_type,
        updated_column=parent.updated_column,
        next_value=parent.next_value,
        changing=parent.changing,
        width=width,
    )


def fit(row: RowValues, width: int) -> tuple[Any, ...]:
    """``row`` as wide as a scope's rows: a partial row of a join is filled up, extras are cut."""
    missing = width - len(row)
    if missing > 0:
        return row + (None,) * missing
    return row[:width] if missing else row
