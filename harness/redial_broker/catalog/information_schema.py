"""INFORMATION_SCHEMA: TABLES, COLUMNS, ROUTINES, and the views of keys tools read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from redial_broker.catalog.index_views import constraints, table_of
from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import text_of
from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.columns import Column
from redial_broker.engine.storage import Table
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.type_facts import catalog_name, max_length, precision_scale
from redial_broker.exec.objects import Constraint, Function, Procedure, View

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_NAMED = re.compile(r"'(?:[^']|'')*'|\[([^\]]+)\]|([A-Za-z_#][\w@#$]*)")
_NUMBERS = frozenset(
    {"tinyint", "smallint", "int", "bigint", "decimal", "numeric", "money", "smallmoney"}
)


@view(
    "INFORMATION_SCHEMA.TABLES",
    """
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME sysname
TABLE_TYPE varchar(10)?""",
)
def tables(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Tables and views."""
    for item in seen_objects(session, db, (Table, View)):
        yield (db.name, item.schema, item.name, "BASE TABLE" if isinstance(item, Table) else "VIEW")


@view(
    "INFORMATION_SCHEMA.COLUMNS",
    """
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME sysname
COLUMN_NAME sysname?
ORDINAL_POSITION int?
COLUMN_DEFAULT nvarchar(4000)?
IS_NULLABLE varchar(3)?
DATA_TYPE nvarchar(128)?
CHARACTER_MAXIMUM_LENGTH int?
CHARACTER_OCTET_LENGTH int?
NUMERIC_PRECISION tinyint?
NUMERIC_PRECISION_RADIX smallint?
NUMERIC_SCALE int?
DATETIME_PRECISION smallint?
CHARACTER_SET_CATALOG sysname = None
CHARACTER_SET_SCHEMA sysname = None
CHARACTER_SET_NAME sysname?
COLLATION_CATALOG sysname = None
COLLATION_SCHEMA sysname = None
COLLATION_NAME sysname?
DOMAIN_CATALOG sysname?
DOMAIN_SCHEMA sysname?
DOMAIN_NAME sysname?""",
)
def columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns of tables and views."""
    for table in seen_objects(session, db, (Table, View)):
        for number, column in enumerate(table.columns, 1):
            yield column_row(db, table, number, column)


def column_row(db: Database, table: Table, number: int, column: Column) -> RowValues:
    """One row of INFORMATION_SCHEMA.COLUMNS, computed columns only."""
    type_ = column.type
    precision, scale = precision_scale(type_)
    binary = type_.is_binary and type_.name != "rowversion"
    text = type_.is_string or binary or type_.name == "xml"
    size = max_length(type_)
    characters = type_.length if type_.length else size
    charset = None
    if type_.is_string:
        charset = "UNICODE" if type_.name in {"nchar", "nvarchar", "ntext"} else "iso_1"
    exact = type_.name in _NUMBERS
    approximate = type_.name in {"float", "real"}
    moment = {"datetime": 3, "date": 0, "smalldatetime": 0}.get(type_.name)
    if type_.name in {"datetime2", "datetimeoffset", "time"}:
        moment = type_.scale
    domain: tuple[str | None, ...] = (None, None, None)
    if "." in column.user_type:
        domain = (db.name, *column.user_type.split(".", 1))
    return (
        db.name,
        table.schema,
        table.name,
        column.name,
        number,
        column.default_text or None,
        "YES" if column.nullable else "NO",
        catalog_name(type_),
        characters if text else None,
        size if text else None,
        precision if exact or approximate else None,
        10 if exact else 2 if approximate else None,
        scale if exact else None,
        moment,
        charset,
        (column.collation or DEFAULT_COLLATION) if type_.is_string else None,
        *domain,
    )


@view(
    "INFORMATION_SCHEMA.VIEWS",
    """
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME sysname
VIEW_DEFINITION nvarchar(4000)?
CHECK_OPTION varchar(7)?
IS_UPDATABLE varchar(2)? = 'NO'""",
)
def views(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Views; IS_UPDATABLE always says NO (its page)."""
    for item in seen_objects(session, db, View):
        text = item.shown_text
        yield (
            db.name,
            item.schema,
            item.name,
            text if text is not None and len(text) <= 4000 else None,
            "CASCADE" if item.node.check_option else "NONE",
        )


