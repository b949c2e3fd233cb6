"""Functions the catalog answers: compiled to ``session.catalog_function(NAME, arguments)``."""

from __future__ import annotations

from redial_broker.engine.types import (
    BIGINT,
    INT,
    NVARCHAR_MAX,
    SMALLINT,
    SQL_VARIANT,
    SYSNAME,
    XML,
    SqlType,
    nvarchar,
    sql_type,
    varbinary,
)
from redial_broker.exec.expressions.expr import Expr
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.functions.registry import Call, function

CATALOG_FUNCTIONS: dict[str, tuple[int, int, SqlType]] = {
    "OBJECT_ID": (1, 2, INT),
    "OBJECT_NAME": (1, 2, SYSNAME),
    "OBJECT_SCHEMA_NAME": (1, 2, SYSNAME),
    "OBJECT_DEFINITION": (1, 1, NVARCHAR_MAX),
    "OBJECTPROPERTY": (2, 2, INT),
    "OBJECTPROPERTYEX": (2, 2, SQL_VARIANT),
    "SCHEMA_ID": (0, 1, INT),
    "SCHEMA_NAME": (0, 1, SYSNAME),
    "DB_ID": (0, 1, SMALLINT),
    "DB_NAME": (0, 1, SYSNAME),
    "ORIGINAL_DB_NAME": (0, 0, SYSNAME),
    "TYPE_ID": (1, 1, INT),
    "TYPE_NAME": (1, 1, SYSNAME),
    "COL_NAME": (2, 2, SYSNAME),
    "COL_LENGTH": (2, 2, SMALLINT),
    "COLUMNPROPERTY": (3, 3, INT),
    "INDEX_COL": (3, 3, SYSNAME),
    "INDEXPROPERTY": (3, 3, INT),
    "INDEXKEY_PROPERTY": (4, 4, INT),
    "IS_MEMBER": (1, 1, INT),
    "IS_ROLEMEMBER": (1, 2, INT),
    "IS_SRVROLEMEMBER": (1, 2, INT),
    "HAS_PERMS_BY_NAME": (3, 5, INT),
    "HAS_DBACCESS": (1, 1, INT),
    "USER_ID": (0, 1, INT),
    "DATABASE_PRINCIPAL_ID": (0, 1, INT),
    "SUSER_ID": (0, 1, INT),
    "SUSER_SID": (0, 2, varbinary(85)),
    "DATABASEPROPERTYEX": (2, 2, SQL_VARIANT),
    "FN_HADR_IS_PRIMARY_REPLICA": (1, 1, sql_type("bit")),
    "FULLTEXTSERVICEPROPERTY": (1, 1, INT),
    "SERVERPROPERTY": (1, 1, SQL_VARIANT),
    "GET_TRANSMISSION_STATUS": (1, 1, nvarchar(4000)),
    "APPLOCK_MODE": (3, 3, nvarchar(32)),
    "APPLOCK_TEST": (4, 4, SMALLINT),
    "MIN_ACTIVE_ROWVERSION": (0, 0, sql_type("binary", 8)),
    "IDENT_CURRENT": (1, 1, sql_type("numeric", 0, 38, 0)),
    "IDENT_SEED": (1, 1, sql_type("numeric", 0, 38, 0)),
    "IDENT_INCR": (1, 1, sql_type("numeric", 0, 38, 0)),
    "PARSENAME": (2, 2, SYSNAME),
    "FILEPROPERTY": (2, 2, INT),
    "ASSEMBLYPROPERTY": (2, 2, SQL_VARIANT),
    "CURRENT_TIMEZONE": (0, 0, sql_type("varchar", 64)),
    "TRIGGER_NESTLEVEL": (0, 3, INT),
    "XML_SCHEMA_NAMESPACE": (2, 3, XML),
    "COLUMNS_UPDATED": (0, 0, varbinary(128)),
    "EVENTDATA": (0, 0, sql_type("xml")),
    "CURRENT_TRANSACTION_ID": (0, 0, BIGINT),
}
"""Name -> least and most arguments, result type."""

OTHERS_CHANGE = frozenset(CATALOG_FUNCTIONS) - {
    *("DB_NAME", "ORIGINAL_DB_NAME", "CURRENT_TRANSACTION_ID", "TRIGGER_NESTLEVEL"),
    *("COLUMNS_UPDATED", "EVENTDATA", "PARSENAME", "CURRENT_TIMEZONE", "SERVERPROPERTY"),
    *("FULLTEXTSERVICEPROPERTY", "ASSEMBLYPROPERTY", "FN_HADR_IS_PRIMARY_REPLICA"),
}
"""Those whose answer follows from what another session may change meanwhile."""

NAMES_BY_ID = frozenset({"USER_NAME", "SUSER_NAME", "SUSER_SNAME", "FORMATMESSAGE"})
"""With an argument their answers do, too."""

_NUMBERS: dict[str, str] = {
    "OBJECT_NAME": "11",
    "OBJECT_SCHEMA_NAME": "11",
    "OBJECT_DEFINITION": "1",
    "OBJECTPROPERTY": "10",
    "OBJECTPROPERTYEX": "10",
    "SCHEMA_NAME": "1",
    "DB_NAME": "1",
    "TYPE_NAME": "1",
    "COL_NAME": "11",
    "COLUMNPROPERTY": "100",
    "INDEX_COL": "011",
    "INDEXPROPERTY": "100",
    "INDEXKEY_PROPERTY": "1110",
    "SUSER_SID": "01",
    "PARSENAME": "01",
    "TRIGGER_NESTLEVEL": "100",
}
"""Name -> which arguments are int; the others are text."""

_TEXT = nvarchar(4000)


def _typed(argument: Expr, number: bool) -> Expr:
    """An argument as the function declares it; any text will do as it is."""
    if number:
        return converted(argument, INT)
    return argument if argument.type.is_string else converted(argument, _TEXT)


def _build(call: Call) -> Expr:
    of, name = CATALOG_FUNCTIONS[call.name][2], call.name
    numbers = _NUMBERS.get(name, "")
    arguments = tuple(
        _typed(argument, numbers[at : at + 1] == "1").fn for at, argument in enumerate(call.args())
    )
    if not arguments:
        return Expr(lambda session, variables, row: session.catalog_function(name, ()), of)
    if len(arguments) == 1:
        only = arguments[0]
        return Expr(
            lambda session, variables, row: session.catalog_function(
                name, (only(session, variables, row),)
            ),
            of,
        )
    return Expr(
        lambda session, variables, row: session.catalog_function(
            name, tuple([fn(session, variables, row) for fn in arguments])
        ),
        of,
    )


for _name, (_least, _most, _) in CATALOG_FUNCTIONS.items():
    function(_name, _least, _most)(_build)
