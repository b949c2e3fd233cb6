"""What stands in FROM: a source, its columns and the names they answer to; objects by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.collation import find_collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec import documented
from redial_broker.exec.expressions.scope import Scope, ScopeColumn
from redial_broker.exec.query.bodies import Choice, Written
from redial_broker.exec.query.hints import NO_HINTS, Hints
from redial_broker.exec.query.permissions import check_permission
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.query.views import inside_view

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState


@dataclass(eq=False, slots=True)
class Source:
    """One leaf of a FROM clause."""

    columns: list[QueryColumn]
    qualifiers: tuple[str, ...] = ()
    """The names that may stand before its columns, outermost first, lower case."""
    table: Table | None = None
    """The stored table (for a table variable one like it)."""
    slot: int = -1
    """Of a table variable."""
    rows: Rows | None = None
    """Of everything that is not a stored table."""
    hints: Hints = NO_HINTS
    lateral: bool = False
    """Its rows depend on the sources to its left."""
    with_key: bool = False
    """The clustered key follows the columns in each row (targets of UPDATE and DELETE)."""
    write: bool = False
    offset: int = 0
    """Place of its first column in the row, set by the planner."""
    needed: frozenset[int] = frozenset()
    securable: Any = None
    paths: list[Any] = field(default_factory=list)
    lookups: dict[int, Callable[[Any, Any], list[RowValues]]] = field(default_factory=dict)
    """Ordinal -> function (session, value) of a system view that can be asked by key."""
    written: str = ""
    """Its name as FROM wrote it."""
    alias: str = ""
    """The alias, else that."""
    whole: str = ""
    """The join hint (HASH, MERGE) that has it read without the rows so far."""
    pos: int = 0
    """Where it stands in the text."""
    after: bool = False
    """The last local value says behind which index key reading goes on (cursors)."""
    body: Any = None
    scope: Scope | None = None
    """body, scope: of a query that can be compiled again."""
    choice: Choice | None = None
    behind: Written | None = None
    """What is there when it is the target of a data change."""
    view: Any = None
    """The rowset of a view."""

    @property
    def stored(self) -> Table:
        """``table``, for who knows that it is a stored one."""
        assert self.table is not None
        return self.table

    def within(self, around: Scope) -> Scope:
        """The scope the query is compiled in when it is asked from inside ``around``."""
        if self.view is None:
            return around
        return inside_view(self.view, around)

    def narrowed(self, where: list[ast.Predicate]) -> None:
        """Read the query under further conditions, which are in its own terms."""
        if self.choice is not None:
            self.rows, self.behind, self.paths = self.body.write(self.choice, where, self.scope)
            if self.securable is not None:
                self.behind.securables = [self.securable, *self.behind.securables]
        else:
            self.rows, self.paths = self.body.rows(where, self.scope)
        if self.securable is not None:
            self.rows = guarded(self.securable, self.rows)

    @property
    def width(self) -> int:
        """Places it takes in the row."""
        return len(self.columns) + self.with_key

    def answers(self, qualifier: tuple[str, ...]) -> bool:
        """True when lower-case name parts before a column may mean this source."""
        if not qualifier:
            return True
        known = self.qualifiers[-len(qualifier) :]
        return len(known) == len(qualifier) and all(
            part in {"", name} for part, name in zip(qualifier, known)
        )

    def scope_columns(self) -> list[ScopeColumn]:
        """Its columns as the expression compiler wants them."""
        return [
            ScopeColumn(
                self.qualifiers,
                column.name,
                column.type,
                self.offset + i,
                column.nullable,
                column.collation,
                self.written,
            )
            for i, column in enumerate(self.columns)
        ]


def table_columns(table: Table) -> list[QueryColumn]:
    """The columns of a stored table."""
    return [
        QueryColumn(
            c.name,
            c.type,
            c.nullable,
            c.identity,
            find_collation(c.collation) if c.collation else None,
            stored=not (c.identity or c.computed or c.rowversion),
        )
        for c in table.columns
    ]


def resolve_object(name: ast.ObjectName, context: Context) -> Any:
    """The object a name in FROM or after INTO means: #temp table, or an object of a database.

    Raises 208 when there is none, NotSupported for other servers and for views only a server has.
    """
    if name.server is not None:
        raise context.not_supported(name, "a linked server")
    session = context.session
    if name.name.startswith("##"):
        context.uses_temp = True  # tempdb's definitions have a version of their own
        found = session.database.server.databases["tempdb"].resolve("dbo", name.name, session)
    elif name.name.startswith("#"):
        context.uses_temp = True
        found = session.temp_tables.get(name.name.lower())
    else:
        database = database_of(name, context)
        found = database.follow(
            database.resolve(name.schema, name.name, session, context.home), session
        )
    if found is None:
        known = documented.relation(name.database or context.database.name, name.schema, name.name)
        if known is not None:
            raise context.not_supported(name, known)
        raise context.fail(name, SqlError(208, ".".join(name.parts)))
    return found


def database_of(name: ast.ObjectName, context: Context) -> Any:
    """The database of a name. Raises 911 when there is none of that name."""
    database = context.database
    if name.database is None or name.database.lower() == database.name.lower():
        return database
    try:
        return database.server.database(name.database)
    except SqlError as error:
        raise context.fail(name, error) from None


def guarded(securable: Any, rows: Rows) -> Rows:
    """The rows for those who may SELECT them; stored tables are checked where they are read."""
    if securable is None:
        return rows

    def checked(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        check_permission(session, "SELECT", securable)
        return rows(session, variables, row)

    return checked


def rename(
    columns: list[QueryColumn],
    names: list[str] | None,
    alias: str,
    context: Context,
    node: ast.Node,
) -> list[QueryColumn]:
    """Columns of a derived table under the names given behind its alias; each needs its own name.

    Raises 8158 or 8159 for a wrong number of names, 8155 for a column without one, 8156 for a name
    two columns have.
    """
    if names is not None:
        if len(names) != len(columns):
            number = 8158 if len(names) < len(columns) else 8159
            raise context.fail(node, SqlError(number, alias, aborts="scope"))
        columns = [
            QueryColumn(name, c.type, c.nullable, c.identity, c.collation, stored=c.stored)
            for name, c in zip(names, columns)
        ]
    taken: set[str] = set()
    for number, column in enumerate(columns, 1):
        if not column.name:
            raise context.fail(node, SqlError(8155, number, alias, aborts="scope"))
        if column.name.lower() in taken:
            raise context.fail(node, SqlError(8156, column.name, alias, aborts="scope"))
        taken.add(column.name.lower())
    return columns


def template_table(definition: Any, context: Context) -> Table:
    """An empty table of that shape to compile against; draws no id from the instance."""
    journal = context.session.engine.journal
    table: Table = definition.new_table(SimpleNamespace(journal=journal, hobt_ids=count()))
    return table


def table_variable(node: ast.Variable, context: Context) -> tuple[int, Any]:
    """(slot, definition) of a table variable; 1087 when it is not declared."""
    found = context.table_variables.get(node.name.lower())
    if found is None:
        raise context.fail(node, SqlError(1087, node.name, severity=15, aborts="scope"))
    slot, definition = found
    return slot, definition
