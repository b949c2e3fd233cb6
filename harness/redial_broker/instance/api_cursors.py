"""API server cursors: what drivers open with sp_cursoropen and its kin (F-281).

JDBC with selectMethod=cursor or a scrollable result set, ODBC with a static cursor. STATIC cursors
read their result when they are opened, and so do forward-only ones, which therefore do not see what
changes afterwards; KEYSET ones read the keys then and the rows at each fetch. All are READ ONLY.
DYNAMIC and the updatable kinds are refused by name unless the client accepts one of these instead.

Sources: sp_cursoropen, sp_cursorfetch, sp_cursorprepare, sp_cursorprepexec, sp_cursorexecute,
sp_cursoroption, sp_cursorclose and sp_cursor pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.types import INT, NVARCHAR_MAX, SELECT_DONE, Message, ResultColumn
from redial_broker.exec.calls import Argument, call_program, converted
from redial_broker.exec.compiler import ProgramCompiler, names_objects, touches_data
from redial_broker.exec.context import Context
from redial_broker.exec.cursor_options import CursorOptions
from redial_broker.exec.cursor_plans import Plan, Row, compile_plan
from redial_broker.exec.declarations import declare_parameters
from redial_broker.exec.execute import in_work, parse_definitions, text_program
from redial_broker.exec.program import SWITCH, Program
from redial_broker.exec.registry import Run
from redial_broker.exec.steps import lazy_step
from redial_broker.instance.prepared import OnReturn, Prepared, expect, give_handle, handle_of

if TYPE_CHECKING:
    from typing import TypeGuard

    from redial_broker.exec.session import SessionState
    from redial_broker.instance.session import Session

KEYSET, DYNAMIC, FORWARD_ONLY, STATIC, FAST_FORWARD = 0x1, 0x2, 0x4, 0x8, 0x10
_KINDS = 0x1F
_AUTO_FETCH, _AUTO_CLOSE, _CHECK_KINDS = 0x2000, 0x4000, 0x8000
_PARAMETERIZED = 0x1000
_ACCEPTS = {KEYSET: 0x10000, FORWARD_ONLY: 0x40000, STATIC: 0x80000, FAST_FORWARD: 0x100000}
_SCROLLING = frozenset({STATIC, KEYSET})

READ_ONLY = 0x1
_CONCURRENCIES = {0x2: "SCROLL_LOCKS", 0x4: "OPTIMISTIC", 0x8: "OPTIMISTIC (by values)"}
_ALLOW_DIRECT, _CHECK_CONCURRENCIES, _READ_ONLY_ACCEPTED = 0x2000, 0x8000, 0x10000

FIRST, NEXT, PREV, LAST, ABSOLUTE, RELATIVE = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
REFRESH, INFO, PREV_NOADJUST, _SKIP_CHECK = 0x80, 0x100, 0x200, 0x400
_FETCHES = {
    PREV: "prior",
    LAST: "last",
    ABSOLUTE: "absolute",
    RELATIVE: "relative",
    PREV_NOADJUST: "prior",
}
_BUFFER = 20
"""Rows of a fetch that does not say how many."""

_SUCCEEDED, _ADJUSTED = 0, 2
_ROWSTAT = ResultColumn("ROWSTAT", INT, False)
_ROW_FETCHED, _ROW_MISSING = 1, 2
_FIRST_ID = 180150003
"""Cursor ids are numbers a client cannot take for anything else; each next one is 2 more."""

_RESULT = "@@rows"
"""Name of the local in which a cursor's program leaves its result: no client can write it."""


