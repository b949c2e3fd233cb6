"""UPDATE and DELETE ... WHERE CURRENT OF: the row a cursor stands on.

Source: pages of UPDATE, DELETE and DECLARE CURSOR; 16929 to 16934 and 16947. An optimistic cursor
compares the rowversion, or the whole row where there is none, with what it read (the server
compares a checksum then).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.cursor_options import OPTIMISTIC, READ_ONLY
from redial_broker.exec.cursors import cursor_slot, find
from redial_broker.exec.dml.targets import Target
from redial_broker.exec.query.reading import reread
from redial_broker.exec.query.sources import Source

MODIFIED = "Optimistic concurrency check failed. The row was modified outside of this cursor."

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.context import Context
    from redial_broker.exec.cursor_plans import Row
    from redial_broker.exec.session import SessionState


class Positioned:
    """The one row of a positioned change. names: of the columns it assigns to."""

    def __init__(
        self,
        where: ast.CurrentOf,
        source: Source,
        target: Target,
        names: list[str],
        context: Context,
    ) -> None:
        self.node = where.cursor
        self.slot = cursor_slot(where.cursor, context)
        self.source, self.target, self.names = source, target, [n.lower() for n in names]
        self.find_row = reread(source)

    def read(
        self, session: SessionState, variables: Values
    ) -> list[tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]]:
        """(row, key, old row), as the reader of any UPDATE or DELETE."""
        _, cursor = self._cursor(session, variables)
        row = cursor.current
        number = self._number(cursor, variables)
        if row is None or row.keys[number] is None:
            raise SqlError(16931)
        key = row.keys[number]
        now = self.find_row(session, variables, key)
        if now is None or (
            cursor.plan.concurrency == OPTIMISTIC
            and not _same(self.target.table, now, row.images[number])
        ):
            session.info(MODIFIED, 10, 16934)
            raise SqlError(16947)
        return [((*now, key), key, now)]

    def _cursor(self, session: SessionState, variables: Values) -> tuple[Any, Any]:
        key, cursor = find(session, variables, self.node, self.slot)
        if cursor.rows is None:
            raise SqlError(16917)
        if cursor.plan.concurrency == READ_ONLY:
            raise SqlError(16929)
        update = cursor.plan.options.update
        if update and not set(self.names) <= set(update):
            raise SqlError(16932)
        return key, cursor

    def _number(self, cursor: Any, variables: Values) -> int:
        """Which of the cursor's tables is changed. Raises 16933 when none is."""
        for number, source in enumerate(cursor.plan.sources):
            if not cursor.plan.direct[number]:
                continue  # the cursor names a view, not its table
            same = (
                source.slot == self.target.slot
                if self.target.slot >= 0
                else source.slot < 0 and source.table is self.target.table
            )
            if same:
                return number
        raise SqlError(16933)

    def changed(self, session: SessionState, variables: Values, new: RowValues) -> None:
        """The cursor has made this change itself: it stands on the new row."""
        key, cursor = self._cursor(session, variables)
        number, row = self._number(cursor, variables), cursor.current
        keys = list(row.keys)
        keys[number] = _key_of(self.target.at(variables), keys[number], new)
        images = [*row.images[:number], new, *row.images[number + 1 :]]
        moved = replace(row, keys=tuple(keys), images=tuple(images))
        session.cursors[key] = replace(cursor, current=moved, rows=_with(cursor.rows, row, moved))


def _same(table: Table, now: tuple[Any, ...], read: tuple[Any, ...]) -> bool:
    version = table.rowversion_column
    return now == read if version is None else now[version] == read[version]


def _key_of(table: Table, key: tuple[Any, ...], new: RowValues) -> tuple[Any, ...]:
    """The clustered key of the changed row."""
    clustered = table.clustered
    if clustered is None or not clustered.unique:
        return key
    return clustered.prefix(new)


def _with(rows: tuple[Row, ...], old: Row, new: Row) -> tuple[Row, ...]:
    """The rows of a keyset with a row's keys changed through the cursor."""
    if old.keys == new.keys:
        return rows
    return tuple(new if row.keys == old.keys else row for row in rows)
