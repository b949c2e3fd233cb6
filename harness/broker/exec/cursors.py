"""Cursors: DECLARE, OPEN, FETCH, CLOSE, DEALLOCATE, cursor variables.

Every cursor reads its whole result at OPEN. For STATIC that is the documented behaviour; for the
others it means that changes made after OPEN are not seen (a limitation listed in the coverage
page). Positioned updates and FOR UPDATE are refused. Variables in the query have the values they
had at DECLARE, as on the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.execute import converted
from harness.broker.exec.query.compile import QueryCompiler
from harness.broker.exec.query.rowset import Rowset
from harness.tsql import ast

FETCH = 0xC1
"""A FETCH to the client ends like a SELECT."""

ACCEPTED = frozenset({
    "LOCAL", "GLOBAL", "FORWARD_ONLY", "SCROLL", "STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD",
    "READ_ONLY", "INSENSITIVE", "OPTIMISTIC",
})
"""OPTIMISTIC only matters to positioned updates, and those are refused."""

_SCROLLING = frozenset({"SCROLL", "STATIC", "KEYSET", "DYNAMIC", "INSENSITIVE"})
_FORWARD = frozenset({"FORWARD_ONLY", "FAST_FORWARD"})


@dataclass(frozen=True, slots=True)
class Cursor:
    """One cursor; never changed, only replaced, so that saving a session is copying a dict.

    frame: it ends with it (None: GLOBAL). locals: values of the variables at DECLARE. rows: None
    while it is not open. position: 0 before the first row.
    """

    frame: Any
    rowset: Rowset
    locals: list
    scroll: bool
    dynamic: bool
    rows: tuple | None = None
    position: int = 0


def cursor_key(s: Any, name: str, is_global: bool) -> Any:
    """The key of a cursor named in a statement: the module's own first, then the global one."""
    lowered = name.lower()
    local = (len(s.frames), lowered)
    if not is_global and local in s.cursors:
        return local
    return ("", lowered)


def find(s: Any, v: list, node: ast.CursorName, slot: int) -> tuple[Any, Cursor]:
    """(key, cursor) of a name or variable. Raises 16916 and 16950."""
    if slot >= 0:
        key = v[slot]
        if key is None or key not in s.cursors:
            raise SqlError(16950, node.name.name)
        return key, s.cursors[key]
    key = cursor_key(s, node.name, node.is_global)
    found = s.cursors.get(key)
    if found is None:
        raise SqlError(16916, node.name)
    return key, found


def _slot(node: ast.CursorName, context: Context) -> int:
    return _variable_slot(node.name, context) if isinstance(node.name, ast.Variable) else -1


def _variable_slot(node: ast.Variable, context: Context) -> int:
    """The slot of a cursor variable; 16950 for a variable of another type."""
    slot, of = context.scope.variables[node.name.lower()]
    if of is not None or node.name.lower() in context.table_variables:
        raise context.fail(node, SqlError(16950, node.name, aborts="scope"))
    return slot


def _compile_definition(
    node: ast.CursorDefinition, context: Context
) -> tuple[Rowset, set[str]]:
    options = {option.upper() for option in node.options}
    for option in sorted(options - ACCEPTED):
        raise context.not_supported(node, f"the cursor option {option}")
    if node.for_update is not None:
        raise context.not_supported(node, "a cursor FOR UPDATE")
    if options & _FORWARD and "SCROLL" in options:
        raise context.fail(node, SqlError(1048, "SCROLL", "FORWARD_ONLY", aborts="scope"))
    return QueryCompiler(context).query(node.query, context.scope), options


def _scrolls(options: set[str]) -> bool:
    return bool(options & _SCROLLING) and not options & _FORWARD


@compiles(ast.DeclareCursor)
def compile_declare_cursor(node: ast.DeclareCursor, context: Context) -> Run:
    """DECLARE name CURSOR: LOCAL ends with its batch or module, else it is the session's."""
    rowset, options = _compile_definition(node.definition, context)
    local, lowered = "LOCAL" in options, node.name.lower()
    scroll, dynamic = _scrolls(options), "DYNAMIC" in options

    def run(s: Any, v: list) -> None:
        key = (len(s.frames), lowered) if local else ("", lowered)
        if key in s.cursors:
            raise SqlError(16915, node.name)
        frame = s.frames[-1] if local else None
        s.cursors[key] = Cursor(frame, rowset, v[:], scroll, dynamic)
        s.set_rowcount(1)

    return run


