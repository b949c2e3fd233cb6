"""ODBC's catalog of procedures, and sp_helptext."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.module_views import parameter_type
from redial_broker.catalog.names import find_object
from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.procedures.arguments import (
    REQUIRED,
    Call,
    procedure,
    result_columns,
)
from redial_broker.catalog.procedures.objects import tds_nullable_type, type_facts
from redial_broker.catalog.procedures.patterns import matches, qualified_database
from redial_broker.catalog.visibility import text_of, visible
from redial_broker.engine.errors import SqlError
from redial_broker.exec.ddl.type_facts import catalog_name
from redial_broker.exec.objects import Function, Module, Procedure, TableType

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database

PROCEDURES = result_columns("""
PROCEDURE_QUALIFIER sysname?
PROCEDURE_OWNER sysname?
PROCEDURE_NAME nvarchar(134)
NUM_INPUT_PARAMS int
NUM_OUTPUT_PARAMS int
NUM_RESULT_SETS int
REMARKS varchar(254)?
PROCEDURE_TYPE smallint""")


def seen_routines(
    call: Call, name: str, owner: str, qualifier: str
) -> Iterator[tuple[Any, Module]]:
    """(database, routine) by pattern; a driver may append ;1 to the name."""
    database = qualified_database(call.session, call.text(qualifier))
    wanted, schema = call.text(name), call.text(owner)
    if wanted is not None:
        wanted = wanted.removesuffix(";1")
    pattern = bool(call.number("fUsePattern"))
    found = [
        m
        for m in seen_objects(call.session, database, (Procedure, Function))
        if matches(m.name, wanted, pattern) and matches(m.schema, schema, pattern)
    ]
    for module in sorted(found, key=lambda m: (m.schema.lower(), m.name.lower())):
        yield database, module


@procedure("sp_stored_procedures", sp_name=None, sp_owner=None, sp_qualifier=None, fUsePattern=1)
def sp_stored_procedures(call: Call) -> None:
    """Procedures and functions; the counts are -1, as on servers."""
    call.answer(
        PROCEDURES,
        [
            (
                database.name,
                module.schema,
                f"{module.name};{int(isinstance(module, Procedure))}",
                -1,
                -1,
                -1,
                None,
                2,
            )
            for database, module in seen_routines(call, "sp_name", "sp_owner", "sp_qualifier")
        ],
    )


_COLUMNS = """
PROCEDURE_QUALIFIER sysname?
PROCEDURE_OWNER sysname?
PROCEDURE_NAME nvarchar(134)
COLUMN_NAME sysname
COLUMN_TYPE smallint
DATA_TYPE smallint
TYPE_NAME sysname
PRECISION int?
LENGTH int?
SCALE smallint?
RADIX smallint?
NULLABLE smallint
REMARKS varchar(254)?
COLUMN_DEF nvarchar(4000)?
SQL_DATA_TYPE smallint
SQL_DATETIME_SUB smallint?
CHAR_OCTET_LENGTH int?
ORDINAL_POSITION int
IS_NULLABLE varchar(254)?
"""
PARAMETERS = result_columns(_COLUMNS + "SS_DATA_TYPE tinyint?")
PARAMETERS_100 = result_columns(
    _COLUMNS
    + """SS_TYPE_CATALOG_NAME sysname?
SS_TYPE_SCHEMA_NAME sysname?
SS_UDT_CATALOG_NAME sysname?
SS_UDT_SCHEMA_NAME sysname?
SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(4000)?
SS_XML_SCHEMACOLLECTION_CATALOG_NAME sysname?
SS_XML_SCHEMACOLLECTION_SCHEMA_NAME sysname?
SS_XML_SCHEMACOLLECTION_NAME sysname?
SS_DATA_TYPE tinyint?"""
)

IN, IN_OUT, RETURN = 1, 2, 5
"""COLUMN_TYPE: SQL_PARAM_INPUT, SQL_PARAM_INPUT_OUTPUT, SQL_RETURN_VALUE."""

TABLE_VALUED = -153
"""ODBC's SQL_SS_TABLE."""


