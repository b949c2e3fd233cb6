"""A large result in portions: rows go out while the rest is still to be read.

A SELECT of one stored table that neither sorts nor groups nor counts reads so many rows along its
index, sends them, and is the statement that runs next again, behind the last key. Between two
portions others have their turn. What it needs is kept as a server keeps it: the transaction, the
lock on the table, and under READ_COMMITTED_SNAPSHOT the moment at which it began; locks on rows it
is through with are given back (READ COMMITTED) or stay (REPEATABLE READ and above).

Only where a client reads along (``Sink.streams``): in process a statement is one step as ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SELECT_DONE
from redial_broker.exec.completions import captured
from redial_broker.exec.query.bodies import Choice
from redial_broker.exec.query.compile import QueryCompiler

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.engine.types import ResultColumn
    from redial_broker.exec.closures import Projection, Rows, Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.query.blocks import Block
    from redial_broker.exec.query.rowset import Rowset
    from redial_broker.exec.query.sources import Source
    from redial_broker.exec.session import SessionState

differs(
    "row streams",
    "The first rows of a large SELECT go out while the rest is read where it reads one stored table "
    "row after the other. Joins, functions and derived tables are read to their end first, as "
    "everything that sorts or groups is on a server too.",
)

PORTION = 4096
"""Rows of one portion; a table of fewer is read in one go."""


def streamed_table(rowset: Rowset) -> Table | None:
    """The table a query reads one row after the other, None where it does more than that."""
    block: Block | None = rowset.body.block if rowset.body is not None else None
    if block is None or not _plain(block):
        return None
    (source,) = block.from_.sources
    if source.table is None or source.slot >= 0 or source.stored.temporary:
        return None
    return source.stored


def _plain(block: Block) -> bool:
    paths = block.from_.paths
    return (
        len(block.from_.sources) == 1
        and len(paths) == 1
        and not paths[0].backwards
        and not any(len(sarg.values) > 1 for sarg in paths[0].equal)
        and block.whole
        and not (block.sort or block.select.distinct or block.group or block.windows.found)
        and not (block.memo or block.base or block.having)
    )


def goes_in_portions(session: SessionState, table: Table) -> bool:
    """Whether a client reads along, and there are enough rows to make it worth while."""
    return (
        session.sink.streams
        and len(table.rows.entries) > PORTION
        and not session.options.rowcount
        and not captured(session)
    )


@dataclass(slots=True)
class Portions:
    """The plan of a query that is read in portions."""

    block: Block
    source: Source
    columns: list[ResultColumn]
    read: Rows
    project: Projection

    def begin(self, session: SessionState, variables: Values) -> int | None:
        """Send the columns and the first portion."""
        stream = Stream(self, None, 0)
        found = stream.read(session, variables)
        session.sink.columns(self.columns)
        return stream.send(session, variables, found)


def compile_portions(
    query: ast.Query, context: Context, columns: list[ResultColumn]
) -> Portions | None:
    """The plan; None where another index would be read than one row after the other."""

    def choose(node: ast.Node, source: Source) -> Choice:
        source.after = True
        return Choice(write=False)

    block = QueryCompiler(context).block(query, context.scope, choose, PORTION)
    if block is None or len(block.from_.sources) != 1 or len(block.from_.paths) != 1:
        return None
    if block.from_.paths[0].backwards or block.sort:
        return None
    source = block.from_.sources[0]
    return Portions(block, source, columns, block.source_rows(), block.project())


@dataclass(slots=True)
class Stream:
    """A result that is under way; the session holds it between two portions."""

    plan: Portions
    place: tuple[Any, ...] | None
    """The key, in the index that is read, of the last row sent."""
    sent: int

    def read(self, session: SessionState, variables: Values) -> list[RowValues]:
        """The next rows of the table, with their keys. Raises Wait; nothing of it was sent."""
        return self.plan.read(session, [*variables, self.place], ())

    def go_on(self, session: SessionState, variables: Values) -> int | None:
        """Read and send the next portion."""
        return self.send(session, variables, self.read(session, variables))

    def send(self, session: SessionState, variables: Values, found: list[RowValues]) -> int | None:
        """Send rows; where there may be more the statement goes on, else it is over."""
        project, row = self.plan.project, session.sink.row
        rows: list[RowValues] = []
        try:
            for item in found:
                rows.append(project(session, variables, item))
        except SqlError as error:
            error.sent = self.sent + len(rows)
            raise
        finally:
            for values in rows:
                row(values)
        sent = self.sent + len(rows)
        if len(found) < PORTION:
            session.portions = None
            session.done(SELECT_DONE, sent)
            return None
        session.portions = Stream(self.plan, self._place(found[-1]), sent)
        self._keep(session)
        return session.frames[-1].pc

    def _place(self, item: RowValues) -> tuple[Any, ...]:
        source, number = self.plan.source, self.plan.block.from_.paths[0].number
        start = source.offset
        at = start + len(source.columns)
        key: tuple[Any, ...] = item[at]
        if not number:
            return key
        table = source.stored
        place: tuple[Any, ...] = table.index_key(table.indexes[number - 1], key, item[start:at])
        return place

    def _keep(self, session: SessionState) -> None:
        """Rows read under READ COMMITTED are let go, the table is not."""
        transaction, table = session.transaction, self.plan.source.stored
        assert transaction is not None
        if session.database.options["rcsi"]:
            session.engine.transactions.versions.hold_statement(transaction)
        kept = [key for key in transaction.short_locks if key == table.lock_key]
        transaction.short_locks = [key for key in transaction.short_locks if key not in kept]
        session.engine.locks.release_short(transaction)
        transaction.short_locks = kept
