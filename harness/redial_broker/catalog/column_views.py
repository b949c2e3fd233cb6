"""Columns of tables, views and table types: all of them, identity and computed ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.views import view
from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.columns import Column
from redial_broker.engine.storage import Table
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.type_facts import SYSNAME_ID, max_length, precision_scale, type_id
from redial_broker.exec.objects import SYSTEM_VIEWS, Constraint, TableType, View
from redial_broker.exec.xml.schemas import xml_binding

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

COLUMN_COLUMNS = """
object_id int
name sysname?
column_id int
system_type_id tinyint
user_type_id int
max_length smallint
precision tinyint
scale tinyint
collation_name sysname?
is_nullable bit?
is_ansi_padded bit
is_rowguidcol bit
is_identity bit
is_computed bit
is_filestream bit = 0
is_replicated bit? = 0
is_non_sql_subscribed bit? = 0
is_merge_published bit? = 0
is_dts_replicated bit? = 0
is_xml_document bit
xml_collection_id int
default_object_id int
rule_object_id int = 0
is_sparse bit?
is_column_set bit? = 0
generated_always_type tinyint? = 0
generated_always_type_desc nvarchar(60)? = 'NOT_APPLICABLE'
is_hidden bit = 0
is_masked bit = 0"""


def user_type_id(db: Database, column: Column) -> int:
    """user_type_id: 256 for sysname, the alias type's own, else the system type's."""
    if column.user_type == "sysname":
        return SYSNAME_ID
    if column.user_type:
        schema, _, name = column.user_type.partition(".")
        found = db.resolve_type(schema, name)
        if found is not None:
            number: int = found.user_type_id
            return number
    return type_id(column.type)


def column_row(
    db: Database, object_id: int, number: int, column: Column, default: int
) -> tuple[Any, ...]:
    """The computed columns of sys.columns."""
    collation = (column.collation or DEFAULT_COLLATION) if column.type.is_string else None
    padded = column.type.is_string or column.type.is_binary
    return (
        object_id,
        column.name,
        number,
        type_id(column.type),
        user_type_id(db, column),
        max_length(column.type),
        *precision_scale(column.type),
        collation,
        int(column.nullable),
        int(padded),
        int(column.rowguid),
        int(column.identity is not None),
        int(column.computed is not None),
        *xml_binding(column.type),
        default,
        int(column.sparse),
    )


@view("sys.columns", COLUMN_COLUMNS)
def columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns of user tables, views and table types."""
    defaults = {
        (o.parent_id, o.column): o.object_id
        for o in db.objects.values()
        if isinstance(o, Constraint) and o.kind == "DEFAULT"
    }
    for table in seen_objects(session, db, Table):
        for number, column in enumerate(table.columns, 1):
            yield column_row(
                db, table.object_id, number, column, defaults.get((table.object_id, number), 0)
            )
    for item in seen_objects(session, db, View):
        for number, column in enumerate(item.columns, 1):
            yield column_row(db, item.object_id, number, column, 0)
    for item in db.types.values():
        if isinstance(item, TableType):
            for number, column in enumerate(item.definition.columns, 1):
                yield column_row(db, item.type_table_id, number, column, 0)


@view("sys.all_columns", COLUMN_COLUMNS)
def all_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns of user tables and of system views."""
    yield from columns(session, db)
    for item in SYSTEM_VIEWS.values():
        for number, column in enumerate(item.columns, 1):
            shown = Column(column.name, column.type, column.nullable)
            yield column_row(db, item.object_id, number, shown, 0)


@view(
    "sys.identity_columns",
    COLUMN_COLUMNS.replace("is_identity bit", "is_identity bit = 1")
    + """
seed_value sql_variant?
increment_value sql_variant?
last_value sql_variant?
is_not_for_replication bit? = 0""",
)
def identity_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Identity columns with their counters."""
    from redial_broker.engine.types import Variant

    for table in seen_objects(session, db, Table):
        at = table.identity_column
        if at is None:
            continue
        column = table.columns[at]
        seed, step = column.identity
        row = column_row(db, table.object_id, at + 1, column, 0)
        last = (
            None
            if table.next_identity == seed and not table.rows.entries
            else Variant(column.type, table.next_identity - step)
        )
        yield (*row[:12], *row[13:], Variant(column.type, seed), Variant(column.type, step), last)


@view(
    "sys.computed_columns",
    COLUMN_COLUMNS.replace("is_computed bit", "is_computed bit = 1")
    + """
definition nvarchar(max)?
uses_database_collation bit = 1
is_persisted bit""",
)
def computed_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Computed columns with what they are computed from."""
    for table in seen_objects(session, db, Table):
        for number, column in enumerate(table.columns, 1):
            if column.computed is not None:
                row = column_row(db, table.object_id, number, column, 0)
                yield (*row[:13], *row[14:], column.computed.text, int(column.computed.persisted))
