"""WITH (...) of indexes and key constraints (CREATE INDEX and ALTER INDEX pages).

Three kinds. Kept and honoured: IGNORE_DUP_KEY, ALLOW_PAGE_LOCKS (OFF can change nothing here: page
locks are never taken). Kept for sys.indexes only: FILLFACTOR, PAD_INDEX, DATA_COMPRESSION and
OPTIMIZE_FOR_SEQUENTIAL_KEY are about pages, of which there are none. Read and forgotten, because
they are about how an index is built, not what it is: SORT_IN_TEMPDB, ONLINE, MAXDOP, RESUMABLE,
MAX_DURATION, STATISTICS_NORECOMPUTE, STATISTICS_INCREMENTAL = OFF. Everything else is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.columns import PLAIN_OPTIONS, IndexOptions
from redial_broker.engine.errors import SqlError
from redial_broker.exec.ddl.options import number, word

if TYPE_CHECKING:
    from redial_broker.exec.context import Context

_BUILDING: dict[str, set[str] | None] = {
    "SORT_IN_TEMPDB": {"ON", "OFF"},
    "ONLINE": {"ON", "OFF"},
    "MAXDOP": None,
    "RESUMABLE": {"OFF"},
    "STATISTICS_NORECOMPUTE": {"ON", "OFF"},
    "STATISTICS_INCREMENTAL": {"OFF"},
    "DROP_EXISTING": {"ON", "OFF"},
    "LOB_COMPACTION": {"ON", "OFF"},
    "COMPRESS_ALL_ROW_GROUPS": {"OFF"},
}
"""Options without a trace, and the values accepted (None: any)."""


def index_options(
    context: Context,
    options: list[ast.Option] | None,
    *,
    unique: bool = True,
    old: IndexOptions = PLAIN_OPTIONS,
) -> IndexOptions:
    """The options of an index. unique: it may have IGNORE_DUP_KEY. old: what is not stated.

    Raises SqlError 1916 for IGNORE_DUP_KEY on an index that is not unique, 129 for a fill factor
    out of range, NotSupported for the rest.
    """
    found = old
    for option in options or []:
        name, value = option.name, word(option.value).upper()
        if name == "IGNORE_DUP_KEY":
            if value == "ON" and not unique:
                raise SqlError(1916)
            found = replace(found, ignore_dup_key=value == "ON")
        elif name == "FILLFACTOR":
            found = replace(found, fill_factor=_fill_factor(option))
        elif name == "PAD_INDEX":
            found = replace(found, padded=value == "ON")
        elif name == "ALLOW_PAGE_LOCKS":
            found = replace(found, page_locks=value == "ON")
        elif name == "ALLOW_ROW_LOCKS" and value == "ON":
            found = replace(found, row_locks=True)
        elif name == "OPTIMIZE_FOR_SEQUENTIAL_KEY":
            found = replace(found, sequential=value == "ON")
        elif name == "DATA_COMPRESSION" and value in {"NONE", "ROW", "PAGE"}:
            found = replace(found, compression=value)
        elif name not in _BUILDING or (
            (known := _BUILDING[name]) is not None and value not in known
        ):
            raise context.not_supported(option, f"index option {name}")
    return found


def _fill_factor(option: ast.Option) -> int:
    value = number(option.value)
    if not 1 <= value <= 100:
        raise SqlError(129, value)
    return value
