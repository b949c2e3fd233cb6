"""What a table is made of besides its rows: columns, checks, statistics, options of indexes.

All of it is immutable, or replaced as a whole; ``storage`` has the tables themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial_broker.engine.state import definition
from redial_broker.engine.types import SqlType

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues

BY_TEXT = "compiled from its text"
"""Why a function that a definition carries does not count."""


@definition(value=BY_TEXT, bind=BY_TEXT, names=BY_TEXT)
@dataclass(frozen=True, slots=True)
class Computed:
    """A computed column."""

    text: str
    """In parentheses."""
    persisted: bool
    """As stated."""
    value: Callable[[Any, RowValues], Any]
    """(session, row) -> value, over a row whose other columns are there."""
    bind: Callable[[list[Column]], Callable[[Any, RowValues], Any]]
    """Gives ``value`` for another column list."""
    names: frozenset[str] = frozenset()
    """lower-case names of the columns it reads. Any: the session is only handed on here, and the
    value is one of T-SQL."""


@definition(default=BY_TEXT)
@dataclass(slots=True)
class Column:
    """One column."""

    name: str
    type: SqlType
    nullable: bool = True
    identity: tuple[int, int] | None = None
    """(seed, step)."""
    default: Callable[[Any], Any] | None = None
    """Callable (session) -> value, set by the executor."""
    default_name: str = ""
    default_text: str = ""
    rowversion: bool = False
    rowguid: bool = False
    computed: Computed | None = None
    """How its value follows from the others."""
    sparse: bool = False
    case_sensitive: bool = False
    collation: str = ""
    user_type: str = ""
    """"sysname" or the schema.name of the alias type it was declared with, "" otherwise."""


@definition(accepts=BY_TEXT, names=BY_TEXT, bind=BY_TEXT)
@dataclass(frozen=True, slots=True)
class Check:
    """A CHECK constraint."""

    name: str
    accepts: Callable[[Any, RowValues], bool | None]
    """(session, row) -> True, False or None (unknown: accepted)."""
    text: str = ""
    column: str = ""
    """Name of the column it was written on, "" for one of the table."""
    names: frozenset[str] = frozenset()
    """lower-case names of the columns it reads."""
    bind: Callable[[list[Column]], Callable[[Any, RowValues], bool | None]] | None = None
    """Gives ``accepts`` for another column list."""
    enabled: bool = True
    """Not NOCHECK."""


@definition()
@dataclass(frozen=True, slots=True)
class Statistic:
    """Statistics made by CREATE STATISTICS: a name and columns, nothing gathered."""

    name: str
    columns: tuple[str, ...]


@definition()
@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Options of an index as sys.indexes shows them (CREATE INDEX page).

    ignore_dup_key, row_locks and page_locks have an effect; the others are about pages and speed,
    and there are no pages here.
    """

    fill_factor: int = 0
    padded: bool = False
    ignore_dup_key: bool = False
    row_locks: bool = True
    page_locks: bool = True
    sequential: bool = False
    compression: str = "NONE"


PLAIN_OPTIONS = IndexOptions()
