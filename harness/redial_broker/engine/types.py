"""SQL types as the engine, the executor, the catalog and the wire share them.

A value is a plain Python object (NULL is None, a uniqueidentifier its 36-character upper-case
text); the static type beside it says which T-SQL type it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from redial_broker.engine.state import definition

MAX = -1
"""Length of a (max) type."""

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
STRING_TYPES = frozenset({"char", "varchar", "nchar", "nvarchar", "text", "ntext"})
UNICODE_TYPES = frozenset({"nchar", "nvarchar", "ntext"})
BINARY_TYPES = frozenset({"binary", "varbinary", "image", "rowversion"})


@definition()
@dataclass(frozen=True, slots=True, eq=False)  # one object per type: identity is equality
class SqlType:
    """One T-SQL type with its facets; made by ``sql_type`` only."""

    name: str
    """lower-case base type name."""
    length: int = 0
    """Characters for n/char types, bytes for binary types, -1 for (max), 0 where the type has no
    length."""
    precision: int = 0
    scale: int = 0
    """precision, scale: digits of decimal, numeric; scale also the fractional digits of time,
    datetime2 and datetimeoffset."""

    def __str__(self) -> str:
        """The declaration a DBA would write, for example ``nvarchar(128)``."""
        if self.name in {"decimal", "numeric"}:
            return f"{self.name}({self.precision},{self.scale})"
        if self.name in {"time", "datetime2", "datetimeoffset"}:
            return f"{self.name}({self.scale})"
        if self.length:
            return f"{self.name}({'max' if self.length == MAX else self.length})"
        return self.name

    @property
    def is_string(self) -> bool:
        """True for character types, Unicode or not."""
        return self.name in STRING_TYPES

    @property
    def is_binary(self) -> bool:
        """True for byte-string types."""
        return self.name in BINARY_TYPES

    @property
    def is_integer(self) -> bool:
        """True for tinyint, smallint, int and bigint (bit is not one of them)."""
        return self.name in INTEGER_BITS


_TYPES: dict[tuple[str, int, int, int], SqlType] = {}


def sql_type(name: str, length: int = 0, precision: int = 0, scale: int = 0) -> SqlType:
    """The one shared instance of a type, so that types compare and hash by identity."""
    key = (name, length, precision, scale)
    found = _TYPES.get(key)
    if found is None:
        found = _TYPES[key] = SqlType(name, length, precision, scale)
    return found


BIT = sql_type("bit")
TINYINT = sql_type("tinyint")
SMALLINT = sql_type("smallint")
INT = sql_type("int")
BIGINT = sql_type("bigint")
FLOAT = sql_type("float")
REAL = sql_type("real")
UNIQUEIDENTIFIER = sql_type("uniqueidentifier")
XML = sql_type("xml")
SQL_VARIANT = sql_type("sql_variant")
DATE = sql_type("date")
DATETIME = sql_type("datetime")
SMALLDATETIME = sql_type("smalldatetime")
DATETIME2 = sql_type("datetime2", scale=7)
TIME = sql_type("time", scale=7)
DATETIMEOFFSET = sql_type("datetimeoffset", scale=7)
ROWVERSION = sql_type("rowversion", 8)
SYSNAME = sql_type("nvarchar", 128)
NVARCHAR_MAX = sql_type("nvarchar", MAX)
VARCHAR_MAX = sql_type("varchar", MAX)
VARBINARY_MAX = sql_type("varbinary", MAX)


def nvarchar(length: int) -> SqlType:
    """nvarchar(length); -1 for (max)."""
    return sql_type("nvarchar", length)


def varchar(length: int) -> SqlType:
    """varchar(length); -1 for (max)."""
    return sql_type("varchar", length)


def varbinary(length: int) -> SqlType:
    """varbinary(length); -1 for (max)."""
    return sql_type("varbinary", length)


def decimal_type(precision: int, scale: int = 0, name: str = "decimal") -> SqlType:
    """decimal(precision, scale), or numeric: one type, whose name a client sees (F-537)."""
    return sql_type(name, 0, precision, scale)


@definition()
@dataclass(frozen=True, slots=True)
class Variant:
    """A sql_variant value."""

    type: SqlType
    """What it was stored as."""
    value: object
    """As a value of that type."""


@definition()
@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of a result set as a client sees it."""

    name: str
    type: SqlType
    nullable: bool = True
    identity: bool = False
    stored: bool = False
    """A table's column that takes values, as far as a client may know; drivers leave the others out
    of a bulk load (F-282)."""
    computed: bool = False
    """Worked out in the select list itself, and no aggregate (F-537)."""


SELECT_DONE = 0xC1
"""Command code in the DONE token behind a result set: of SELECT, and of FETCH, RECEIVE and system
procedures too, which look like it to a client (MS-TDS, DONE token)."""


@definition()
@dataclass(frozen=True, slots=True)
class Message:
    """One message to the client: an error when severity is above 10, else information."""

    number: int
    severity: int
    state: int
    text: str
    procedure: str = ""
    line: int = 1
