"""sp_datatype_info: which types exist, as ODBC drivers ask while they connect.

pyodbc with ODBC Driver 18 reads PRECISION of four types before its first statement (varchar,
nvarchar, varbinary, datetime2): it decides from which length a value is sent as long data and how
many digits a datetime keeps. Without an answer every long value fails with HY104. Result columns
are those of Microsoft's page for the procedure.
"""

from __future__ import annotations

from typing import NamedTuple

from harness.broker.engine.types import INT, SMALLINT, ResultColumn, nvarchar, varchar

COLUMNS = [
    ResultColumn(name, type_)
    for name, type_ in (
        ("TYPE_NAME", nvarchar(128)), ("DATA_TYPE", SMALLINT), ("PRECISION", INT),
        ("LITERAL_PREFIX", varchar(32)), ("LITERAL_SUFFIX", varchar(32)),
        ("CREATE_PARAMS", varchar(32)), ("NULLABLE", SMALLINT), ("CASE_SENSITIVE", SMALLINT),
        ("SEARCHABLE", SMALLINT), ("UNSIGNED_ATTRIBUTE", SMALLINT), ("MONEY", SMALLINT),
        ("AUTO_INCREMENT", SMALLINT), ("LOCAL_TYPE_NAME", nvarchar(128)),
        ("MINIMUM_SCALE", SMALLINT), ("MAXIMUM_SCALE", SMALLINT), ("SQL_DATA_TYPE", SMALLINT),
        ("SQL_DATETIME_SUB", SMALLINT), ("NUM_PREC_RADIX", INT), ("INTERVAL_PRECISION", SMALLINT),
        ("USERTYPE", SMALLINT),
    )
]  # fmt: skip
"""Columns of the result set, in order."""

_NUMBER, _TEXT, _BYTES, _TIME = "number", "text", "bytes", "time"


class DataType(NamedTuple):
    """What the result set tells apart. number: ODBC's data type. digits: precision or length."""

    name: str
    number: int
    digits: int
    kind: str
    create: str | None = None
    scales: tuple[int, int] | None = None


DATA_TYPES = (
    DataType("sql_variant", -150, 8000, _TEXT),
    DataType("datetimeoffset", -155, 34, _TIME, "scale", (0, 7)),
    DataType("time", -154, 16, _TIME, "scale", (0, 7)),
    DataType("xml", -152, 0, _TEXT),
    DataType("uniqueidentifier", -11, 36, _TIME),
    DataType("ntext", -10, 1073741823, _TEXT),
    DataType("nvarchar", -9, 4000, _TEXT, "max length"),
    DataType("nchar", -8, 4000, _TEXT, "length"),
    DataType("bit", -7, 1, _NUMBER),
    DataType("tinyint", -6, 3, _NUMBER),
    DataType("bigint", -5, 19, _NUMBER),
    DataType("image", -4, 2147483647, _BYTES),
    DataType("varbinary", -3, 8000, _BYTES, "max length"),
    DataType("binary", -2, 8000, _BYTES, "length"),
    DataType("timestamp", -2, 8, _BYTES),
    DataType("text", -1, 2147483647, _TEXT),
    DataType("char", 1, 8000, _TEXT, "length"),
    DataType("numeric", 2, 38, _NUMBER, "precision,scale", (0, 38)),
    DataType("decimal", 3, 38, _NUMBER, "precision,scale", (0, 38)),
    DataType("money", 3, 19, _NUMBER, None, (4, 4)),
    DataType("int", 4, 10, _NUMBER),
    DataType("smallint", 5, 5, _NUMBER),
    DataType("float", 6, 53, _NUMBER),
    DataType("real", 7, 24, _NUMBER),
    DataType("varchar", 12, 8000, _TEXT, "max length"),
    DataType("date", 91, 10, _TIME),
    DataType("datetime2", 93, 27, _TIME, "scale", (0, 7)),
    DataType("datetime", 93, 23, _TIME, None, (3, 3)),
    DataType("smalldatetime", 93, 16, _TIME, None, (0, 0)),
)
"""By ODBC number; of two with the same number the one to prefer comes first."""


def rows(number: int = 0) -> list[tuple]:
    """The result set's rows: every type, or those of one ODBC number."""
    return [_row(kind) for kind in DATA_TYPES if number in (0, kind.number)]


def _row(kind: DataType) -> tuple:
    quote = None if kind.kind == _NUMBER else "0x" if kind.kind == _BYTES else "'"
    if kind.name.startswith("n") and kind.kind == _TEXT:
        quote = "N'"
    end = None if quote in (None, "0x") else "'"
    low, high = kind.scales or (None, None)
    number = kind.kind == _NUMBER
    return (
        kind.name, kind.number, kind.digits, quote, end, kind.create, 1, 0,
        3 if kind.kind == _TEXT else 2, 0 if number else None,
        int(kind.name == "money"), 0 if number else None, kind.name, low, high,
        9 if kind.number in (91, 93) else kind.number, 3 if kind.number == 93 else None,
        10 if number else None, None, 0,
    )  # fmt: skip
