"""What of a session goes into the state hash: all that decides how it goes on, and no more.

Each function shows one of its fields (``SessionState.STATE`` says which).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from redial_broker.engine.ids import TransactionNumber
from redial_broker.engine.journal import Part
from redial_broker.engine.state import plain
from redial_broker.engine.storage import Table
from redial_broker.engine.switches import silent
from redial_broker.exec.program import Frame

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.database import Database
    from redial_broker.exec.dml.firing import Firing
    from redial_broker.exec.options import Options
    from redial_broker.exec.principals import Principal
    from redial_broker.exec.session import SessionState

# Any below: contents are for the hash only.


def frames(session: SessionState) -> Any:
    """What it runs and where it stands there; of the locals those that can still be read."""
    transaction = session.transaction
    return [
        (
            frame.content(),
            live_values(frame, transaction),
            None if frame.firing is None else _firing(frame.firing),
        )
        for frame in session.frames
    ]


def saved_frames(frames: list[Frame]) -> list[tuple[Frame, Any]]:
    """Frames with what they are at this moment."""
    return [(frame, frame.memento()) for frame in frames]


def restored_frames(saved: list[tuple[Frame, Any]]) -> list[Frame]:
    """The same frames as they were then."""
    for frame, memento in saved:
        frame.restore(memento)
    return [frame for frame, _ in saved]


def live_values(frame: Frame, transaction: Transaction | None) -> list[tuple[int, Any]]:
    """The locals that can still be read; a table variable by its rows, a transaction's number by
    whether it is the running one's."""
    variables = frame.variables
    found = []
    for slot in sorted(frame.program.live(frame.pc)):
        value = variables[slot]
        if isinstance(value, Table):
            value = value.shown_rows()
        elif isinstance(value, TransactionNumber):
            running = transaction is not None and transaction.descriptor == value
            value = "this transaction" if running else repr(value)
        found.append((slot, value))
    return found


def _firing(firing: Firing) -> Any:
    """A statement whose triggers run, and what runs after them. The rows its triggers see are
    locals of their frames; those of the triggers to come are shown here."""
    then = firing.then
    rows = [] if then is None else [image.shown_rows() for image in then.images]
    return plain(firing), rows, None if then is None else _firing(then)


def pending(session: SessionState) -> Any:
    """The error its statement fails with when it goes on."""
    error = session.pending
    if error is None:
        return None
    said = (error.number, error.severity, error.state, error.text)
    return (
        said,
        error.aborts,
        error.compiling,
        error.raised,
        error.of_call,
        error.returns,
        [part.text for part in error.before],
    )


def wait(session: SessionState) -> Any:
    """What it waits for."""
    found = session.wait
    if found is None:
        return None
    if found.kind == "lock":
        return found.kind, str(found.resource.key), found.request.mode, found.quiet
    return found.kind, str(found.what)


def since(session: SessionState) -> float | None:
    """When its wait began."""
    return session.wait.since if session.wait is not None else None


def transaction(session: SessionState) -> bytes | None:
    """Its transaction, which is a part of its own."""
    found = session.transaction
    return None if found is None else found.digest or found.hash()


def waiting_locks(session: SessionState) -> int:
    """How many locks its statement had when it began, where that statement waits and gives the
    later ones back when it fails."""
    if silent(session.engine, "failed_statement_locks") != "released":
        return 0
    return min(session.lock_mark, 0)


def seen(session: SessionState) -> Any:
    """What the statement it is inside of has read so far."""
    return repr(session.seen) if session.seen else None


def temporary_tables(tables: dict[str, Table]) -> Any:
    """#tables with their rows."""
    return [(name, table.shown()) for name, table in sorted(tables.items())] if tables else None


def cursors(session: SessionState) -> Any:
    """What each cursor yields next, and which was opened last."""
    found = session.cursors
    if not found:
        return None
    return [(key, _cursor(session, cursor)) for key, cursor in found.items()]


def _cursor(session: SessionState, cursor: Any) -> Any:
    if not hasattr(cursor, "rows"):
        return cursor  # the key of the one opened last
    depth = next((n for n, frame in enumerate(session.frames) if frame is cursor.frame), None)
    return depth, plain(cursor), [_local(value) for value in cursor.locals]


def _local(value: Any) -> Any:
    if isinstance(value, Table):
        return value.shown_rows()
    return value.digest if isinstance(value, Part) else value


def capture(session: SessionState) -> Any:
    """What INSERT ... EXECUTE has caught so far."""
    found = session.insert_exec
    return None if found is None else plain(found)


def options(found: Options) -> bytes:
    """All SET options in one word."""
    return found.word


def sandbox(found: tuple[Database, Principal] | None) -> Any:
    """The database whose user it acts as, and nowhere else."""
    return (found[0].name, principal(found[1])) if found is not None else None


@lru_cache(maxsize=1024)
def principal(found: Principal | None) -> Any:
    """A user as the session knows it: what was altered since is in its database only."""
    return plain(found)


def database(found: Database | None) -> str:
    """By its name."""
    return found.name if found is not None else ""


def sink(session: SessionState) -> Any:
    """What a background session's knows of it; a client's sink is a part of its own."""
    return session.sink.content() if isinstance(session.sink, Part) and session.background else None
