"""ODBC's catalog of rights and of columns that identify a row: sp_table_privileges,
sp_column_privileges, sp_special_columns (their pages)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure, result_columns
from redial_broker.catalog.procedures.objects import column_row, named_tables
from redial_broker.catalog.procedures.patterns import matches, qualified_database
from redial_broker.engine.storage import Index, Table
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.objects import View

OF_TABLES = ("DELETE", "INSERT", "REFERENCES", "SELECT", "UPDATE")
OF_COLUMNS = ("INSERT", "REFERENCES", "SELECT", "UPDATE")
GRANTED = {"G": "NO", "W": "YES"}
"""State of a permission -> IS_GRANTABLE; a DENY is no right."""

_HEAD = """
TABLE_QUALIFIER sysname?
TABLE_OWNER sysname?
TABLE_NAME sysname
"""
TABLE_RIGHTS = result_columns(
    _HEAD
    + """GRANTOR sysname?
GRANTEE sysname?
PRIVILEGE varchar(32)
IS_GRANTABLE varchar(3)?"""
)
COLUMN_RIGHTS = result_columns(
    _HEAD
    + """COLUMN_NAME sysname
GRANTOR sysname?
GRANTEE sysname?
PRIVILEGE varchar(32)
IS_GRANTABLE varchar(3)?"""
)
SPECIAL = result_columns("""
SCOPE smallint
COLUMN_NAME sysname
DATA_TYPE smallint
TYPE_NAME sysname
PRECISION int
LENGTH int
SCALE smallint?
PSEUDO_COLUMN smallint""")


def rights(db: Any, table: Any, wanted: tuple[str, ...], column: int) -> Iterator[tuple[str, ...]]:
    """(grantee, privilege, grantable) on a table, or on a column by its number: the owner has all
    of them, others what was granted on the whole or on that column."""
    owner = db.principal(db.owner_of(table))
    for name in wanted:
        yield owner.name, name, "YES"
    for (class_, major, minor, name, grantee), stated in db.permissions.items():
        if class_ != 1 or major != table.object_id or minor not in {0, column}:
            continue
        for state, _ in stated:
            if name in wanted and state in GRANTED:
                yield db.principal(grantee).name, name, GRANTED[state]


@procedure(
    "sp_table_privileges",
    table_name=REQUIRED,
    table_owner=None,
    table_qualifier=None,
    fUsePattern=1,
)
def sp_table_privileges(call: Call) -> None:
    """Rights on tables and views by pattern."""
    db = qualified_database(call.session, call.text("table_qualifier"))
    pattern = bool(call.number("fUsePattern"))
    rows = [
        (db.name, table.schema, table.name, table.schema, grantee, privilege, grantable)
        for table in seen_objects(call.session, db, (Table, View))
        if matches(table.name, call.text("table_name"), pattern)
        and matches(table.schema, call.text("table_owner"), pattern)
        for grantee, privilege, grantable in rights(db, table, OF_TABLES, 0)
    ]
    rows.sort(key=lambda row: (row[1].lower(), row[2].lower(), row[5], row[4].lower()))
    call.answer(TABLE_RIGHTS, rows)


@procedure(
    "sp_column_privileges",
    table_name=REQUIRED,
    table_owner=None,
    table_qualifier=None,
    column_name=None,
)
def sp_column_privileges(call: Call) -> None:
    """Rights on the columns of one table; only the column's name is a pattern."""
    db = qualified_database(call.session, call.text("table_qualifier"))
    rows = []
    for table in seen_objects(call.session, db, (Table, View)):
        if not matches(table.name, call.text("table_name"), False):
            continue
        if not matches(table.schema, call.text("table_owner"), False):
            continue
        rows += [
            (db.name, table.schema, table.name, column.name, table.schema, *found)
            for number, column in enumerate(table.columns, 1)
            if matches(column.name, call.text("column_name"), True)
            for found in rights(db, table, OF_COLUMNS, number)
        ]
    rows.sort(key=lambda row: (row[1].lower(), row[3].lower(), row[6], row[5].lower()))
    call.answer(COLUMN_RIGHTS, rows)


@procedure(
    "sp_special_columns",
    "sp_special_columns_90",
    "sp_special_columns_100",
    table_name=REQUIRED,
    table_owner=None,
    qualifier=None,
    col_type="R",
    scope="T",
    nullable="U",
    ODBCVer=2,
)
def sp_special_columns(call: Call) -> None:
    """R: the columns that tell rows apart, of the primary key or else of a unique index; V: the
    column a server changes by itself."""
    db, tables = named_tables(call, "table_name", "table_owner", "qualifier")
    rows = []
    for table in tables:
        if (call.text("col_type") or "R").upper() == "V":
            places = [i for i, column in enumerate(table.columns) if column.rowversion]
        else:
            places = best_columns(table, (call.text("nullable") or "U").upper() == "U")
        for place in places:
            shown = column_row(db, table, place + 1, table.columns[place], late=True)
            rows.append((0, *shown[3:9], 1))
    call.answer(SPECIAL, rows)


def best_columns(table: Table, nullable: bool) -> list[int]:
    """Places of the columns of the index that identifies a row best; none without such an index."""
    found: list[Index] = [
        index
        for index in all_indexes(table)
        if index.unique
        and index.where is None
        and (nullable or not any(table.columns[i].nullable for i in index.columns))
    ]
    found.sort(key=lambda index: not index.primary)
    return list(found[0].columns) if found else []
