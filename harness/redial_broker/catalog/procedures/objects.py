"""ODBC's catalog of tables: sp_tables, sp_columns, sp_pkeys, sp_statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.column_views import user_type_id
from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.procedures.arguments import Call, procedure, result_columns
from redial_broker.catalog.procedures.patterns import matches, qualified_database
from redial_broker.catalog.procedures.types import BY_NAME
from redial_broker.engine.columns import Column
from redial_broker.engine.storage import Table
from redial_broker.engine.types import MAX, SqlType
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.type_facts import SYSNAME_ID, catalog_name, max_length
from redial_broker.exec.ddl.type_facts import precision_scale as digits
from redial_broker.exec.objects import SYSTEM_VIEWS, View

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database

MAX_TEXT = {"nvarchar": 1073741823, "varchar": 2147483647, "varbinary": 2147483647, "xml": 0}

TABLES = result_columns("""
TABLE_QUALIFIER sysname?
TABLE_OWNER sysname?
TABLE_NAME sysname?
TABLE_TYPE varchar(32)?
REMARKS varchar(254)?""")


@procedure(
    "sp_tables",
    table_name=None,
    table_owner=None,
    table_qualifier=None,
    table_type=None,
    fUsePattern=1,
)
def sp_tables(call: Call) -> None:
    """Tables, views and system views by pattern; '%' with the other two empty lists qualifiers."""
    name, owner = call.text("table_name"), call.text("table_owner")
    qualifier, kinds = call.text("table_qualifier"), call.text("table_type")
    if special_list(call, name, owner, qualifier, kinds):
        return
    database = qualified_database(call.session, qualifier)
    wanted = {part.strip().strip("'").upper() for part in (kinds or "").split(",")} - {""}
    pattern = bool(call.number("fUsePattern"))
    rows = []
    for item in seen_objects(call.session, database, (Table, View)):
        kind = "TABLE" if isinstance(item, Table) else "VIEW"
        rows.append((kind, item.schema, item.name))
    rows += [
        ("SYSTEM TABLE" if schema == "sys" else "VIEW", view.schema, view.name)
        for (schema, _), view in SYSTEM_VIEWS.items()
    ]
    rows = [
        r
        for r in rows
        if (not wanted or r[0] in wanted)
        and matches(r[1], owner, pattern)
        and matches(r[2], name, pattern)
    ]
    rows.sort(key=lambda row: [part.lower() for part in row])
    call.answer(
        TABLES, [(database.name, schema, table, kind, None) for kind, schema, table in rows]
    )


def special_list(
    call: Call, name: str | None, owner: str | None, qualifier: str | None, kinds: str | None
) -> bool:
    """SQLTables' lists of catalogs, schemas and table types."""
    server = call.session.database.server
    rows: list[RowValues]
    if qualifier == "%" and name == "" and owner == "":
        rows = [
            (d.name, None, None, None, None)
            for d in sorted(server.databases.values(), key=lambda d: d.name.lower())
        ]
    elif owner == "%" and name == "" and not qualifier:
        rows = [
            (None, schema.name, None, None, None)
            for schema in call.session.database.schemas.values()
        ]
    elif kinds in {"%", "'%'"} and name == "" and owner == "":
        rows = [(None, None, None, kind, None) for kind in ("SYSTEM TABLE", "TABLE", "VIEW")]
    else:
        return False
    call.answer(TABLES, rows)
    return True


# ---------------------------------------------------------------------- columns
_COLUMNS = """
TABLE_QUALIFIER sysname?
TABLE_OWNER sysname?
TABLE_NAME sysname
COLUMN_NAME sysname
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
COLUMNS = result_columns(_COLUMNS + "SS_DATA_TYPE tinyint?")
COLUMNS_100 = result_columns(
    _COLUMNS
    + """SS_IS_SPARSE smallint?
