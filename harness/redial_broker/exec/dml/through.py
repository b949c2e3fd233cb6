"""Data changes through views, derived tables and common tables: the base table behind them.

Source: "CREATE VIEW" page, Updatable Views: all columns that are assigned must come from one base
table, directly; a DELETE needs a query over one table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.dml.targets import Target, refuse_readonly
from redial_broker.exec.query.binder import Binder
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.compile import QueryCompiler
from redial_broker.exec.query.sources import Source
from redial_broker.exec.strictness import strict_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redial_broker.exec.context import Context


def target_of(source: Source, node: ast.Node, context: Context) -> Target:
    """The target a bound source stands for: its own table or the base table behind it."""
    written = source.behind
    refuse_readonly(source.slot if written is None else written.slot, node, context)
    changed = source.stored if written is None else written.table
    context.strict = context.strict or strict_table(changed)
    if written is None:
        return Target(source.stored, source.slot, securables=_own(source))
    written.names = [column.name for column in source.columns]
    return Target(
        written.table,
        written.slot,
        written=written,
        securables=written.securables,
        name=source.body.shown,
    )


def _own(source: Source) -> list[Any]:
    return [] if source.securable is None or source.stored.temporary else [source.securable]


def chosen(source: Source, names: list[str] | None, node: ast.Node, context: Context) -> Choice:
    """What of a source is changed. names: of the columns assigned to, None for a DELETE.

    Raises 207 for a column it does not have.
    """
    if names is None or source.table is not None:
        return Choice()
    known = {column.name.lower(): number for number, column in enumerate(source.columns)}
    for name in names:
        if name.lower() not in known:
            raise context.fail(node, SqlError(207, name))
    return Choice(tuple(known[name.lower()] for name in names))


def assigned_names(assignments: Sequence[ast.Assignment | ast.ColumnMethod]) -> list[str]:
    """The columns a SET clause assigns to."""
    found = []
    for node in assignments:
        if isinstance(node, ast.Assignment) and node.column is not None:
            found.append(node.column.name)
        elif isinstance(node, ast.ColumnMethod):
            found.append(cast("ast.ColumnRef", node.call.target).parts[-1])
    return found


def view_target(
    node: ast.ObjectName,
    names: list[str] | None,
    context: Context,
    common: dict[Any, Any] | None = None,
) -> Target:
    """A view or common table INSERT names, as its base table. names: of the column list, None
    without one.
    """
    compiler = QueryCompiler(context)
    binder = Binder(context, compiler.query, context.scope, common or {})
    leaf = ast.TableRef(node.pos, node.end, node, None, [])
    source = binder.leaf(leaf)
    if names is None:
        names = [column.name for column in source.columns if column.identity is None]
    source = binder.written(leaf, source, chosen(source, names, node, context))
    return target_of(source, node, context)