@view(
    "INFORMATION_SCHEMA.ROUTINES",
    """
SPECIFIC_CATALOG nvarchar(128)?
SPECIFIC_SCHEMA nvarchar(128)?
SPECIFIC_NAME sysname
ROUTINE_CATALOG nvarchar(128)?
ROUTINE_SCHEMA nvarchar(128)?
ROUTINE_NAME sysname
ROUTINE_TYPE nvarchar(20)?
- DATA_TYPE sysname?
ROUTINE_BODY nvarchar(30)? = 'SQL'
ROUTINE_DEFINITION nvarchar(4000)?
SQL_DATA_ACCESS nvarchar(30)?
CREATED datetime
LAST_ALTERED datetime""",
)
def routines(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Procedures and functions."""
    text = text_of(session, db)
    for item in seen_objects(session, db, (Procedure, Function)):
        procedure = isinstance(item, Procedure)
        created, modified = db.dates[item.object_id]
        name = (db.name, item.schema, item.name)
        yield (
            *name,
            *name,
            "PROCEDURE" if procedure else "FUNCTION",
            (text(item) or "")[:4000] or None,
            "MODIFIES" if procedure else "READS",
            created,
            modified,
        )


@view(
    "INFORMATION_SCHEMA.SCHEMATA",
    """
CATALOG_NAME sysname?
SCHEMA_NAME sysname
SCHEMA_OWNER sysname?
DEFAULT_CHARACTER_SET_CATALOG varchar(6) = None
DEFAULT_CHARACTER_SET_SCHEMA varchar(3) = None
DEFAULT_CHARACTER_SET_NAME sysname? = 'iso_1'""",
)
def schemata(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Schemas."""
    for schema in sorted(db.schemas.values(), key=lambda item: item.schema_id):
        owner = db.principal(schema.owner)
        yield db.name, schema.name, owner.name if owner else None


@view(
    "INFORMATION_SCHEMA.TABLE_CONSTRAINTS",
    """
CONSTRAINT_CATALOG nvarchar(128)?
CONSTRAINT_SCHEMA nvarchar(128)?
CONSTRAINT_NAME sysname
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME sysname?
CONSTRAINT_TYPE varchar(11)?
IS_DEFERRABLE varchar(2) = 'NO'
INITIALLY_DEFERRED varchar(2) = 'NO'""",
)
def table_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Keys and checks."""
    for item in constraints(session, db, "PRIMARY KEY", "UNIQUE", "CHECK", "FOREIGN KEY"):
        table = table_of(db, item)
        yield db.name, item.schema, item.name, db.name, table.schema, table.name, item.kind


@view(
    "INFORMATION_SCHEMA.KEY_COLUMN_USAGE",
    """
CONSTRAINT_CATALOG nvarchar(128)?
CONSTRAINT_SCHEMA nvarchar(128)?
CONSTRAINT_NAME nvarchar(128)
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME sysname
COLUMN_NAME nvarchar(128)?
ORDINAL_POSITION int""",
)
def key_column_usage(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns of keys and of foreign keys."""
    for item in constraints(session, db, "PRIMARY KEY", "UNIQUE"):
        table = table_of(db, item)
        for index in all_indexes(table):
            if index.name.lower() == item.name.lower():
                for number, ordinal in enumerate(index.columns, 1):
                    yield (
                        db.name,
                        item.schema,
                        item.name,
                        db.name,
                        table.schema,
                        table.name,
                        table.columns[ordinal].name,
                        number,
                    )
    for item in constraints(session, db, "FOREIGN KEY"):
        table = table_of(db, item)
        for number, name in enumerate(item.reference.columns, 1):
            yield (db.name, item.schema, item.name, db.name, table.schema, table.name, name, number)


@view(
    "INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS",
    """
CONSTRAINT_CATALOG nvarchar(128)?
CONSTRAINT_SCHEMA nvarchar(128)?
CONSTRAINT_NAME sysname
UNIQUE_CONSTRAINT_CATALOG nvarchar(128)?
UNIQUE_CONSTRAINT_SCHEMA nvarchar(128)?
UNIQUE_CONSTRAINT_NAME sysname?
MATCH_OPTION varchar(7)? = 'SIMPLE'
UPDATE_RULE varchar(11)?
DELETE_RULE varchar(11)?""",
)
def referential_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """FOREIGN KEY constraints and the unique key each refers to."""
    for item in constraints(session, db, "FOREIGN KEY"):
        foreign = item.reference
        parent = db.object_by_id(foreign.referenced_id)
        yield (
            db.name,
            item.schema,
            item.name,
            db.name,
            parent.schema,
            foreign.index,
            foreign.on_update,
            foreign.on_delete,
        )


@view(
    "INFORMATION_SCHEMA.CHECK_CONSTRAINTS",
    """
CONSTRAINT_CATALOG nvarchar(128)?
CONSTRAINT_SCHEMA nvarchar(128)?
CONSTRAINT_NAME sysname
CHECK_CLAUSE nvarchar(4000)?""",
)
def check_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """CHECK constraints with their text."""
    for item in constraints(session, db, "CHECK"):
        yield db.name, item.schema, item.name, item.definition


@view(
    "INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE",
    """
TABLE_CATALOG nvarchar(128)?
TABLE_SCHEMA nvarchar(128)?
TABLE_NAME nvarchar(128)
COLUMN_NAME nvarchar(128)?
CONSTRAINT_CATALOG nvarchar(128)?
CONSTRAINT_SCHEMA nvarchar(128)?
CONSTRAINT_NAME nvarchar(128)""",
)
def constraint_column_usage(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns that keys, foreign keys and checks are about."""
    for row in key_column_usage(session, db):
        catalog, schema, name, _, table_schema, table, column, _ = row
        yield catalog, table_schema, table, column, catalog, schema, name
    for item in constraints(session, db, "CHECK"):
        table = table_of(db, item)
        for column in sorted(columns_of_check(table, item)):
            yield db.name, table.schema, table.name, column, db.name, item.schema, item.name


def columns_of_check(table: Table, item: Constraint) -> set[str]:
    """The columns of a table that the text of a CHECK names."""
    named = {(one or other).lower() for one, other in _NAMED.findall(item.definition)}
    return {column.name for column in table.columns if column.name.lower() in named}