SS_IS_COLUMN_SET smallint?
SS_IS_COMPUTED smallint?
SS_IS_IDENTITY smallint?
SS_UDT_CATALOG_NAME sysname?
SS_UDT_SCHEMA_NAME sysname?
SS_UDT_ASSEMBLY_TYPE_NAME nvarchar(4000)?
SS_XML_SCHEMACOLLECTION_CATALOG_NAME sysname?
SS_XML_SCHEMACOLLECTION_SCHEMA_NAME sysname?
SS_XML_SCHEMACOLLECTION_NAME sysname?
SS_DATA_TYPE tinyint?"""
)


def type_facts(
    type_: SqlType, late: bool
) -> tuple[int, int | None, int | None, int | None, int | None, int, int | None, int | None]:
    """(DATA_TYPE, PRECISION, LENGTH, SCALE, RADIX, SQL_DATA_TYPE, SQL_DATETIME_SUB, octets)."""
    item = BY_NAME[catalog_name(type_)]
    code = item.code
    if not late and item.name in {"date", "time", "datetime2", "datetimeoffset"}:
        code = -9
    verbose, sub = item.verbose or (code, None)
    if code == -9 and item.name != "nvarchar":
        verbose, sub = -9, None
    precision, scale = digits(type_)
    octets = None
    if type_.is_string or type_.is_binary or type_.name == "xml":
        size = max_length(type_)
        if type_.length == MAX or type_.name == "xml":
            precision = MAX_TEXT.get(type_.name, item.precision)
            return (
                code,
                precision,
                MAX_TEXT.get(type_.name, 0) and 2147483647 - (1 if type_.name == "nvarchar" else 0),
                None,
                None,
                verbose,
                sub,
                2147483646 if type_.name == "nvarchar" else precision,
            )
        return code, type_.length, size, None, None, verbose, sub, size
    length = {
        "uniqueidentifier": 16,
        "datetime": 16,
        "datetime2": 16,
        "smalldatetime": 16,
        "date": 6,
        "time": 12,
        "datetimeoffset": 20,
        "money": 21,
        "smallmoney": 12,
        "decimal": type_.precision + 2,
        "numeric": type_.precision + 2,
    }.get(type_.name, max_length(type_))
    precision = {"uniqueidentifier": 36, "bit": 1}.get(type_.name, precision)
    shown_scale = (
        None
        if type_.name in {"float", "real", "uniqueidentifier", "date", "bit", "sql_variant"}
        else scale
    )
    return code, precision, length, shown_scale, item.radix, verbose, sub, octets


def column_rows(call: Call, late: bool) -> Iterator[RowValues]:
    """Rows of sp_columns for tables, views, system views and patterns."""
    database = qualified_database(call.session, call.text("table_qualifier"))
    pattern = bool(call.number("fUsePattern"))
    name, owner = call.text("table_name"), call.text("table_owner")
    wanted = call.text("column_name")
    tables: list[Any] = [
        t
        for t in seen_objects(call.session, database, (Table, View))
        if matches(t.name, name, pattern) and matches(t.schema, owner, pattern)
    ]
    tables += [
        v
        for v in SYSTEM_VIEWS.values()
        if matches(v.name, name, pattern)
        and matches(v.schema, owner, pattern)
        and name not in {None, "%"}
    ]
    for table in sorted(tables, key=lambda t: (t.schema.lower(), t.name.lower())):
        for number, column in enumerate(table.columns, 1):
            if matches(column.name, wanted, pattern):
                shown = (
                    column
                    if isinstance(column, Column)
                    else Column(column.name, column.type, column.nullable)
                )
                yield column_row(database, table, number, shown, late)


def column_row(
    database: Database, table: Table, number: int, column: Column, late: bool
) -> tuple[Any, ...]:
    """The first 18 columns of sp_columns, then identity flag and TDS type."""
    code, precision, length, scale, radix, verbose, sub, octets = type_facts(column.type, late)
    name = "sysname" if user_type_id(database, column) == SYSNAME_ID else catalog_name(column.type)
    if column.identity is not None:
        name += "() identity" if column.type.name in {"decimal", "numeric"} else " identity"
    return (
        database.name,
        table.schema,
        table.name,
        column.name,
        code,
        name,
        precision,
        length,
        scale,
        radix,
        int(column.nullable),
        None,
        column.default_text or None,
        verbose,
        sub,
        octets,
        number,
        "YES" if column.nullable else "NO",
        int(column.identity is not None),
        tds_nullable_type(column.type, column.nullable),
    )


_SS_TYPES = {
    "int": (56, 38),
    "bigint": (63, 108),
    "smallint": (52, 38),
    "tinyint": (48, 38),
    "bit": (50, 50),
    "float": (62, 109),
    "real": (59, 109),
    "datetime": (61, 111),
    "smalldatetime": (58, 111),
    "money": (60, 110),
    "smallmoney": (122, 110),
    "decimal": (55, 106),
    "numeric": (63, 108),
    "char": (47, 39),
    "nchar": (47, 39),
    "varchar": (39, 39),
    "nvarchar": (39, 39),
    "binary": (45, 37),
    "varbinary": (37, 37),
    "rowversion": (45, 37),
    "uniqueidentifier": (37, 37),
    "text": (35, 35),
    "ntext": (35, 35),
    "image": (34, 34),
    "sql_variant": (39, 39),
    "xml": (0, 0),
    "date": (0, 0),
    "time": (0, 0),
    "datetime2": (0, 0),
    "datetimeoffset": (0, 0),
}


def tds_nullable_type(type_: SqlType, nullable: bool) -> int:
    """SS_DATA_TYPE: the old TDS type token, fixed or nullable form."""
    return _SS_TYPES.get(type_.name, (0, 0))[int(nullable)]


@procedure(
    "sp_columns",
    table_name=None,
    table_owner=None,
    table_qualifier=None,
    column_name=None,
    ODBCVer=2,
    fUsePattern=1,
)
def sp_columns(call: Call) -> None:
    """Columns as drivers before 2008 read them."""
    call.answer(COLUMNS, [(*row[:18], row[19]) for row in column_rows(call, late=False)])


@procedure(
    "sp_columns_100",
    "sp_columns_90",
    table_name=None,
    table_owner=None,
    table_qualifier=None,
    column_name=None,
    NameScope=0,
    ODBCVer=2,
    fUsePattern=1,
)
def sp_columns_100(call: Call) -> None:
    """Columns with what 2008 added. JDBC inserts this result into a table of 29 columns."""
    rows = [
        (*row[:18], 0, 0, 0, row[18], *[None] * 6, row[19]) for row in column_rows(call, late=True)
    ]
    call.answer(COLUMNS_100, rows)


# ---------------------------------------------------------------------- keys
PKEYS = result_columns("""
TABLE_QUALIFIER sysname?
TABLE_OWNER sysname?
TABLE_NAME sysname
COLUMN_NAME sysname
KEY_SEQ smallint
PK_NAME sysname?""")


def named_tables(call: Call, name: str, owner: str, qualifier: str) -> tuple[Any, list[Table]]:
    """(database, tables) of exact name and, when given, schema."""
    database = qualified_database(call.session, call.text(qualifier))
    wanted, schema = call.text(name), call.text(owner)
    return database, [
        t
        for t in seen_objects(call.session, database, Table)
        if matches(t.name, wanted, False) and matches(t.schema, schema, False)
    ]


@procedure("sp_pkeys", table_name=None, table_owner=None, table_qualifier=None)
def sp_pkeys(call: Call) -> None:
    """Columns of primary keys."""
    database, tables = named_tables(call, "table_name", "table_owner", "table_qualifier")
    rows = []
    for table in tables:
        for index in all_indexes(table):
            if index.primary:
                rows += [
                    (
                        database.name,
                        table.schema,
                        table.name,
                        table.columns[i].name,
                        number,
                        index.name,
                    )
                    for number, i in enumerate(index.columns, 1)
                ]
    call.answer(PKEYS, rows)


STATISTICS = result_columns("""
TABLE_QUALIFIER sysname?
TABLE_OWNER sysname?
TABLE_NAME sysname
NON_UNIQUE smallint?
INDEX_QUALIFIER sysname?
INDEX_NAME sysname?
TYPE smallint
SEQ_IN_INDEX smallint?
COLUMN_NAME sysname?
COLLATION char(1)?
CARDINALITY int?
PAGES int?
FILTER_CONDITION varchar(128)?""")


@procedure(
    "sp_statistics",
    "sp_statistics_100",
    table_name=None,
    table_owner=None,
    table_qualifier=None,
    index_name="%",
    is_unique="N",
    accuracy="Q",
)
def sp_statistics(call: Call) -> None:
    """One row for each table, then one per index column, unique indexes first."""
    database, tables = named_tables(call, "table_name", "table_owner", "table_qualifier")
    only_unique = (call.text("is_unique") or "N").upper() == "Y"
    rows: list[RowValues] = []
    for table in tables:
        count = len(table.rows.entries)
        rows.append(
            (
                database.name,
                table.schema,
                table.name,
                None,
                None,
                None,
                0,
                None,
                None,
                None,
                count,
                None,
                None,
            )
        )
        found = [
            i
            for i in all_indexes(table)
            if (i.unique or not only_unique) and matches(i.name, call.text("index_name"), True)
        ]
        for index in sorted(found, key=lambda i: (not i.unique, not i.clustered, i.name.lower())):
            rows += [
                (
                    database.name,
                    table.schema,
                    table.name,
                    int(not index.unique),
                    table.name,
                    index.name,
                    1 if index.clustered else 3,
                    number,
                    table.columns[i].name,
                    "A",
                    count,
                    None,
                    None,
                )
                for number, i in enumerate(index.columns, 1)
            ]
    call.answer(STATISTICS, rows)
