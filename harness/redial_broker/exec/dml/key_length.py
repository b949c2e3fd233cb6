"""The greatest size of an index key: 900 bytes clustered, 1,700 nonclustered (CREATE INDEX page).

An index whose columns may grow beyond it is made with warning 1945; a row whose key does grow
beyond it is refused (1946).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.types import SqlType
from redial_broker.exec.ddl.type_facts import max_length

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues

MAXIMUM_CLUSTERED_KEY, MAXIMUM_KEY = 900, 1700
_VARIABLE = frozenset({"varchar", "nvarchar", "varbinary", "sql_variant"})


def limit_of(clustered: bool) -> int:
    """The greatest size in bytes."""
    return MAXIMUM_CLUSTERED_KEY if clustered else MAXIMUM_KEY


def least_bytes(types: list[SqlType]) -> int:
    """What the columns of fixed length alone take."""
    return sum(max_length(type_) for type_ in types if type_.name not in _VARIABLE)


def most_bytes(types: list[SqlType]) -> int:
    """What the columns take at most."""
    return sum(max_length(type_) for type_ in types)


def value_bytes(type_: SqlType, value: Any) -> int:
    """The size of one value in a key; NULL takes nothing in a column of variable length."""
    if type_.name not in _VARIABLE:
        return max_length(type_)
    if value is None:
        return 0
    if type_.name == "sql_variant":
        return 0 if value.value is None else min(max_length(value.type), 8016)
    return len(value) * (2 if type_.name == "nvarchar" else 1)


def key_check(table: Table, ordinals: set[int] | None) -> Callable[[RowValues], None] | None:
    """check(row) for the indexes whose keys may be too long; None when there is none.

    ordinals: the columns that may have changed, None for all. Raises SqlError 1946.
    """
    indexes = [
        index
        for index in (table.rows, *table.indexes)
        if most_bytes([table.types[i] for i in index.columns]) > limit_of(index.clustered)
        and (ordinals is None or ordinals & set(index.columns))
    ]
    if not indexes:
        return None

    def check(row: RowValues) -> None:
        for index in indexes:
            if index.where is None or index.where(row):
                _check(table, index, row)

    return check


def _check(table: Table, index: Index, row: RowValues) -> None:
    size = sum(value_bytes(table.types[i], row[i]) for i in index.columns)
    limit = limit_of(index.clustered)
    if size > limit:
        kind = "clustered" if index.clustered else "nonclustered"
        raise SqlError(1946, size, index.name, limit, kind)