def set_cursor_variable(node: ast.SetVariable, context: Context) -> Run:
    """SET @c = CURSOR FOR ...: a nameless cursor the variable refers to."""
    rowset, options = _compile_definition(node.value, context)
    slot = _variable_slot(node.variable, context)
    scroll, dynamic = _scrolls(options), "DYNAMIC" in options
    name = node.variable.name.lower()

    def run(s: Any, v: list) -> None:
        key = (len(s.frames), name)
        s.cursors[key] = Cursor(s.frames[-1], rowset, v[:], scroll, dynamic)
        v[slot] = key
        s.set_rowcount(1)

    return run


@compiles(ast.OpenCursor)
def compile_open(node: ast.OpenCursor, context: Context) -> Run:
    """OPEN: read everything now."""
    slot = _slot(node.cursor, context)

    def run(s: Any, v: list) -> None:
        key, cursor = find(s, v, node.cursor, slot)
        if cursor.rows is not None:
            raise SqlError(16905)
        rows = cursor.rowset.rows(s, cursor.locals, ())
        s.cursors[key] = replace(cursor, rows=tuple(rows), position=0)
        s.set_rowcount(0)

    return run


@compiles(ast.FetchCursor, shared=False)
def compile_fetch_cursor(node: ast.FetchCursor, context: Context) -> Run:
    """FETCH orientation FROM cursor [INTO @a, @b]; @@FETCH_STATUS 0, or -1 outside the rows."""
    slot = _slot(node.cursor, context)
    offset = context.expression(node.offset).fn if node.offset is not None else None
    targets = [context.scope.resolve_variable(variable) for variable in node.into or []]

    def run(s: Any, v: list) -> None:
        key, cursor = find(s, v, node.cursor, slot)
        if cursor.rows is None:
            raise SqlError(16917)
        _check_orientation(node.orientation, cursor)
        columns = cursor.rowset.columns
        if node.into is not None and len(targets) != len(columns):
            raise SqlError(16924)
        position = _move(node.orientation, cursor, offset(s, v, ()) if offset else 0)
        s.cursors[key] = replace(cursor, position=position)
        row = cursor.rows[position - 1] if 1 <= position <= len(cursor.rows) else None
        s.fetch_status = 0 if row is not None else -1
        if node.into is None:
            s.result([column.result() for column in columns], [] if row is None else [row])
            s.done(FETCH, 0 if row is None else 1)
            return
        if row is not None:
            for target, value, column in zip(targets, row, columns):
                v[target.slot] = converted(value, column.type, target.type)
        s.set_rowcount(1)

    return run


def _check_orientation(orientation: str, cursor: Cursor) -> None:
    if orientation != "NEXT" and not cursor.scroll:
        raise SqlError(16911, "fetch", orientation.lower())
    if orientation == "ABSOLUTE" and cursor.dynamic:
        raise SqlError(16925, orientation.lower())


def _move(orientation: str, cursor: Cursor, offset: int | None) -> int:
    """The new position: 0 before the first row, len + 1 behind the last."""
    last = len(cursor.rows or ())
    offset = offset or 0
    wanted = {
        "NEXT": cursor.position + 1,
        "PRIOR": cursor.position - 1,
        "FIRST": 1,
        "LAST": last,
        "ABSOLUTE": offset if offset >= 0 else last + 1 + offset,
        "RELATIVE": cursor.position + offset,
    }[orientation]
    return max(0, min(wanted, last + 1))


@compiles(ast.CloseCursor, shared=False)
def compile_close(node: ast.CloseCursor, context: Context) -> Run:
    """CLOSE: the rows go, the cursor may be opened again."""
    slot = _slot(node.cursor, context)

    def run(s: Any, v: list) -> None:
        key, cursor = find(s, v, node.cursor, slot)
        if cursor.rows is None:
            raise SqlError(16917)
        s.cursors[key] = replace(cursor, rows=None, position=0)
        s.set_rowcount(0)

    return run


@compiles(ast.DeallocateCursor, shared=False)
def compile_deallocate(node: ast.DeallocateCursor, context: Context) -> Run:
    """DEALLOCATE: the cursor is gone; a variable no longer refers to it."""
    slot = _slot(node.cursor, context)

    def run(s: Any, v: list) -> None:
        key, _ = find(s, v, node.cursor, slot)
        del s.cursors[key]
        if slot >= 0:
            v[slot] = None
        s.set_rowcount(0)

    return run