@definition()
@dataclass(frozen=True, slots=True)
class ApiCursor:
    """An open cursor; never changed, only replaced."""

    columns: tuple[ResultColumn, ...]
    """ROWSTAT included."""
    rows: tuple[Row, ...]
    """As found when it was opened."""
    kind: int
    plan: Plan | None = None
    locals: tuple[Any, ...] = ()
    """plan, locals: how it reads on."""
    start: int = 1
    size: int = 0
    """start, size: first row (from 1) and length of the fetch buffer; a start behind the last row,
    or size 0, stands for a position outside the rows."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """What a client asked for when it opened."""

    cursor: Argument
    """Its OUTPUT arguments."""
    scroll: Argument | None
    concurrency: Argument | None
    count: Argument | None
    """Its OUTPUT arguments."""

    @staticmethod
    def of(arguments: list[Argument], cursor: int, first: int) -> _Opening:
        """The argument at position ``cursor``, and the three from ``first`` on, if given."""
        rest = [*arguments[first : first + 3], None, None, None]
        return _Opening(arguments[cursor], *rest[:3])


def _number(argument: Argument | None, default: int) -> int:
    if argument is None or argument.value is None:
        return default
    return cast(int, converted(argument.value, argument.type or INT, INT))


def _give(argument: Argument | None, value: int) -> None:
    if argument is not None and argument.set is not None:
        argument.set(converted(value, INT, argument.type or INT))


def _text(argument: Argument) -> str:
    return str(converted(argument.value, argument.type, NVARCHAR_MAX) or "")


# ---------------------------------------------------------------------- opening
def sp_cursoropen(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int | None:
    """sp_cursoropen cursor OUTPUT, stmt [, scrollopt, ccopt, rowcount OUTPUT [, params, ...]]."""
    expect(arguments, "sp_cursoropen", "@cursor", "@stmt")
    opening = _Opening.of(arguments, 0, 2)
    definitions, values = "", arguments[5:]
    if _number(opening.scroll, 0) & _PARAMETERIZED:
        if not values:
            raise SqlError(16903, "sp_cursoropen")
        definitions, values = _text(values[0]), values[1:]
    return _open(
        session, opening, Prepared(_text(arguments[1]), definitions), values, on_return, next_pc
    )


def sp_cursorprepare(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_cursorprepare handle OUTPUT, params, stmt, options [, scrollopt, ccopt]."""
    expect(arguments, "sp_cursorprepare", "@handle", "@params", "@stmt")
    prepared = Prepared(_text(arguments[2]), _text(arguments[1]))
    _statement(session, prepared)  # syntax errors belong here
    give_handle(session, arguments, prepared)
    if on_return is not None:
        on_return(session, 0)


