"""What a client is told when a statement is over: the command code of its DONE token (F-534).

A statement that counts rows tells its end itself (``SessionState.done``). Of the others the machine
does: ``told`` says what, once for each place in a program. A statement that no recording shows tells
nothing, as far as it succeeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.types import SELECT_DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.exec.session import SessionState

ONE_ROW = 0x10000
"""Beside a command: it has a row count, of one row."""

CONDITION = 0xC0
"""IF, and each test of WHILE."""
SELECT_INTO = 0xC2
INSERT, DELETE, UPDATE, MERGE = 0xC3, 0xC4, 0xC5, 0x117
TRUNCATE = 0xEA
LEAVING_LOOP = 0xCA
RETURN = 0xDB
CALL = 0xE0
"""EXECUTE, and a remote procedure call."""
FAILED = 0xFD
"""A statement that was never begun, a batch that ended with an error, and one with no other end."""
ENTER_TRY, ENTER_CATCH, END_TRY = 0x15D, 0x15E, 0x15F
"""END_TRY ends either block, whichever was gone through to its end."""
BEGIN, COMMIT, ROLLBACK, SAVE = 0xD4, 0xD5, 0xD2, 0xD3

_SET_ON, _SET_OFF, _SET_VALUE = 185, 186, 249
_SET_VALUES = {"ROWCOUNT": 189, "TEXTSIZE": 190}
_STATISTICS = 188
_DROPS = {
    "TABLE": 199,
    "VIEW": 208,
    "PROCEDURE": 223,
    "FUNCTION": 179,
    "TRIGGER": 225,
    "DATABASE": 204,
}
_ALTER_TABLE = 216
_PROCEDURE = 222

_OF: dict[type, int] = {
    ast.SetIsolationLevel: _SET_VALUE,
    ast.If: CONDITION,
    ast.While: CONDITION,
    ast.Break: LEAVING_LOOP,
    ast.Continue: LEAVING_LOOP,
    ast.Print: 247,
    ast.RaiseError: 246,
    ast.Throw: 246,
    ast.WaitForDelay: 243,
    ast.WaitForTime: 243,
    ast.BeginTransaction: BEGIN,
    ast.Commit: COMMIT,
    ast.Rollback: ROLLBACK,
    ast.SaveTransaction: SAVE,
    ast.DeclareCursor: SELECT_DONE,
    ast.OpenCursor: 32,
    ast.CloseCursor: 43,
    ast.DeallocateCursor: 44,
    ast.CreateTable: 198,
    ast.AlterTableAdd: _ALTER_TABLE,
    ast.AlterTableDrop: _ALTER_TABLE,
    ast.AlterTableAlterColumn: _ALTER_TABLE,
    ast.AlterTableConstraints: _ALTER_TABLE,
    ast.AlterTableTriggers: _ALTER_TABLE,
    ast.AlterTableSet: _ALTER_TABLE,
    ast.CreateIndex: 200,
    ast.DropIndex: 201,
    ast.TruncateTable: TRUNCATE,
    ast.CreateDatabase: 203,
    ast.CreateView: 207,
    ast.CreateTrigger: 221,
    ast.CreateProcedure: _PROCEDURE,
    ast.CreateScalarFunction: _PROCEDURE,
    ast.CreateInlineFunction: _PROCEDURE,
    ast.CreateTableFunction: _PROCEDURE,
    ast.EnableTrigger: FAILED,
}


def _set_option(node: ast.SetOption) -> int:
    if "QUOTED_IDENTIFIER" in node.names:
        return 0
    if node.names[0].startswith("STATISTICS"):
        return _STATISTICS
    return _SET_ON if node.on else _SET_OFF


_FROM: dict[type, Callable[[Any], int]] = {
    ast.SetOption: _set_option,
    ast.SetVariable: lambda node: (
        SELECT_DONE if isinstance(node.value, ast.CursorDefinition) else SELECT_DONE | ONE_ROW
    ),
    ast.SetValue: lambda node: _SET_VALUES.get(node.name.upper(), _SET_VALUE),
    ast.SetIdentityInsert: lambda node: 183 if node.on else 184,
    ast.DropObject: lambda node: _DROPS.get(node.kind, 0),
    ast.FetchCursor: lambda node: 0 if node.into is None else SELECT_DONE,
}
"""Statements whose command depends on what they say."""

_COUNTED: dict[type, int] = {
    ast.SelectStatement: SELECT_DONE,
    ast.FetchCursor: SELECT_DONE,
    ast.Insert: INSERT,
    ast.Delete: DELETE,
    ast.Update: UPDATE,
    ast.Merge: MERGE,
}
"""Statements that tell their end themselves."""


def told(node: ast.Node | None) -> int:
    """What the machine tells when this statement has succeeded, 0 for nothing; see ONE_ROW."""
    kind = type(node)
    return _FROM[kind](node) if kind in _FROM else _OF.get(kind, 0)


def counts(node: ast.Node | None) -> bool:
    """Whether a statement counts rows, and so tells its end itself."""
    return type(node) in _COUNTED


def command(node: ast.Node | None) -> int:
    """What a statement tells that failed after it had begun."""
    return _COUNTED.get(type(node)) or told(node) & ~ONE_ROW or FAILED


# ---------------------------------------------------------------------- telling it
def tells(session: SessionState) -> bool:
    """Whether a client hears of statements that count no rows: in a module not with NOCOUNT."""
    return not session.options.nocount or len(session.frames) == 1


def tell(session: SessionState, what: int) -> None:
    """Tell the client that a statement is over, of which ``told`` says this."""
    inside, hushed = len(session.frames) > 1, session.options.nocount
    if (inside and hushed) or captured(session):
        return
    count = 1 if what & ONE_ROW and not hushed else None
    session.sink.told(what & ~ONE_ROW, count, inside)


def tell_call(session: SessionState, status: int | None, failed: bool = False) -> None:
    """Tell the client that an EXECUTE is over; the outermost one has a status.

    status: None where an error has left the module.
    """
    if captured(session):
        return
    if len(session.frames) == 1:
        session.sink.call_over(status, failed)
    elif failed:
        session.sink.done(CALL, None, True, True)
    elif not session.options.nocount:
        session.sink.told(CALL, None, True)


def captured(session: SessionState) -> bool:
    """INSERT .. EXECUTE takes what the call says."""
    capture = session.insert_exec
    return capture is not None and capture.active(session)
