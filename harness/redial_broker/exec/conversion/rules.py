"""Which type wins, and which type may become which.

Order of precedence: "Data type precedence" page; allowed conversions: the chart of the "CAST and
CONVERT" page; precision and scale of results: "Precision, scale, and length" page.
"""

from __future__ import annotations

from redial.tsql.lexer import MAX_PRECISION
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    MAX,
    SqlType,
    decimal_type,
    sql_type,
)

PRECEDENCE = (
    "sql_variant",
    "xml",
    "datetimeoffset",
    "datetime2",
    "datetime",
    "smalldatetime",
    "date",
    "time",
    "float",
    "real",
    "decimal",
    "numeric",
    "money",
    "smallmoney",
    "bigint",
    "int",
    "smallint",
    "tinyint",
    "bit",
    "ntext",
    "text",
    "image",
    "rowversion",
    "uniqueidentifier",
    "nvarchar",
    "nchar",
    "varchar",
    "char",
    "varbinary",
    "binary",
)


class _Marked(SqlType):
    """A type that looks like another and is none of those ``sql_type`` gives out."""

    __slots__ = ()


UNTYPED = _Marked("int")
"""The type of the bare NULL: shown as int, convertible to everything."""

XML_NODES = _Marked("xml")
"""The type of a column that .nodes() returns: only xml methods and IS NULL may touch it (493)."""

_RANK = {name: rank for rank, name in enumerate(PRECEDENCE)}

_DIGITS = {"bigint": 19, "int": 10, "smallint": 5, "tinyint": 3, "bit": 1}

_GROUPS = {
    "binary": "binary",
    "varbinary": "binary",
    "image": "binary",
    "rowversion": "rowversion",
    "char": "char",
    "varchar": "char",
    "nchar": "char",
    "nvarchar": "char",
    "text": "char",
    "ntext": "char",
    "datetime": "datetime",
    "smalldatetime": "datetime",
    "datetime2": "moment",
    "datetimeoffset": "moment",
    "date": "date",
    "time": "time",
    "decimal": "exact",
    "numeric": "exact",
    "float": "float",
    "real": "float",
    "money": "money",
    "smallmoney": "money",
    "bigint": "int",
    "int": "int",
    "smallint": "int",
    "tinyint": "int",
    "bit": "int",
    "uniqueidentifier": "guid",
    "sql_variant": "variant",
    "xml": "xml",
}
_NUMBERS = frozenset({"exact", "float", "money", "int"})
_NEW_DATES = frozenset({"moment", "date", "time"})

IMPLICIT, EXPLICIT, FORBIDDEN = 2, 1, 0


def _same_kind(source: str, target: str) -> int | None:
    """Conversions inside one family of groups; None when the groups are of different families."""
    if source == target:
        return IMPLICIT
    if source in _NUMBERS and target in _NUMBERS:
        return IMPLICIT
    dates = _NEW_DATES | {"datetime"}
    if source in dates and target in dates:
        return FORBIDDEN if {source, target} == {"date", "time"} else IMPLICIT
    return None


def _binary_source(target: str) -> int:
    if target in {
        "rowversion",
        "char",
        "int",
        "money",
        "exact",
        "datetime",
        "guid",
        "xml",
        "variant",
        "binary",
    }:
        return IMPLICIT
    return EXPLICIT if target in _NEW_DATES else FORBIDDEN


def _number_source(source: str, target: str) -> int:
    if target == "char":
        return EXPLICIT if source == "money" else IMPLICIT
    if target in {"binary", "datetime", "variant"}:
        return IMPLICIT
    return IMPLICIT if target == "rowversion" and source != "float" else FORBIDDEN


def _char_source(target: str) -> int:
    return EXPLICIT if target in {"binary", "rowversion"} else IMPLICIT


def _date_source(source: str, target: str) -> int:
    if target in {"char", "variant"}:
        return IMPLICIT
    if target == "binary" or (source == "datetime" and target in _NUMBERS | {"rowversion"}):
        return EXPLICIT
    return FORBIDDEN


def _chart(source: str, target: str) -> int:
    """One cell of the conversion chart."""
    same = _same_kind(source, target)
    if same is not None:
        return same
    if source in {"binary", "rowversion"}:
        if source == "rowversion" and target in {"float", "guid", "xml", "variant", "moment"}:
            return FORBIDDEN
        return _binary_source(target)
    if source == "char":
        return _char_source(target)
    if source in _NUMBERS:
        return _number_source(source, target)
    if source == "guid":
        return IMPLICIT if target in {"binary", "char", "variant"} else FORBIDDEN
    if source == "xml":
        return EXPLICIT if target in {"binary", "char"} else FORBIDDEN
    if source == "variant":
        return FORBIDDEN if target in {"xml", "rowversion"} else EXPLICIT
    return _date_source(source, target)