def sp_cursorprepexec(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int | None:
    """sp_cursorprepexec handle OUTPUT, cursor OUTPUT, params, stmt, scrollopt, ccopt, rowcount."""
    expect(arguments, "sp_cursorprepexec", "@handle", "@cursor", "@params", "@stmt")
    prepared = Prepared(_text(arguments[3]), _text(arguments[2]))
    _statement(session, prepared)
    give_handle(session, arguments, prepared)
    return _open(session, _Opening.of(arguments, 1, 4), prepared, arguments[7:], on_return, next_pc)


def sp_cursorexecute(
    session: Session, arguments: list[Argument], on_return: OnReturn, next_pc: int | None
) -> int | None:
    """sp_cursorexecute handle, cursor OUTPUT [, scrollopt, ccopt, rowcount OUTPUT, values...]."""
    expect(arguments, "sp_cursorexecute", "@handle", "@cursor")
    handle = handle_of(arguments, "sp_cursorexecute")
    prepared = session.prepared.get(handle)
    if prepared is None:
        raise SqlError(8179, handle)
    opening = _Opening.of(arguments, 1, 2)
    return _open(session, opening, prepared, arguments[5:], on_return, next_pc)


def _open(
    session: Session,
    opening: _Opening,
    prepared: Prepared,
    values: list[Argument],
    on_return: OnReturn,
    next_pc: int | None,
) -> int | None:
    """Run the statement in a frame of its own; the cursor is there when the frame is left."""
    if _statement(session, prepared) is None:
        return _directly(session, opening, prepared, values, on_return, next_pc)
    wanted = _kind(_number(opening.scroll, FORWARD_ONLY))
    _check_concurrency(_number(opening.concurrency, READ_ONLY))
    program, slot = _cursor_program(session, prepared, "KEYSET" if wanted == KEYSET else "STATIC")

    def opened(result: tuple[Plan, list[Row], list[Any]]) -> None:
        plan, rows, given = result
        kind = STATIC if wanted == KEYSET and plan.kind == "STATIC" else wanted
        session.last_cursor = session.last_cursor + 2 if session.last_cursor else _FIRST_ID
        columns = [column.result() for column in plan.columns]
        if kind == KEYSET:  # a row that is gone meanwhile comes as NULLs
            columns = [replace(column, nullable=True) for column in columns]
        cursor = ApiCursor((*columns, _ROWSTAT), tuple(rows), kind, plan, tuple(given))
        first: list[tuple[Any, ...]] = []
        if _number(opening.scroll, 0) & _AUTO_FETCH:
            cursor, _ = _moved(cursor, NEXT, 0, _number(opening.count, 0) or _BUFFER)
            first = [(*row.values, _ROW_FETCHED) for row in _in_buffer(cursor)]
        session.api_cursors[session.last_cursor] = cursor
        session.result(list(cursor.columns), first)
        session.done(SELECT_DONE, len(first))
        _give(opening.cursor, session.last_cursor)
        _give(opening.scroll, kind)
        _give(opening.concurrency, READ_ONLY)
        _give(opening.count, len(rows) if kind in _SCROLLING else -1)

    frame = call_program(session, program, values, next_pc)
    frame.outputs.append((slot, opened))
    frame.on_return = on_return
    return SWITCH


def _directly(
    session: Session,
    opening: _Opening,
    prepared: Prepared,
    values: list[Argument],
    on_return: OnReturn,
    next_pc: int | None,
) -> int:
    """No cursor can be opened on it: run it as it is where the client allows, else 16937."""
    if not _number(opening.concurrency, READ_ONLY) & _ALLOW_DIRECT:
        raise SqlError(16937)
    note = SqlError(16954)
    session.sink.message(Message(note.number, note.severity, 1, note.text, "", 1))
    program = text_program(session, prepared.text, prepared.definitions)
    frame = call_program(session, program, values, next_pc)
    frame.on_return = on_return
    for argument in (opening.cursor, opening.count):
        _give(argument, 0)
    return SWITCH


def _kind(scroll: int) -> int:
    """The cursor the client gets: what it asked for, or one it says it accepts instead."""
    if scroll & _AUTO_CLOSE:
        raise NotSupported("a server cursor with AUTO_CLOSE")
    kind = scroll & _KINDS or FORWARD_ONLY
    if kind in _ACCEPTS:
        return kind
    accepted = scroll if scroll & _CHECK_KINDS else 0
    for other in (KEYSET, STATIC, FAST_FORWARD, FORWARD_ONLY):
        if accepted & _ACCEPTS[other]:
            return other
    raise NotSupported(
        "a server cursor of type " + ("DYNAMIC" if kind == DYNAMIC else f"{kind:#x}")
    )


def _check_concurrency(concurrency: int) -> None:
    if concurrency & 0xF in {0, READ_ONLY}:
        return
    if concurrency & _CHECK_CONCURRENCIES and concurrency & _READ_ONLY_ACCEPTED:
        return
    names = "|".join(name for bit, name in _CONCURRENCIES.items() if concurrency & bit)
    raise NotSupported(f"a server cursor with concurrency {names}")


# ---------------------------------------------------------------------- the statement
def _statement(session: Session, prepared: Prepared) -> ast.SelectStatement | None:
    """The one plain SELECT a cursor can be opened on, None when the text is anything else."""
    options = session.options
    statements = session.instance.parse(prepared.text, options.quoted_identifier).statements
    return statements[0] if len(statements) == 1 and _cursorable(statements[0]) else None


def _cursor_program(session: Session, prepared: Prepared, requested: str) -> tuple[Program, int]:
    """A program that leaves (plan, rows, locals) in a local, and that local's slot."""
    key = (
        "cursor",
        requested,
        prepared.text,
        prepared.definitions,
        session.database.id,
        session.options.quoted_identifier,
    )
    known = session.instance.programs.get(key)
    if known is not None and known[0].database is session.database:
        return cast("tuple[Program, int]", known)
    batch = session.instance.parse(prepared.text, session.options.quoted_identifier)
    node = batch.statements[0]
    program = Program("", "", session.database, batch.source)
    compiler = ProgramCompiler(program, session)
    if prepared.definitions.strip():
        declare_parameters(compiler, parse_definitions(session, prepared.definitions))
    slot = compiler.declare(_RESULT, None)
    compiler.check_variables(node)
    options = CursorOptions(False, True, requested, "READ_ONLY", None, False)

    def compile_read(node: ast.SelectStatement, context: Context) -> Run:
        plan = compile_plan(node.query, options, context)

        def run(session: SessionState, variables: list[Any]) -> None:
            given = variables[:]
            variables[slot] = (plan, plan.read(session, given), given)

        return run

    step = lazy_step(
        program, compiler.here(), node, compile_read, compiler.context, touches_data(node)
    )
    compiler.emit(node, step, names_objects(node))
    compiler.finish()
    session.instance.programs.put(key, (program, slot))
    return program, slot


def _cursorable(node: ast.Statement) -> TypeGuard[ast.SelectStatement]:
    if not isinstance(node, ast.SelectStatement) or node.query.for_ is not None:
        return False
    body = node.query.body
    return not isinstance(body, ast.Select) or (
        body.into is None and all(item.variable is None for item in body.items)
    )


# ---------------------------------------------------------------------- fetching
def _find(session: Session, arguments: list[Argument], procedure: str) -> tuple[int, ApiCursor]:
    expect(arguments, procedure, "@cursor")
    number = _number(arguments[0], 0)
    found = session.api_cursors.get(number)
    if found is None:
        raise SqlError(16909, procedure, number & 0xFFFFFFFF)
    return number, found


def sp_cursorfetch(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_cursorfetch cursor [, fetchtype [, rownum [, nrows]]]; status 2 when a move was adjusted.

    Raises 16909 for an unknown cursor, 16911 for a move backwards in a forward-only one.
    """
    number, cursor = _find(session, arguments, "sp_cursorfetch")
    arguments = cast("list[Argument]", [*arguments, *[None] * 4][:4])
    fetch = _number(arguments[1], NEXT) & ~_SKIP_CHECK
    if fetch == INFO:
        inside = cursor.size > 0
        _give(arguments[2], cursor.start if inside else 0)
        _give(arguments[3], len(cursor.rows))
        status = _SUCCEEDED
    else:
        if cursor.kind not in _SCROLLING and fetch in _FETCHES:
            raise SqlError(16911, "sp_cursorfetch", _FETCHES[fetch])
        count = _number(arguments[3], _BUFFER)
        if count < 0:
            raise SqlError(16902, "sp_cursorfetch", "nrows")
        cursor, status = _moved(cursor, fetch, _number(arguments[2], 0), count)
        rows = in_work(session, lambda: _buffer(session, cursor))  # first of all: it may wait
        session.api_cursors[number] = cursor
        session.fetch_status = 0 if rows else -1
        session.result(list(cursor.columns), rows)
        session.done(SELECT_DONE, len(rows))
    if on_return is not None:
        on_return(session, status)


def _in_buffer(cursor: ApiCursor) -> tuple[Row, ...]:
    first = cursor.start - 1
    return cursor.rows[first : first + cursor.size]


def _buffer(session: Session, cursor: ApiCursor) -> list[tuple[Any, ...]]:
    """The rows of the fetch buffer; those of a KEYSET as they are now, a missing one as NULLs."""
    plan = cursor.plan
    if cursor.kind != KEYSET or plan is None or plan.by_keys is None:
        return [(*row.values, _ROW_FETCHED) for row in _in_buffer(cursor)]
    plan.check_tables(session)
    missing = (*[None] * len(plan.columns), _ROW_MISSING)
    now = [plan.by_keys(session, list(cursor.locals), row.keys) for row in _in_buffer(cursor)]
    return [missing if row is None else (*row.values, _ROW_FETCHED) for row in now]


def _moved(cursor: ApiCursor, fetch: int, row: int, count: int) -> tuple[ApiCursor, int]:
    """The cursor with another buffer, and the return status.

    A move that would end before the first row although the old buffer was behind it stops at the
    first row instead; PREV_NOADJUST gives the rows in between.
    """
    last, start = len(cursor.rows), cursor.start
    status = _SUCCEEDED
    if fetch == NEXT:
        wanted = start + cursor.size
    elif fetch == FIRST:
        wanted = 1
    elif fetch == LAST:
        wanted = max(1, last - count + 1) if count else last + 1
    elif fetch == REFRESH:
        return cursor, status
    elif fetch in {PREV, PREV_NOADJUST}:
        wanted = start - count
        if wanted < 1 and fetch == PREV_NOADJUST:
            count, wanted = start - 1, 1
    elif fetch == ABSOLUTE:
        wanted = row if row >= 0 else last + 1 + row
    elif fetch == RELATIVE:
        wanted = start + row
    else:
        raise SqlError(16902, "sp_cursorfetch", "fetchtype")
    if wanted < 1:
        before = (fetch == ABSOLUTE and row == 0) or (fetch != ABSOLUTE and start <= 1)
        if before:
            return replace(cursor, start=1, size=0), status
        wanted, status = 1, _ADJUSTED
    wanted = min(wanted, last + 1)
    return replace(cursor, start=wanted, size=max(0, min(count, last + 1 - wanted))), status


# ---------------------------------------------------------------------- the rest
def sp_cursorclose(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_cursorclose cursor."""
    number, _cursor = _find(session, arguments, "sp_cursorclose")
    del session.api_cursors[number]
    if on_return is not None:
        on_return(session, 0)


def sp_cursoroption(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """sp_cursoroption cursor, code, value: SCROLLOPT, CCOPT and ROWCOUNT are told (OUTPUT)."""
    _, cursor = _find(session, arguments, "sp_cursoroption")
    expect(arguments, "sp_cursoroption", "@cursor", "@code", "@value")
    code = _number(arguments[1], 0)
    answers = {
        4: cursor.kind,
        5: READ_ONLY,
        6: len(cursor.rows) if cursor.kind in _SCROLLING else -1,
    }
    if code in answers:
        _give(arguments[2], answers[code])
    elif code != 3:  # TEXTDATA: values themselves and no text pointers, as always here
        names = {1: "TXTPTR_ONLY", 2: "CURSOR_NAME"}
        raise NotSupported(f"sp_cursoroption with {names.get(code, code)}")
    if on_return is not None:
        on_return(session, 0)


def sp_cursor(
    session: Session, arguments: list[Argument], on_return: OnReturn, _: int | None
) -> None:
    """Positioned changes: every cursor here is READ ONLY (16929)."""
    _find(session, arguments, "sp_cursor")
    raise SqlError(16929)


CURSOR_PROCEDURES = {
    "sp_cursor": sp_cursor,
    "sp_cursoropen": sp_cursoropen,
    "sp_cursorprepare": sp_cursorprepare,
    "sp_cursorexecute": sp_cursorexecute,
    "sp_cursorprepexec": sp_cursorprepexec,
    "sp_cursorfetch": sp_cursorfetch,
    "sp_cursoroption": sp_cursoroption,
    "sp_cursorclose": sp_cursorclose,
}
