"""How the end of a module, and of a statement whose error is caught, is told (F-521, F-534, F-535)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.errors import STATEMENT, SqlError
from redial_broker.exec.completions import command, counts, tell, tell_call, tells
from redial_broker.exec.program import Frame

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

TERMINATED_NOTE = frozenset({515, 547, 1222, 2601, 2627, 2628, 8115, 8152})
"""Statement errors after which the server adds 3621, "The statement has been terminated."; after
those of a data change it always does, after those of a SELECT never (F-524)."""

DUPLICATE = 1505
"""A duplicate key found by CREATE UNIQUE INDEX or a constraint: 3621 although the batch ends."""

NO_ERROR = 10
"""Highest severity of what is no error, from which return statuses are counted."""

CHANGES = (ast.Insert, ast.Update, ast.Delete, ast.Merge)
"""Statements that change data; in them @@TRANCOUNT counts one more (F-525)."""

CALLS = (ast.ExecuteProcedure, ast.ExecuteString)
"""Statements whose errors are the callee's: they are not in their own frame's status (F-521)."""


def return_status(session: SessionState, frame: Frame) -> int:
    """What RETURN gave; without a value 10 minus the severity of the worst error.

    Of dynamic text it is @@ERROR (F-521).
    """
    if not frame.program.object_id:
        return session.error
    if frame.status is not None:
        return int(frame.status)
    return NO_ERROR - frame.severity if frame.severity > NO_ERROR else 0


def tell_left(session: SessionState, frame: Frame, failed: bool | None = None) -> None:
    """A module was left: its EXECUTE is over. failed: an error has left it, told or caught."""
    if not session.frames or not tells(session):
        return
    if called(session):
        status = return_status(session, frame) if failed is None else None
        tell_call(session, status, bool(failed))


def called(session: SessionState) -> bool:
    """Whether an EXECUTE has pushed the frame that was just left."""
    caller = session.frames[-1]
    return isinstance(caller.program.infos[caller.pc - 1].node, CALLS)


def tell_caught(session: SessionState, error: SqlError) -> None:
    """A statement whose error is caught ends like any other, without rows (F-534)."""
    frame = session.frames[-1]
    node = frame.program.infos[frame.pc].node
    if isinstance(node, CALLS):
        tell_call(session, None)
    elif counts(node) and not error.compiling:
        rows = error.sent if error.sent and isinstance(node, ast.SelectStatement) else 0
        session.done(command(node), rows)
    elif not error.compiling and tells(session):
        tell(session, command(node))
    session.rowcount = 0


def terminates(error: SqlError, node: ast.Node | None, ends: bool) -> bool:
    """Whether 3621 follows (F-524). ends: the batch ends."""
    if DUPLICATE in {error.number, *(part.number for part in error.before)}:
        return True
    if ends or error.aborts != STATEMENT or error.compiling or error.raised:
        return False
    if isinstance(node, ast.SelectStatement):
        return False
    return isinstance(node, CHANGES) or error.number in TERMINATED_NOTE
