"""What CREATE VIEW finds out: the columns, names that cannot be bound, self-references.

Source: "CREATE VIEW" page. A view is bound when it is made: * means the columns there are then,
until sp_refreshview binds it anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.columns import Column
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.dependencies import schema_bound
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.objects import View
from redial_broker.exec.program import Program
from redial_broker.exec.query.views import view_rowset

if TYPE_CHECKING:
    from redial_broker.exec.query.rowset import Rowset
    from redial_broker.exec.session import SessionState


def bind_view(session: SessionState, view: View) -> None:
    """Compile a view and note what it is bound to.

    Raises what its query raises, 4511 and 4506 for its columns, 8158 and 8159 for its column list,
    4508 for a #temp table, 4512 and 1054 WITH SCHEMABINDING, 4429 for a view of itself.
    """
    program = Program(view.name, view.schema, view.database, view.source, view.object_id)
    context = Context(program, Scope(source=view.source), session)
    try:
        _refuse_itself(view, context)
        query = _expanded(view.node.query, view, session)
        view.query = None
        rowset = view_rowset(view, context)
        if context.uses_temp:
            raise SqlError(4508)
        _check_columns(view, [column.name for column in rowset.columns])
        if schema_bound(view):
            _refuse_loose(view, context)
        view.query, view.columns = query, _columns(view, rowset)
    except SqlError as error:
        if isinstance(error, NotSupported):
            error.place(view.source.line_column(view.node.pos))
        error.procedure = error.procedure or view.name
        error.compiling = False
        raise


def _columns(view: View, rowset: Rowset) -> tuple[Column, ...]:
    """The columns the catalog shows."""
    names = view.node.columns or [column.name for column in rowset.columns]
    return tuple(
        Column(
            name,
            column.type,
            column.nullable,
            case_sensitive=column.collation is not None and column.collation.case_sensitive,
            collation=column.collation.name if column.collation is not None else "",
        )
        for name, column in zip(names, rowset.columns)
    )


def _check_columns(view: View, names: list[str]) -> None:
    given = view.node.columns
    if given is not None and len(given) != len(names):
        raise SqlError(8158 if len(given) < len(names) else 8159, view.name, aborts="scope")
    seen: set[str] = set()
    for number, name in enumerate(given or names, 1):
        if not name:
            raise SqlError(4511, number)
        if name.lower() in seen:
            raise SqlError(4506, name, view.name)
        seen.add(name.lower())


# ---------------------------------------------------------------------- what it refers to
def _tables(node: ast.Node) -> list[ast.TableRef]:
    """The names in FROM that are no common tables."""
    common = {part.name.lower() for part in node.walk() if isinstance(part, ast.CommonTable)}
    return [
        part
        for part in node.walk()
        if isinstance(part, ast.TableRef)
        and not (len(part.name.parts) == 1 and part.name.name.lower() in common)
    ]


def _refuse_itself(view: View, context: Context) -> None:
    """4429: the view, or a view it reads, reads it."""
    pending, seen = [view.node.query], set()
    while pending:
        for part in _tables(pending.pop()):
            found = view.database.resolve(
                part.name.schema, part.name.name, context.session, context.home
            )
            if not isinstance(found, View) or found.object_id in seen:
                continue
            if found.object_id == view.object_id:
                raise SqlError(4429, view.name)
            seen.add(found.object_id)
            pending.append(found.node.query)


def _refuse_loose(view: View, context: Context) -> None:
    """WITH SCHEMABINDING wants two-part names of bound objects (4512, 4513) and no * (1054)."""
    node = view.node.query
    if _selects_star(node):
        raise SqlError(1054, "*", aborts="scope")
    for part in _tables(node):
        if len(part.name.parts) != 2:
            raise SqlError(4512, "view", view.name, ".".join(part.name.parts))
        item = view.database.resolve(part.name.schema, part.name.name, context.session)
        if isinstance(item, View) and not schema_bound(item):
            raise SqlError(4513, "view", view.name, ".".join(part.name.parts))


def _selects_star(node: ast.Node) -> bool:
    return any(
        isinstance(item.value, ast.Star)
        for part in node.walk()
        if isinstance(part, ast.Select)
        for item in part.items
    )


# ---------------------------------------------------------------------- the columns of *
def _expanded(query: ast.Query, view: View, session: SessionState) -> ast.Query | None:
    """The query with every * of its own select lists written out; None when it has none."""
    changed = _body(query.body, query, view, session)
    return None if changed is query.body else replace(query, body=changed)


def _body(body: Any, query: ast.Query, view: View, session: SessionState) -> Any:
    if isinstance(body, ast.SetOperation):
        left, right = (
            _body(body.left, query, view, session),
            _body(body.right, query, view, session),
        )
        if left is body.left and right is body.right:
            return body
        return replace(body, left=left, right=right)
    if isinstance(body, ast.Query):
        inner = _body(body.body, body, view, session)
        return body if inner is body.body else replace(body, body=inner)
    if not any(isinstance(item.value, ast.Star) for item in body.items):
        return body
    return replace(body, items=_items(body, query, view, session))


def _items(
    body: ast.Select, query: ast.Query, view: View, session: SessionState
) -> list[ast.SelectItem]:
    program = Program(view.name, view.schema, view.database, view.source, view.object_id)
    context = Context(program, Scope(source=view.source), session)
    whole = replace(query, body=body, order_by=None, offset=None, for_=None)
    block = context.query_compiler().block(whole, context.scope)
    assert block is not None
    places = iter(block.items)
    made: list[ast.SelectItem] = []
    for item in body.items:
        if not isinstance(item.value, ast.Star):
            next(places)
            made.append(item)
            continue
        qualifier = tuple(part.lower() for part in item.value.qualifier)
        for source in block.from_.sources:
            if source.answers(qualifier):
                for column in source.columns:
                    made.append(ast.SelectItem(item.pos, item.end, next(places).node, column.name))
    return made
