"""What names mean where an expression stands: variables, columns, and the statement's hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from redial_broker.engine.collation import Collation
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import SqlType
from redial_broker.exec.expressions.expr import Expr, column, variable
from redial_broker.exec.xml.nodes import XML_URI

if TYPE_CHECKING:
    from redial.tsql.ast import ColumnRef, Node, Source, Variable, With
    from redial_broker.exec.closures import Fn
    from redial_broker.exec.query.subqueries import Subquery


@dataclass(slots=True, unsafe_hash=True)
class ScopeColumn:
    """A column that may be named. Nobody changes one: not frozen, as there are so many of them."""

    qualifiers: tuple[str, ...]
    """The names that may stand before it, outermost first and lower case: ("t",) for an alias,
    ("db", "dbo", "t") for a table without one."""
    name: str
    type: SqlType
    index: int
    """Place in the flat row."""
    nullable: bool = True
    collation: Collation | None = None
    written: str = ""
    """The table as FROM wrote it, for XQuery errors."""

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """True when the lower-case name parts before the column may mean this one."""
        if not qualifier:
            return True
        known = self.qualifiers[-len(qualifier) :]
        return len(known) == len(qualifier) and all(
            part in {"", name} for part, name in zip(qualifier, known)
        )


def _check_prefix(prefix: str | None, uri: str, known: dict[str | None, str]) -> None:
    """What WITH XMLNAMESPACES may not declare: 6871, 6872, 6874 and 6869 ("WITH XMLNAMESPACES")."""
    if prefix == "xmlns":
        raise SqlError(6871, prefix, aborts="scope")
    if (prefix == "xml") != (uri == XML_URI):
        raise SqlError(6872, state=1 if prefix == "xml" else 2, aborts="scope")
    if not uri:
        raise SqlError(6874, aborts="scope")
    if prefix in known:
        raise SqlError(6869, "default" if prefix is None else prefix, aborts="scope")


@dataclass
class Scope:
    """Where an expression is compiled."""

    variables: dict[str, tuple[int, SqlType]] = field(default_factory=dict)
    """lower-case name with @ -> (slot, type)."""
    columns: Sequence[ScopeColumn] = ()
    """Of this query level; ``parent`` is the enclosing query's scope, whose rows are a prefix of
    this one's."""
    parent: Scope | None = None
    source: Source | None = None
    """Text for positions."""
    namespaces: dict[str | None, str] = field(default_factory=dict)
    """Prefix (None for DEFAULT) -> uri of WITH XMLNAMESPACES. Hooks, all optional, set by the
    statement compiler: compile_subquery(query, scope) -> Subquery: columns, rows and exists;
    aggregate(call) and window(call) -> Expr of an already computed slot; scalar_function(name) ->
    build(arguments, call) -> Expr, or None when there is no such function; replaced(node) -> Expr
    for a node computed elsewhere (GROUP BY expressions), or None; user_type(schema, name) ->
    SqlType of an alias type, or None; xml_type(name, document) -> type bound to a schema
    collection; updated_column(name) -> closure of UPDATE(column) in a trigger; next_value(node) ->
    Expr of NEXT VALUE FOR."""
    compile_subquery: Callable[..., Subquery] | None = None
    aggregate: Callable[..., Expr] | None = None
    window: Callable[..., Expr] | None = None
    scalar_function: Callable[..., Any] | None = None
    replaced: Callable[..., Expr | None] | None = None
    user_type: Callable[..., SqlType | None] | None = None
    xml_type: Callable[..., SqlType] | None = None
    updated_column: Callable[[str], Fn] | None = None
    next_value: Callable[..., Expr] | None = None
    changing: bool = False
    """The statement changes data."""

    def child(self, columns: Sequence[ScopeColumn]) -> Scope:
        """The scope of a query inside this one: same variables and hooks, rows prefixed by ours."""
        return Scope(
            variables=self.variables,
            columns=columns,
            parent=self,
            source=self.source,
            namespaces=self.namespaces,
            compile_subquery=self.compile_subquery,
            scalar_function=self.scalar_function,
            user_type=self.user_type,
            xml_type=self.xml_type,
            updated_column=self.updated_column,
            next_value=self.next_value,
            changing=self.changing,
        )

    def naming(self, with_: With | None) -> Scope:
        """This scope with a statement's WITH XMLNAMESPACES added."""
        if with_ is None or not with_.namespaces:
            return self
        added: dict[str | None, str] = {}
        for item in with_.namespaces:
            _check_prefix(item.prefix, item.uri, added)
            added[item.prefix] = item.uri
        return replace(self, namespaces={**self.namespaces, **added})

    def line(self, node: Node) -> int:
        """The 1-based line of a node, 0 when the text is not known."""
        return self.source.line(node.pos) if self.source else 0

    def position(self, node: Node) -> tuple[int, int] | None:
        """The (line, column) of a node."""
        return self.source.line_column(node.pos) if self.source else None

    def refuse(self, construct: str, node: Node) -> NotSupported:
        """The refusal of a construct, naming its position."""
        return NotSupported(construct, self.position(node))

    def resolve_variable(self, node: Variable) -> Expr:
        """The local variable; 137 when it is not declared."""
        found = self.variables.get(node.name.lower())
        # A table variable has a slot but no scalar type.
        if found is None or found[1] is None:
            raise SqlError(
                137, node.name, state=2, severity=15, line=self.line(node), aborts="scope"
            )
        return variable(*found)

    def column_named(self, node: ColumnRef) -> ScopeColumn | None:
        """The column a name means, None when none or several have it."""
        name = node.parts[-1].lower()
        qualifier = tuple(part.lower() for part in node.parts[:-1])
        scope: Scope | None = self
        while scope is not None:
            found = [c for c in scope.columns if c.name.lower() == name and c.answers(qualifier)]
            if found:
                return found[0] if len(found) == 1 else None
            scope = scope.parent
        return None

    def _known(self, qualifier: tuple[str, ...]) -> bool:
        """Whether some query around here has a source of that name."""
        scope: Scope | None = self
        while scope is not None:
            if any(column.answers(qualifier) for column in scope.columns):
                return True
            scope = scope.parent
        return False

    def resolve_column(self, node: ColumnRef) -> Expr:
        """The column of the innermost query that has it.

        When none has, 207 for a name alone or behind a source that is there, else 4104; 209 when
        one query has several.
        """
        name = node.parts[-1].lower()
        qualifier = tuple(part.lower() for part in node.parts[:-1])
        scope: Scope | None = self
        while scope is not None:
            found = [c for c in scope.columns if c.name.lower() == name and c.answers(qualifier)]
            if len(found) > 1:
                raise SqlError(209, node.parts[-1], line=self.line(node), aborts="scope")
            if found:
                return column(found[0].index, found[0].type, found[0].nullable, found[0].collation)
            scope = scope.parent
        if qualifier and not self._known(qualifier):
            raise SqlError(4104, ".".join(node.parts), line=self.line(node), aborts="scope")
        raise SqlError(207, node.parts[-1], line=self.line(node))
