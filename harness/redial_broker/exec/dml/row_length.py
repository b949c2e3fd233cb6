"""The greatest size of a row: 8,060 bytes on its page.

Source: "Maximum capacity specifications" and "Pages and extents architecture guide" pages (Row
overflow considerations). A column of variable length leaves 24 bytes behind when it moves to
another page, so only fixed columns make a table impossible (1701); a row is too long when it still
is with everything moved that can be (511). What a row takes beside its values (header 4, number of
columns 2, a bit per column, 2 and 2 per variable column) is that of the guide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.types import MAX, SqlType
from redial_broker.exec.conversion.rules import OLD_LARGE
from redial_broker.exec.ddl.type_facts import max_length

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues

MAXIMUM_ROW = 8060
_MOVED = 24
_VARIABLE = frozenset({"varchar", "nvarchar", "varbinary", "sql_variant", "xml"}) | OLD_LARGE


def _stored(columns: list[Column]) -> list[Column]:
    return [c for c in columns if c.computed is None or c.computed.persisted]


def _varies(column: Column) -> bool:
    return column.type.name in _VARIABLE or column.sparse


def _fixed(columns: list[Column]) -> int:
    """Bytes of the columns of fixed length; bits share a byte by eights."""
    fixed = [column.type for column in columns if not _varies(column)]
    bits = sum(of.name == "bit" for of in fixed)
    return sum(max_length(of) for of in fixed if of.name != "bit") + (bits + 7) // 8


def _overhead(columns: list[Column]) -> int:
    return 6 + (len(columns) + 7) // 8


def refuse_long_row(table: str, columns: list[Column]) -> None:
    """1701 for a table whose shortest row would be too long."""
    stored = _stored(columns)
    overhead = _overhead(stored)
    size = _fixed(stored) + overhead
    if size > MAXIMUM_ROW:
        raise SqlError(1701, table, size, overhead, MAXIMUM_ROW)


def row_check(table: Table) -> Callable[[RowValues], None] | None:
    """check(row) for a table whose rows may be too long, None for any other. Raises 511."""
    stored = _stored(table.columns)
    least = _fixed(stored) + _overhead(stored)
    places = [
        (place, column.type)
        for place, column in enumerate(table.columns)
        if column in stored and _varies(column)
    ]
    if not places or least + 2 + sum(2 + _most(of) for _, of in places) <= MAXIMUM_ROW:
        return None

    def check(row: RowValues) -> None:
        size = least + 2 + sum(2 + _left(of, row[place]) for place, of in places)
        if size > MAXIMUM_ROW:
            raise SqlError(511, size, MAXIMUM_ROW)

    return check


def _most(of: SqlType) -> int:
    length = max_length(of)
    return _MOVED if length == MAX or of.name in _VARIABLE else length


def _left(of: SqlType, value: Any) -> int:
    """What a value leaves in the row at least."""
    if value is None:
        return 0
    if of.name in OLD_LARGE:
        return 16
    if of.name not in _VARIABLE:
        return max_length(of)  # sparse
    if not isinstance(value, (str, bytes)):
        return _MOVED
    return min(_MOVED, len(value) * (2 if of.name == "nvarchar" else 1))
