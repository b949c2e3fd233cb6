"""How a frame ends: it is left at its end, or unwound by an error. ``Machine.call`` begins it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.exec.cursor_references import drop_references, hand_over
from redial_broker.exec.outcomes import called, return_status, tell_left
from redial_broker.exec.program import Frame
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def leave_frame(session: SessionState) -> None:
    """The current frame has reached its end: hand results back, undo its SET options. Raises 266."""
    frame = session.frames.pop()
    if len(session.error_stack) > frame.errors:
        del session.error_stack[frame.errors :]
    if session.frames:
        session.options = frame.saved_options
        frame.restore_caller(session)
    if session.cursors and frame.outputs:
        hand_over(session, frame)
    for slot, give in frame.outputs:
        give(frame.variables[slot])
    if session.cursors or session.temp_tables:
        _drop_locals(session, frame)
    if frame.on_return is not None:
        frame.on_return(session, return_status(session, frame))
    if frame.firing is not None:
        _leave_trigger(session, frame.firing)
        return
    # IMPLICIT_TRANSACTIONS: what the first statement inside opened stays open, no 266 (F-137)
    implicit = (
        frame.trancount == 0
        and session.options.implicit_transactions
        and not value(session.engine, "implicit_transactions_266")
    )
    if not session.frames or session.trancount == frame.trancount or implicit:
        tell_left(session, frame)
        return
    error = SqlError(266, frame.trancount, session.trancount, state=2)
    error.procedure, error.of_call = frame.program.name, True
    if frame.levels > 1:  # sp_executesql and its kin return @@ERROR, behind the message
        error.returns = error.number
        if frame.on_return is not None:
            frame.on_return(session, error.number)
    elif len(session.frames) == 1 and called(session):
        session.sink.call_status(return_status(session, frame))
    _next_pc_back(session)
    raise error


def _leave_trigger(session: SessionState, firing: Any) -> None:
    """A trigger is over: the next one starts, or its statement ends, or fails as a whole."""
    error = firing.left(session)
    if error is not None:
        firing.abandon(session)
        _next_pc_back(session)
        raise error


def _next_pc_back(session: SessionState) -> None:
    """The caller's counter already points behind the EXEC; an error belongs to the EXEC."""
    session.frames[-1].pc -= 1


def _drop_locals(session: SessionState, frame: Frame) -> None:
    """Local cursors and the module's own #temp tables end with the frame."""
    cursors = session.cursors
    if not session.temp_tables and (not cursors or (len(cursors) == 1 and "@@" in cursors)):
        return  # "@@" alone names the cursor opened last, which is gone
    depth = len(session.frames) + 1
    for name, cursor in list(session.cursors.items()):
        if getattr(cursor, "frame", None) is frame:
            del session.cursors[name]
    drop_references(session, frame.variables)
    for name, table in list(session.temp_tables.items()):
        if getattr(table, "depth", 0) == depth and depth > 1:
            if table.shadowed is not None:
                session.temp_tables[name] = table.shadowed
            else:
                del session.temp_tables[name]


def unwind_frame(session: SessionState) -> None:
    """Leave a frame because of an error: no output values, no return status."""
    frame = session.frames.pop()
    if session.frames:  # what a client's own batch has set stays, error or not
        session.options = frame.saved_options
        frame.restore_caller(session)
    _drop_locals(session, frame)
    if frame.firing is not None:
        frame.firing.abandon(session)
