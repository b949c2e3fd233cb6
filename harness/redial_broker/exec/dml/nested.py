"""INSERT ... SELECT ... FROM (a data change with OUTPUT): what it changed are the rows to insert.

Source: INSERT page (<dml_table_source>) and OUTPUT page; 10716 to 10733 for where it may not stand.
Both changes are one statement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.outcomes import CHANGES
from redial_broker.exec.query.rowset import QueryColumn, Rowset
from redial_broker.exec.registry import REGISTRY

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.session import SessionState


@dataclass(slots=True)
class Grabbed:
    """Stands where an INSERT ... EXECUTE would capture results, and takes the OUTPUT rows."""

    rows: list[RowValues] = field(default_factory=list)
    trancount: int = 0

    def active(self, session: SessionState) -> bool:
        """Nothing of the inner change goes to the client."""
        return True

    def add(self, session: SessionState, columns: list[Any], rows: list[RowValues]) -> None:
        """Take the rows of the OUTPUT clause."""
        self.rows += rows


def _changes_below(node: ast.Node) -> tuple[ast.DerivedTable, ...]:
    return tuple(
        part
        for part in node.walk()
        if isinstance(part, ast.DerivedTable) and isinstance(part.query, CHANGES)
    )


def nested_source(node: ast.Insert, context: Context) -> ast.DerivedTable | None:
    """The data change that is the source of an INSERT, None when it has another source.

    Raises 10716, 10718, 10720, 10721 for what it may not have, 10727 and 10732 for where it stands.
    """
    derived = ast.noted(node.source, _changes_below)
    if not derived:
        return None
    found, body = derived[0], cast("ast.Query", node.source).body
    if isinstance(body, ast.SetOperation):
        raise context.fail(found, SqlError(10732, aborts="scope"))
    if any(
        isinstance(part, (ast.Join, ast.Apply)) and found in part.walk()
        for part in node.source.walk()
    ):
        raise context.fail(found, SqlError(10727, aborts="scope"))
    if not isinstance(body, ast.Select) or body.from_ != [found]:
        raise context.fail(found, SqlError(10729, aborts="scope"))
    change = cast("ast.Insert | ast.Update | ast.Delete | ast.Merge", found.query)
    number = 0
    if not change.outputs:
        number = 10716
    elif any(clause.into is not None for clause in change.outputs):
        number = 10720
    elif change.options:
        number = 10718
    elif isinstance(getattr(change, "where", None), ast.CurrentOf):
        number = 10721
    if number:
        raise context.fail(found, SqlError(number, aborts="scope"))
    return found


def nested_rowset(node: ast.DerivedTable, context: Context) -> Rowset:
    """The rows a data change puts out; running it changes what it says."""
    change = cast("ast.Insert | ast.Update | ast.Delete | ast.Merge", node.query)
    if not isinstance(change.target, ast.ObjectName):
        raise context.not_supported(node, "a change of a table variable in FROM")
    before, context.nested = context.nested, []
    try:
        run = REGISTRY[type(change)].compile(change, context)
        columns = context.nested[0].items[0].columns
    finally:
        context.nested = before

    def rows(session: SessionState, variables: Values, row: RowValues) -> list[RowValues]:
        grabbed, capture = Grabbed(), session.insert_exec
        session.insert_exec = grabbed
        try:
            run(session, variables)
        finally:
            session.insert_exec = capture
        return grabbed.rows

    return Rowset([QueryColumn(c.name, c.type, c.nullable) for c in columns], rows)
