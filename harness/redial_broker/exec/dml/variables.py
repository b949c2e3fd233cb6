"""Writing to table variables: no locks, no transaction, undone only within the statement.

Source: "table (Transact-SQL)" page: a rollback leaves table variables alone; a statement that
fails still changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.journal import MISSING, Journal
from redial_broker.engine.storage import Index, Table

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.transactions import Transaction


class VariableAccess:
    """The row access of table variables; takes the same calls as the engine's."""

    __slots__ = ("_done", "_journal")

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._done: list[tuple[Index, tuple[Any, ...], Any]] = []

    def insert(self, transaction: Transaction, table: Table, row: RowValues) -> tuple[Any, ...]:
        """Add a row; raises 2627 or 2601."""
        key = table.new_key(row)
        if key in table.rows.entries:
            raise table.duplicate(table.rows, row)
        for index in table.indexes:
            if (
                index.unique
                and (index.where is None or index.where(row))
                and table.index_key(index, key, row) in index.entries
            ):
                raise table.duplicate(index, row)
        self._put(table.rows, key, row)
        for index in table.indexes:
            if index.where is None or index.where(row):
                self._put(index, table.index_key(index, key, row), key)
        return key

    def delete(self, transaction: Transaction, table: Table, key: tuple[Any, ...]) -> None:
        """Take a row out."""
        row = table.rows.entries[key]
        self._put(table.rows, key, MISSING)
        for index in table.indexes:
            if index.where is None or index.where(row):
                self._put(index, table.index_key(index, key, row), MISSING)

    def update(
        self, transaction: Transaction, table: Table, key: tuple[Any, ...], row: RowValues
    ) -> None:
        """Replace a row; a heap's row keeps its place."""
        if table.clustered is None and not table.indexes:
            self._put(table.rows, key, row)
            return
        self.delete(transaction, table, key)
        self.insert(transaction, table, row)

    def undo(self) -> None:
        """Take back everything this statement has written."""
        while self._done:
            index, key, before = self._done.pop()
            self._journal.put(None, index, index.entries, key, before)

    def _put(self, index: Index, key: tuple[Any, ...], value: Any) -> None:
        self._done.append((index, key, index.entries.get(key, MISSING)))
        self._journal.put(None, index, index.entries, key, value)