_CHART = {
    (source, target): _chart(_GROUPS[source], _GROUPS[target])
    for source in PRECEDENCE
    for target in PRECEDENCE
}


def check_implicit(source: SqlType, target: SqlType) -> None:
    """Raise 257 when only CONVERT may do this, 206 when nothing may."""
    if source is UNTYPED:
        return
    if source is XML_NODES:
        raise SqlError(493, "nodes", aborts="scope")
    allowed = _CHART[source.name, target.name]
    if allowed == EXPLICIT:
        raise SqlError(257, shown_name(source), shown_name(target), aborts="scope")
    if allowed == FORBIDDEN:
        raise SqlError(206, shown_name(source), shown_name(target), aborts="scope")


def check_explicit(source: SqlType, target: SqlType) -> None:
    """Raise 529 when not even CAST and CONVERT may do this."""
    if source is XML_NODES:
        raise SqlError(493, "nodes", aborts="scope")
    if source is not UNTYPED and _CHART[source.name, target.name] == FORBIDDEN:
        raise SqlError(529, shown_name(source), shown_name(target), aborts="scope")


INCOMPARABLE = frozenset({"xml", "text", "ntext", "image"})
"""Types whose values can be compared with nothing, so neither sorted nor grouped."""

OLD_LARGE = frozenset({"text", "ntext", "image"})
"""The large types of old, which are written without (max)."""


def shown_name(of: SqlType) -> str:
    """The type name as error texts show it: with (max), without other lengths."""
    name = {"rowversion": "timestamp", "decimal": "decimal"}.get(of.name, of.name)
    return f"{name}(max)" if of.length == MAX and of.name not in OLD_LARGE else name


def group(of: SqlType) -> str:
    """The conversion family of a type: char, binary, int, exact, money, float, datetime..."""
    return _GROUPS[of.name]


def is_number(of: SqlType) -> bool:
    """True for every numeric type, bit and money included."""
    return _GROUPS[of.name] in _NUMBERS


def as_decimal(of: SqlType) -> SqlType:
    """The decimal type that holds every value of an exact numeric type."""
    if of.name in {"decimal", "numeric"}:
        return of
    if of.name == "money":
        return decimal_type(19, 4)
    if of.name == "smallmoney":
        return decimal_type(10, 4)
    return decimal_type(_DIGITS.get(of.name, 18), 0)


def _longer(left: int, right: int) -> int:
    return MAX if MAX in (left, right) else max(left, right)


def higher(left: SqlType, right: SqlType) -> SqlType:
    """The type of higher precedence, facets untouched."""
    return left if _RANK[left.name] <= _RANK[right.name] else right


def common_type(left: SqlType, right: SqlType) -> SqlType:
    """The type of a CASE, COALESCE or UNION column over both: precedence, then widened facets."""
    if left is right:
        return left
    winner = higher(left, right)
    loser = right if winner is left else left
    if winner.name in {"decimal", "numeric"} and is_number(loser):
        if loser.name in {"float", "real"}:
            return loser
        one, two = as_decimal(winner), as_decimal(loser)
        scale = max(one.scale, two.scale)
        whole = max(one.precision - one.scale, two.precision - two.scale)
        name = left.name if group(left) == group(right) else winner.name
        return decimal_type(
            min(whole + scale, MAX_PRECISION), min(scale, MAX_PRECISION - whole), name
        )
    if winner.is_string and (loser.is_string or loser.is_binary):
        return _common_string(winner, loser)
    if winner.is_binary and loser.is_binary and winner.name != "rowversion":
        return sql_type(
            "varbinary" if winner.name != loser.name else winner.name,
            _longer(winner.length, loser.length),
        )
    if winner.name == loser.name and winner.scale != loser.scale:
        return winner if winner.scale > loser.scale else loser
    return winner


def _common_string(winner: SqlType, loser: SqlType) -> SqlType:
    name = winner.name
    if name in {"nchar", "char"} and loser.name in {"varchar", "nvarchar"}:
        name = "nvarchar" if name == "nchar" else "varchar"
    length = _longer(winner.length, loser.length)
    if name[0] == "n" and length > 4000:
        length = 4000
    return sql_type(name, length)
