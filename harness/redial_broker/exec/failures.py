"""What an error does: it finds a CATCH block up the frames, or ends statement, batch or connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.broker_messages import BROKER_MESSAGES
from redial_broker.engine.errors import (
    BATCH,
    CONNECTION,
    SCOPE,
    THROWN,
    NotSupported,
    SqlError,
)
from redial_broker.engine.types import Message
from redial_broker.exec.completions import ENTER_CATCH, FAILED, command, tell, tell_call
from redial_broker.exec.outcomes import CALLS, tell_caught, tell_left, terminates
from redial_broker.exec.session_records import ErrorInfo
from redial_broker.exec.stack import unwind_frame
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial.tsql import ast
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.session import SessionState

DEAD_HANDLE = frozenset({8426, 8427, 8429})
"""Errors of verbs on a conversation that is over (F-131)."""

SEEN_STATES = frozenset({8433})
"""Errors of broker verbs whose state a source has seen."""


def _decide(session: SessionState, error: SqlError) -> None:
    """What no page says of a broker verb's error: its state, and whether it dooms."""
    if error.number not in SEEN_STATES and error.state == 1:
        error.state = value(session.engine, "broker_error_state")
    if error.number in DEAD_HANDLE and value(session.engine, "broker_error_dooms"):
        error.aborts = BATCH


def place(session: SessionState, error: SqlError) -> None:
    """Fill in where it happened. Once more changes nothing."""
    frame = session.frames[-1]
    info = frame.program.infos[frame.pc]
    if isinstance(error, NotSupported) and info.node is not None:
        error.place(frame.program.source.line_column(info.node.pos))
    if not error.line and not error.of_call:
        error.line = info.line
    if not error.procedure and frame.program.object_id:
        error.procedure = frame.program.name
    if error.number in BROKER_MESSAGES:
        _decide(session, error)


def fail(session: SessionState, error: SqlError) -> None:
    """The running statement failed: find a handler, or end what the error ends."""
    place(session, error)
    frame = session.frames[-1]
    info = frame.program.infos[frame.pc]
    if session.portions is not None:
        error.sent = session.portions.sent if error.sent is None else error.sent
        session.portions = None
    if not isinstance(info.node, CALLS):
        frame.severity = max(frame.severity, error.severity)
    session.lock_mark = max(session.lock_mark, ~session.lock_mark)
    session.undo_own_writes()
    session.end_statement()
    _undo_failed(session, error)
    session.error = error.number
    if error.severity < 20 and _catch(session, error):
        tell(session, ENTER_CATCH)
        return
    for part in (*error.before, error):
        session.sink.message(
            Message(part.number, part.severity, part.state, part.text, error.procedure, error.line)
        )
    _end_failed(session, error, info.node, info.resume)


def _undo_failed(session: SessionState, error: SqlError) -> None:
    transaction = session.transaction
    if transaction is None:
        return
    if error.number == 1205:
        # A deadlock victim's work and locks are gone at once; the count stays until ROLLBACK.
        _undo_all(session, transaction)
    elif session.auto:
        session.rollback()
    else:
        if len(transaction.undo) > session.mark:
            session.engine.journal.undo(transaction, session.mark)
        session.engine.transactions.end_statement(transaction)
        if value(session.engine, "failed_statement_locks") == "released":
            session.engine.locks.release_since(transaction, session.lock_mark)


def _undo_all(session: SessionState, transaction: Transaction) -> None:
    if session.auto:
        session.rollback()
        return
    session.engine.transactions.rollback(transaction)
    transaction.doomed = True


def _catch(session: SessionState, error: SqlError) -> bool:
    """Enter the innermost CATCH block that may see the error; False when there is none."""
    position = len(session.frames) - 1
    if error.compiling:
        position -= 1  # name resolution errors pass the TRY blocks of their own scope
    while position >= 0 and not session.frames[position].handlers:
        position -= 1
    if position < 0:
        return False
    # The setting where the error was raised decides: a procedure that has set XACT_ABORT ON (in
    # a trigger it is) dooms what is left (set-xact-abort). Whether the one where it is caught
    # does so too is unknown (F-400)
    strict = session.options.xact_abort
    tell_caught(session, error)
    while len(session.frames) - 1 > position:
        left = session.frames[-1]
        unwind_frame(session)
        if left.firing is None:
            tell_left(session, left, failed=False)
    frame = session.frames[-1]
    catch_pc, depth = frame.handlers.pop()
    del session.error_stack[depth:]
    session.error_stack.append(
        ErrorInfo(
            error.number,
            error.severity,
            error.state,
            error.procedure or None,
            error.line,
            error.text,
        )
    )
    frame.pc = catch_pc
    transaction = session.transaction
    strict = strict or (
        session.options.xact_abort
        and value(session.engine, "xact_abort_counts") == "raised or caught"
    )
    if transaction is not None and (error.aborts == BATCH or strict):
        session.engine.journal.save(transaction)
        transaction.doomed = True
    return True


def _end_failed(
    session: SessionState, error: SqlError, frame_node: ast.Node | None, resume: int
) -> None:
    if error.aborts == CONNECTION or error.severity >= 20:
        end_batch(session, rollback=True)
        session.instance.disconnect(session)
        return
    xact_abort = session.options.xact_abort and not error.raised and not error.compiling
    in_trigger = error.aborts == SCOPE and session.frames[-1].firing is not None
    ends = error.aborts in {BATCH, THROWN} or xact_abort or in_trigger
    if terminates(error, frame_node, ends):
        session.sink.message(
            Message(3621, 0, 0, "The statement has been terminated.", error.procedure, error.line)
        )
    begun = command(frame_node) if error.sent is not None else FAILED
    if error.aborts == BATCH or xact_abort or in_trigger:
        end_batch(session, rollback=True, begun=begun)
        return
    if error.aborts == THROWN:
        end_batch(session, rollback=False)
        return
    session.return_status = -6
    if error.aborts == SCOPE and len(session.frames) > 1:
        left = session.frames[-1]
        unwind_frame(session)
        if left.levels > 1 and left.on_return is not None:  # text has @@ERROR as its status
            left.on_return(session, error.number)
        tell_left(session, left, failed=True)
        return
    if error.aborts == SCOPE:
        end_batch(session, rollback=False, begun=begun)
        return
    if isinstance(frame_node, CALLS):
        tell_call(session, error.returns, True)
    elif not session.rpc or len(session.frames) > 1:  # a remote call ends with its own token
        inside = len(session.frames) > 1
        session.sink.done(FAILED if error.compiling else command(frame_node), None, True, inside)
    session.rowcount = 0
    session.frames[-1].pc = resume


def end_batch(session: SessionState, *, rollback: bool, begun: int = FAILED) -> None:
    """End the whole batch after an error: every frame goes, the transaction too if asked.

    begun: what the failed statement tells, whose result set has begun.
    """
    while session.frames:
        unwind_frame(session)
    session.error_stack.clear()
    if rollback and session.transaction is not None:
        session.rollback()
    if not session.rpc:  # a remote call ends with its own token
        session.sink.done(begun, None, True)


def settle(session: SessionState) -> None:
    """End of a request: a doomed transaction is rolled back with 3998."""
    if session.transaction is not None and session.transaction.doomed:
        session.rollback()
        error = SqlError(3998)
        session.sink.message(Message(3998, error.severity, error.state, error.text, "", 1))
        if not session.rpc:
            session.sink.done(FAILED, None, True)
