"""Trouble of the server that a test arranges: a full disk, a full log, no memory, a filegroup that
is READ_ONLY.

``begin`` and ``end`` say from when to when; statements of a database in trouble are compiled anew
and then fail with the server's number (errors-events pages of 701, 1105 and 9002; F-487). What
needs no space goes on when the disk is full: RECEIVE, DELETE, UPDATE. A full log stops everything
that changes a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import BATCH, STATEMENT, SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.types import MAX
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

differs(
    "a full disk, a full log, no memory",
    "They come when a test says so (``redial_broker.exec.trouble``), to statements that write; "
    "what the broker delivers by itself is never in trouble.",
)

DATA_FULL, LOG_FULL, NO_MEMORY, READ_ONLY_FILEGROUP, TOO_LONG = 1105, 9002, 701, 652, 7139
"""Kinds of trouble, by the number of their error."""

_GROWS = (ast.Insert, ast.Merge, ast.Send, ast.BeginDialog, ast.EndConversation)
"""What needs new space in a data file."""
_ROWS = (ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.TruncateTable)
_WRITES = (
    *_ROWS,
    ast.BeginDialog,
    ast.BeginTimer,
    ast.EndConversation,
    ast.MoveConversation,
    ast.Receive,
    ast.Send,
)
"""What writes to the log."""
_MESSAGES = "sys.sysdesend"
"""The table that a message needs space in."""
_STRUCK = {
    DATA_FULL: _GROWS,
    LOG_FULL: _WRITES,
    NO_MEMORY: _WRITES,
    READ_ONLY_FILEGROUP: _ROWS,
    TOO_LONG: (),
}


@definition()
@dataclass(frozen=True, slots=True)
class Trouble:
    """What a database suffers from."""

    number: int
    """Of the error: one of the kinds above."""
    tables: frozenset[str] = frozenset()
    """Only these are in the full or READ_ONLY filegroup, as schema.name in lower case; none: all,
    and the queues as well."""
    longest: int = 0
    """Of TOO_LONG: a value of more bytes is refused."""
    room: int = 0
    """Of LOG_FULL: there is room for a RECEIVE of so many rows, and for all else; 0: for nothing."""


def begin(
    database: Database,
    number: int,
    tables: Collection[str] = (),
    longest: int = 65_536,
    room: int = 0,
) -> None:
    """The trouble begins. tables: schema.name of those in the filegroup, or of those that are published;
    none: the whole database. longest: max text repl size, where that is the trouble. room: where the log
    is not quite full, for a RECEIVE of so many rows.

    Raises ValueError for a number that is no trouble, or a log or memory of single tables.
    """
    if number not in _STRUCK:
        raise ValueError(f"trouble {number}: there are {', '.join(map(str, _STRUCK))}")
    if tables and number in {LOG_FULL, NO_MEMORY}:
        raise ValueError(f"trouble {number}: log and memory are not those of single tables")
    _put(database, Trouble(number, frozenset(name.lower() for name in tables), longest, room))


def end(database: Database) -> None:
    """Somebody has made room."""
    _put(database, None)


def _put(database: Database, found: Trouble | None) -> None:
    database.engine.journal.assign(None, database, "trouble", found)
    for other in database.server.databases.values():
        other.bump()


def guarded(run: Any, node: ast.Node, session: SessionState, database: Database) -> Any:
    """The statement's run, failing instead where what it writes to is in trouble; a RECEIVE that finds
    nothing writes nothing."""
    if isinstance(node, ast.WaitForStatement):
        node = node.statement
    if not isinstance(node, _WRITES):
        return run
    home, full = _where(node, session, database)
    if home is None or home.trouble is None:
        return run
    trouble = home.trouble
    if not isinstance(node, ast.Receive if trouble.room else _STRUCK[trouble.number]):
        return run
    if full is None or (trouble.tables and full.lower() not in trouble.tables):
        return run
    number = trouble.number
    shown: tuple[str, ...] = {
        DATA_FULL: (full, home.name),
        LOG_FULL: (home.name,),
        NO_MEMORY: ("default",),
        READ_ONLY_FILEGROUP: (full,),
    }[number]

    def fail(session: SessionState, variables: Values) -> None:
        if isinstance(node, ast.Receive):
            run(session, variables)
            if session.rowcount <= trouble.room:
                return
        dooms = value(session.engine, "server_trouble_dooms")
        raise SqlError(number, *shown, aborts=BATCH if dooms else STATEMENT)

    return fail


def disk_full(session: SessionState) -> SqlError | None:
    """The error of the statement that a session is at, were the disk full now; None where it needs no
    space in a database of its own."""
    frame = session.frames[-1]
    node = frame.program.infos[frame.pc].node
    if not isinstance(node, _GROWS):
        return None
    home, full = _where(node, session, frame.program.database)
    if home is None or full is None:
        return None
    dooms = value(session.engine, "server_trouble_dooms")
    return SqlError(DATA_FULL, full, home.name, aborts=BATCH if dooms else STATEMENT)


def length_check(table: Table) -> Callable[[RowValues], None] | None:
    """Refuses a row with a value that is longer than max text repl size; None: there is no such trouble."""
    database = table.database
    trouble = getattr(database, "trouble", None)
    if database is None or trouble is None or trouble.number != TOO_LONG:
        return None
    if trouble.tables and table.full_name.lower() not in trouble.tables:
        return None
    places = [i for i, column in enumerate(table.columns) if column.type.length == MAX]
    longest: int = trouble.longest
    engine: Any = getattr(database, "engine", None)

    def refuse(row: RowValues) -> None:
        for i in places:
            found = row[i]
            size = len(found) * (1 if isinstance(found, bytes) else 2) if found is not None else 0
            if size > longest:
                dooms = value(engine, "server_trouble_dooms")
                raise SqlError(TOO_LONG, size, longest, aborts=BATCH if dooms else STATEMENT)

    return refuse


def _where(
    node: ast.Node, session: SessionState, database: Database
) -> tuple[Database | None, str | None]:
    """The database that a statement writes to and the table there; None for one of the session's own."""
    name = _target(node)
    if name is None:  # a table variable: tempdb has room of its own
        return (None, None) if isinstance(node, _ROWS) else (database, _MESSAGES)
    databases = database.server.databases if database.server is not None else {}
    home = databases.get(name.database.lower()) if name.database else database
    return home, _full_name(name, home, session) if home is not None else None


def _target(node: ast.Node) -> ast.ObjectName | None:
    """The table a statement writes to; None for a table variable or a verb of Service Broker."""
    if isinstance(node, ast.TruncateTable):
        return node.name
    found = getattr(node, "target", None)
    return found if isinstance(found, ast.ObjectName) else None


def _full_name(name: ast.ObjectName, home: Database, session: SessionState) -> str | None:
    """schema.name of a table; None for a #table or a name that is no table's."""
    if name.name.startswith("#"):
        return None
    item = home.resolve(name.schema, name.name, session)
    return None if item is None else f"{item.schema}.{item.name}"
