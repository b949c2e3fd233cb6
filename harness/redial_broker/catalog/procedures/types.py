"""sp_datatype_info: the types a driver may use.

pyodbc asks for types 12, -9, -3 and 93 when it connects and takes its limits from PRECISION: 4,000
characters, 8,000 bytes and 27 digits (wire notes, "TRAP"); so the wide type of a code comes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.procedures.arguments import Call, procedure, result_columns

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues

COLUMNS = result_columns("""
TYPE_NAME sysname
DATA_TYPE smallint
PRECISION int?
LITERAL_PREFIX varchar(32)?
LITERAL_SUFFIX varchar(32)?
CREATE_PARAMS varchar(32)?
NULLABLE smallint
CASE_SENSITIVE smallint
SEARCHABLE smallint
UNSIGNED_ATTRIBUTE smallint?
MONEY smallint
AUTO_INCREMENT smallint?
LOCAL_TYPE_NAME sysname
MINIMUM_SCALE smallint?
MAXIMUM_SCALE smallint?
SQL_DATA_TYPE smallint
SQL_DATETIME_SUB smallint?
NUM_PREC_RADIX int?
INTERVAL_PRECISION smallint?
USERTYPE smallint?""")


@dataclass(frozen=True, slots=True)
class OdbcType:
    """How ODBC sees a type."""

    name: str
    code: int
    """SQL_ type."""
    precision: int
    quote: tuple[str | None, str | None] = (None, None)
    """Literal prefix and suffix."""
    parameters: str | None = None
    search: int = 2
    unsigned: int | None = None
    money: int = 0
    scale: tuple[int | None, int | None] = (None, None)
    """(least, greatest)."""
    radix: int | None = None
    user_type: int = 0
    verbose: tuple[int, int | None] | None = None
    """(SQL_DATA_TYPE, SQL_DATETIME_SUB) where they differ from the code."""


_TEXT = ("'", "'")
_UNICODE = ("N'", "'")
_HEX = ("0x", None)

TYPES = (
    OdbcType("sql_variant", -150, 8000, radix=10, scale=(0, 0)),
    OdbcType("uniqueidentifier", -11, 36, _TEXT),
    OdbcType("ntext", -10, 1073741823, _UNICODE, None, 1),
    OdbcType("xml", -152, 0, _UNICODE, None, 0),
    OdbcType("nvarchar", -9, 4000, _UNICODE, "max length", 3),
    OdbcType("sysname", -9, 128, _UNICODE, None, 3, user_type=18),
    OdbcType("nchar", -8, 4000, _UNICODE, "length", 3),
    OdbcType("bit", -7, 1, scale=(0, 0), user_type=16),
    OdbcType("tinyint", -6, 3, unsigned=1, scale=(0, 0), radix=10, user_type=5),
    OdbcType("bigint", -5, 19, unsigned=0, scale=(0, 0), radix=10),
    OdbcType("image", -4, 2147483647, _HEX, None, 0, user_type=20),
    OdbcType("varbinary", -3, 8000, _HEX, "max length", user_type=4),
    OdbcType("binary", -2, 8000, _HEX, "length", user_type=3),
    OdbcType("timestamp", -2, 8, _HEX, None, user_type=80),
    OdbcType("text", -1, 2147483647, _TEXT, None, 1, user_type=19),
    OdbcType("char", 1, 8000, _TEXT, "length", 3, user_type=1),
    OdbcType("numeric", 2, 38, (None, None), "precision,scale", 2, 0, 0, (0, 38), 10, 10),
    OdbcType("decimal", 3, 38, (None, None), "precision,scale", 2, 0, 0, (0, 38), 10, 24),
    OdbcType("money", 3, 19, ("$", None), None, 2, 0, 1, (4, 4), 10, 11),
    OdbcType("smallmoney", 3, 10, ("$", None), None, 2, 0, 1, (4, 4), 10, 21),
    OdbcType("int", 4, 10, unsigned=0, scale=(0, 0), radix=10, user_type=7),
    OdbcType("smallint", 5, 5, unsigned=0, scale=(0, 0), radix=10, user_type=6),
    OdbcType("float", 6, 53, unsigned=0, radix=2, user_type=8),
    OdbcType("real", 7, 24, unsigned=0, radix=2, user_type=23),
    OdbcType("varchar", 12, 8000, _TEXT, "max length", 3, user_type=2),
    OdbcType("date", 91, 10, _TEXT, None, 3, verbose=(9, 1)),
    OdbcType("time", -154, 16, _TEXT, "scale", 3, scale=(0, 7)),
    OdbcType("datetime2", 93, 27, _TEXT, "scale", 3, scale=(0, 7), verbose=(9, 3)),
    OdbcType("datetime", 93, 23, _TEXT, None, 3, scale=(3, 3), user_type=12, verbose=(9, 3)),
    OdbcType("smalldatetime", 93, 16, _TEXT, None, 3, scale=(0, 0), user_type=22, verbose=(9, 3)),
    OdbcType("datetimeoffset", -155, 34, _TEXT, "scale", 3, scale=(0, 7)),
)
"""The types of ODBC's catalog, the widest of a code first."""

BY_NAME = {item.name: item for item in TYPES}
_LATE = frozenset({"date", "time", "datetime2", "datetimeoffset"})
_COUNTERS = frozenset({"tinyint", "bigint", "numeric", "decimal", "int", "smallint"})


def type_row(item: OdbcType, name: str, code: int, counter: bool) -> tuple[Any, ...]:
    """One row of sp_datatype_info; counter: the identity form of a type."""
    text = code in {-10, -9, -8, -1, 1, 12}
    verbose = item.verbose or (code, None)
    increments = (1 if counter else 0) if item.unsigned is not None else None
    return (
        name,
        code,
        item.precision,
        *item.quote,
        item.parameters,
        0 if counter else 1,
        0,
        item.search if not text else max(item.search, 1),
        item.unsigned,
        item.money,
        increments,
        name,
        *item.scale,
        *verbose,
        item.radix,
        None,
        item.user_type,
    )


@procedure("sp_datatype_info_100", data_type=0, ODBCVer=2)
def datatype_info_100(call: Call) -> None:
    """Types, those with date and time parts apart (drivers since 2008)."""
    answer(call, late=True)


@procedure("sp_datatype_info", data_type=0, ODBCVer=2)
def datatype_info(call: Call) -> None:
    """Types as drivers before 2008 know them: the later date types are nvarchar to them."""
    answer(call, late=False)


def answer(call: Call, late: bool) -> None:
    """The result set, for all types (0) or those of one ODBC type."""
    call.answer(COLUMNS, rows(call.number("data_type") or 0, call.number("ODBCVer") or 2, late))


def rows(wanted: int, version: int, late: bool) -> list[RowValues]:
    """The rows for one ODBC type, or all (0), as ODBC ``version`` numbers them."""
    found = []
    for item in TYPES:
        code = item.code
        if item.name in _LATE and not late:
            code = -9
        if wanted not in {0, code}:
            continue
        if version < 3 and code in {91, 93}:
            code = {91: 9, 93: 11}[code]  # what ODBC 2 calls SQL_DATE and SQL_TIMESTAMP
        found.append(type_row(item, item.name, code, False))
        if item.name in _COUNTERS:
            name = (
                f"{item.name}() identity"
                if item.radix and item.parameters
                else f"{item.name} identity"
            )
            found.append(type_row(item, name, code, True))
    return sorted(found, key=lambda row: row[1])
