"""What of a session goes into the state hash: all that decides how it goes on, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.ids import TransactionNumber
from redial_broker.engine.journal import Part
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.program import Frame

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def session_content(session: SessionState) -> Any:
    """The content of a session, dead locals left out."""
    wait = session.wait
    return (
        [
            (
                frame.program.full_name,
                frame.pc,
                _live_values(frame, session.transaction),
                frame.handlers,
                frame.trancount,
            )
            for frame in session.frames
        ],
        session.trancount,
        session.auto,
        session.options.text,
        session.error,
        session.rowcount,
        session.login_name,
        session.sandbox[1].name if session.sandbox else "",
        [info.number for info in session.error_stack],
        (wait.kind, str(wait.resource.key) if wait.kind == "lock" else str(wait.what))
        if wait is not None
        else None,
        session.pending.number if session.pending else 0,
        session.expired,
        session.guids,
        session.transaction.hash() if session.transaction else None,
        session.fetch_status if session.cursors else None,
        [_cursor_content(key, cursor) for key, cursor in session.cursors.items()],
    )


def _cursor_content(key: Any, cursor: Any) -> Any:
    """What decides what a cursor yields next: where it stands in what, its variables."""
    if not hasattr(cursor, "rows"):
        return key, cursor  # which one was opened last
    rows = None if cursor.rows is None else [(row.values, row.keys) for row in cursor.rows]
    current = None if cursor.current is None else (cursor.current.values, cursor.current.keys)
    known = [value for value in cursor.locals if not isinstance(value, Part)]
    return key, cursor.named, cursor.position, rows, current, known


def _live_values(frame: Frame, transaction: Transaction | None) -> list[tuple[int, Any]]:
    """The locals that can still be read; a table variable by its rows, a transaction's number by
    whether it is the running one's."""
    variables = frame.variables
    found = []
    for slot in sorted(frame.program.live(frame.pc)):
        value = variables[slot]
        if isinstance(value, Part):
            value = value.content()
        elif isinstance(value, TransactionNumber):
            running = transaction is not None and transaction.descriptor == value
            value = "this transaction" if running else repr(value)
        found.append((slot, value))
    return found