def parameter_rows(call: Call, late: bool) -> Iterator[RowValues]:
    """The 19 common columns, then TDS type and table type's schema."""
    wanted = call.text("column_name")
    for database, module in seen_routines(
        call, "procedure_name", "procedure_owner", "procedure_qualifier"
    ):
        name = f"{module.name};{int(isinstance(module, Procedure))}"
        head = (database.name, module.schema, name)
        if matches("@RETURN_VALUE", wanted, True) and isinstance(module, Procedure):
            yield (
                *head,
                "@RETURN_VALUE",
                RETURN,
                4,
                "int",
                10,
                4,
                0,
                10,
                0,
                None,
                None,
                4,
                None,
                None,
                0,
                "NO",
                56,
                None,
            )
        for number, parameter in enumerate(getattr(module.node, "parameters", ()), 1):
            own = parameter.variable.name
            if matches(own, wanted, True):
                yield (*head, *parameter_row(database, parameter, number, late))


def parameter_row(database: Database, parameter: Any, number: int, late: bool) -> tuple[Any, ...]:
    """One parameter, from COLUMN_NAME on."""
    name = parameter.variable.name
    kind = IN_OUT if parameter.output else IN
    found = database.find_type(parameter.data_type.name)
    if isinstance(found, TableType):
        return (
            name,
            kind,
            TABLE_VALUED,
            found.name,
            2147483647,
            2147483647,
            None,
            None,
            1,
            None,
            None,
            TABLE_VALUED,
            None,
            None,
            number,
            "YES",
            0,
            found.schema,
        )
    type_ = parameter_type(database, parameter)
    code, precision, length, scale, radix, verbose, sub, octets = type_facts(type_, late)
    return (
        name,
        kind,
        code,
        catalog_name(type_),
        precision,
        length,
        scale,
        radix,
        1,
        None,
        None,
        verbose,
        sub,
        octets,
        number,
        "YES",
        tds_nullable_type(type_, True),
        None,
    )


@procedure(
    "sp_sproc_columns",
    procedure_name=None,
    procedure_owner=None,
    procedure_qualifier=None,
    column_name=None,
    ODBCVer=2,
    fUsePattern=1,
)
def sp_sproc_columns(call: Call) -> None:
    """Parameters as drivers before 2008 read them."""
    call.answer(PARAMETERS, [row[:20] for row in parameter_rows(call, late=False)])


@procedure(
    "sp_sproc_columns_100",
    "sp_sproc_columns_90",
    procedure_name=None,
    procedure_owner=None,
    procedure_qualifier=None,
    column_name=None,
    ODBCVer=2,
    fUsePattern=1,
)
def sp_sproc_columns_100(call: Call) -> None:
    """Parameters with what 2008 added: where a table type is defined."""
    rows = [
        (*row[:19], row[0] if row[20] else None, row[20], *[None] * 6, row[19])
        for row in parameter_rows(call, late=True)
    ]
    call.answer(PARAMETERS_100, rows)


TEXT = result_columns("Text nvarchar(255)?")
LINE = 255


@procedure("sp_helptext", objname=REQUIRED, columnname=None)
def sp_helptext(call: Call) -> None:
    """The text of a module, line by line, long lines cut at 255 characters."""
    name = call.text("objname") or ""
    database, found = find_object(call.session, name)
    if found is None or (isinstance(found, Module) and not visible(call.session, database)(found)):
        raise SqlError(15009, name, database.name)
    if not isinstance(found, Module) or (
        not found.encrypted and text_of(call.session, database)(found) is None
    ):
        raise SqlError(15197, name)
    if found.encrypted:
        call.session.info(f"The text for object '{name}' is encrypted.", 0, 15471)
        return
    rows = []
    for line in found.text.splitlines(keepends=True):
        rows += [(line[i : i + LINE],) for i in range(0, len(line), LINE)]
    call.answer(TEXT, rows)
