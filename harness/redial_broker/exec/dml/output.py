"""The OUTPUT clause: rows of ``inserted`` and ``deleted``, to the client or into a table.

Source: "OUTPUT clause" page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.types import ResultColumn, nvarchar
from redial_broker.exec.dml.references import foreign_keys
from redial_broker.exec.dml.rows import (
    assignment,
    insert_columns,
    note_identity,
    place,
    row_maker,
)
from redial_broker.exec.dml.targets import (
    Target,
    Writes,
    checker,
    lock_for_write,
    resolve_target,
)
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.scope import Scope, ScopeColumn
from redial_broker.exec.query.blocks import projection
from redial_broker.exec.query.hints import NO_HINTS
from redial_broker.exec.query.metered import before, made
from redial_broker.exec.query.rowset import QueryColumn, query_scope
from redial_broker.exec.query.sources import Source, table_columns
from redial_broker.exec.query.statement import begun
from redial_broker.exec.registry import Run
from redial_broker.exec.triggers import triggers_on

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Projection, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Output:
    """One compiled OUTPUT clause."""

    columns: list[ResultColumn]
    project: Projection
    """(session, variables, row) -> output row, over: the FROM row, then inserted.*, then deleted.*."""
    into: Callable[[SessionState, Values, list[RowValues]], None] | None
    """Writes rows to a table, None for the client."""
    late: bool = False


class Outputs:
    """The OUTPUT clauses of a statement; false when it has none."""

    def __init__(
        self,
        clauses: list[ast.OutputClause] | None,
        target: Target,
        context: Context,
        sources: list[Source],
        base: int,
        *,
        inserted: bool,
        deleted: bool,
        action: bool = False,
    ) -> None:
        self.items: list[Output] = []
        if not clauses:
            return
        columns = [c for source in sources for c in source.scope_columns()]
        for name, there, offset in (
            ("inserted", inserted, base),
            ("deleted", deleted, base + len(target.table.columns)),
        ):
            if there:
                columns += _image_columns(name, target, offset)
        width = base + 2 * len(target.table.columns)
        scope = query_scope(context.scope, columns, width)
        images = {"inserted": base, "deleted": base + len(target.table.columns)}
        scope.replaced = lambda node: (
            _action(node, width) if action and _is_action(node) else _computed(node, target, images)
        )
        self.items = [_compile(clause, columns, scope, context) for clause in clauses]
        # A table variable is written last: its rows are not undone when the statement waits.
        self.items.sort(key=lambda item: item.late)
        if context.nested is not None:
            context.nested.append(self)

    def __bool__(self) -> bool:
        return bool(self.items)

    def watched(self, run: Run) -> Run:
        """The statement; when it fails while it runs its client has been told the columns, and
        the rows before the one whose expressions fail (F-533).
        """
        if self.client is None:
            return run
        client = self.client

        def watch(session: SessionState, variables: Values) -> int | None:
            try:
                return run(session, variables)
            except SqlError as error:
                if error.reached and error.partial is None:
                    rows = before(session, variables, error.reached, client.project)
                    error.partial = (client.project, rows)
                begun(session, client.columns, error, client.project)
                raise

        return watch

    @property
    def client(self) -> Output | None:
        """The clause whose rows go to the client."""
        return next((item for item in self.items if item.into is None), None)

    def deliver(self, session: SessionState, variables: Values, rows: list[RowValues]) -> None:
        """Send or store what the clauses make of the changed rows."""
        for item in self.items:
            found = made(session, variables, rows, item.project)
            if item.into is None:
                session.result(item.columns, found)
            else:
                item.into(session, variables, found)


_T = TypeVar("_T")


def each(
    rows: Iterable[_T], step: Callable[[_T], object], image: Callable[[_T], RowValues]
) -> None:
    """Take a step for each row, of which a client is told should a later one fail (F-533)."""
    done: list[_T] = []
    try:
        for row in rows:
            step(row)
            done.append(row)
    except SqlError as error:
        error.reached = [image(row) for row in done]
        raise


def _is_action(node: ast.Node) -> bool:
    return isinstance(node, ast.ColumnRef) and node.parts[-1].lower() == "$action"


def _action(node: ast.Node, width: int) -> Expr:
    """$action of MERGE stands behind both row images."""
    return Expr(lambda session, variables, row: row[width], nvarchar(10), False)


def _image_columns(name: str, target: Target, offset: int) -> list[ScopeColumn]:
    """The columns of ``inserted`` or ``deleted``: those of the table, or of the view named."""
    base = table_columns(target.table)
    if target.written is None:
        return [
            ScopeColumn((name,), c.name, c.type, offset + i, True, c.collation)
            for i, c in enumerate(base)
        ]
    return [
        ScopeColumn(
            (name,),
            shown,
            base[max(i, 0)].type,
            offset + max(i, 0),
            True,
            base[max(i, 0)].collation,
        )
        for shown, i in zip(target.written.names, target.written.ordinals)
    ]


def _computed(node: ast.Node, target: Target, images: dict[str, int]) -> Expr | None:
    """A computed column of the view or query written through, worked out over the row image.

    Raises 4186 or 4196 for one OUTPUT may not name.
    """
    written = target.written
    if written is None or not isinstance(node, ast.ColumnRef) or len(node.parts) != 2:
        return None
    image, name = node.parts[0].lower(), node.parts[1].lower()
    known = [shown.lower() for shown in written.names]
    if image not in images or name not in known:
        return None
    ordinal = known.index(name)
    if ordinal in written.hidden:
        raise SqlError(written.hidden[ordinal], image, node.parts[1], aborts="scope")
    if written.ordinals[ordinal] >= 0:
        return None
    if written.value is None:
        raise NotSupported("a computed column of a query over several tables in OUTPUT")
    start, width = images[image], len(target.table.columns)
    value = written.value(ordinal)

    def run(session: SessionState, variables: Values, outer: RowValues) -> Any:
        row = outer[start : start + width]
        return None if not any(x is not None for x in row) else value(session, variables, row)

    return Expr(run, written.types[ordinal], True)


def _compile(
    clause: ast.OutputClause, columns: list[ScopeColumn], scope: Scope, context: Context
) -> Output:
    if any(isinstance(part, ast.Query) for item in clause.items for part in item.walk()):
        raise context.fail(clause, SqlError(10705, aborts="scope"))
    exprs: list[Expr] = []
    names: list[str] = []
    for item in clause.items:
        if isinstance(item.value, ast.Star):
            qualifier = tuple(part.lower() for part in item.value.qualifier)
            for column in columns:
                if qualifier and column.answers(qualifier):
                    exprs.append(
                        compile_expression(
                            ast.ColumnRef(item.pos, item.end, (*qualifier, column.name)), scope
                        )
                    )
                    names.append(column.name)
            continue
        exprs.append(compile_expression(item.value, scope))
        last = item.value.parts[-1] if isinstance(item.value, ast.ColumnRef) else ""
        names.append(item.alias or last)
    made = [
        QueryColumn(name, e.type, e.nullable, None, e.collation, e.untyped)
        for name, e in zip(names, exprs)
    ]
    into, late = None, False
    if clause.into is not None:
        target = resolve_target(clause.into, context)
        into = _into(clause, target, made, context)
        if target.slot < 0 and any(
            triggers_on(target.table, event) for event in ("INSERT", "UPDATE", "DELETE")
        ):
            raise context.fail(clause, SqlError(331, target.table.name))
        if target.slot < 0:
            for constraint in (c for side in foreign_keys(target.table) for c in side):
                raise context.fail(clause, SqlError(332, target.table.name, constraint.name))
            for check in target.table.checks:
                if check.enabled and not target.table.temporary:
                    raise context.fail(clause, SqlError(333, target.table.name, check.name))
        late = target.slot >= 0
    return Output([column.result() for column in made], projection(exprs), into, late)


def _into(
    clause: ast.OutputClause, target: Target, columns: list[QueryColumn], context: Context
) -> Callable[[SessionState, Values, list[RowValues]], None]:
    chosen = insert_columns(target, clause.columns, context, clause)
    if len(chosen.ordinals) != len(columns):
        raise context.fail(clause, SqlError(213, aborts="scope"))
    if chosen.identity:
        raise context.fail(clause, SqlError(544, target.table.name, aborts="scope"))
    given: dict[int, Expr] = {}
    for number, (ordinal, column) in enumerate(zip(chosen.ordinals, columns)):
        given[ordinal] = assignment(place(column, number), target, ordinal)
    make = row_maker(target, given)
    check = checker(target, "INSERT")

    def write(session: SessionState, variables: Values, rows: list[RowValues]) -> None:
        table = target.at(variables)
        lock_for_write(session, table, NO_HINTS, "INSERT")
        writes = Writes(session, variables, target)
        made: list[RowValues] = []

        def changes() -> None:
            for row in rows:
                new = make(session, variables, row, table)
                if check is not None:
                    check(session, new)
                writes.insert(new)
                made.append(new)

        writes.all(changes)
        note_identity(session, table, made)

    return write


__all__ = ["Outputs", "Table"]
