"""Synonyms, statistics, and who refers to whom (pages of the views; entities, not columns)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.names import find_object
from redial_broker.catalog.object_views import OBJECT_COLUMNS, object_row, seen_objects
from redial_broker.catalog.views import parse_column, view
from redial_broker.catalog.visibility import sees_definitions
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.engine.types import NVARCHAR_MAX, SYSNAME, ResultColumn
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.dependencies import references_of, referrers, resolved, schema_bound
from redial_broker.exec.objects import TABLE_FUNCTIONS, Constraint, Module, Synonym, type_code

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

differs(
    "sys.dm_sql_referenced_entities and sp_depends",
    "Rows for objects only, none for their columns.",
)


def quoted(parts: Iterable[str]) -> str:
    """A name with every part in brackets."""
    return ".".join(f"[{part.replace(']', ']]')}]" for part in parts)


@view("sys.synonyms", OBJECT_COLUMNS + """base_object_name nvarchar(1035)?""")
def synonyms(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Synonyms with the name they stand for, as written."""
    for item in seen_objects(session, db, Synonym):
        yield (*object_row(db, item), quoted(item.target.parts))


@view(
    "sys.stats",
    """
object_id int
name nvarchar(128)?
stats_id int
auto_created bit? = 0
user_created bit?
no_recompute bit? = 0
has_filter bit?
filter_definition nvarchar(max)?
is_temporary bit? = 0
is_incremental bit? = 0
has_persisted_sample bit? = 0
stats_generation_method int = 0
stats_generation_method_desc varchar(255) = 'Sort based statistics'
auto_drop bit? = 0""",
)
def stats(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Those of indexes, by index id, and those of CREATE STATISTICS; none are made by themselves."""
    for table in seen_objects(session, db, Table):
        last = 1
        for index in all_indexes(table):
            last = max(last, index.index_id)
            yield (
                table.object_id,
                index.name,
                index.index_id,
                0,
                int(bool(index.where_text)),
                index.where_text or None,
            )
        for number, item in enumerate(table.statistics, last + 1):
            yield table.object_id, item.name, number, 1, 0, None


@view(
    "sys.stats_columns",
    """
object_id int
stats_id int
stats_column_id int?
column_id int?""",
)
def stats_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Columns of statistics, in order."""
    for table in seen_objects(session, db, Table):
        last = 1
        for index in all_indexes(table):
            last = max(last, index.index_id)
            for position, ordinal in enumerate(index.columns, 1):
                yield table.object_id, index.index_id, position, ordinal + 1
        for number, item in enumerate(table.statistics, last + 1):
            for position, name in enumerate(item.columns, 1):
                yield table.object_id, number, position, table.ordinals[name.lower()] + 1


@view(
    "sys.sql_expression_dependencies",
    """
referencing_id int
referencing_minor_id int = 0
referencing_class tinyint? = 1
referencing_class_desc nvarchar(60)? = 'OBJECT_OR_COLUMN'
is_schema_bound_reference bit
referenced_class tinyint? = 1
referenced_class_desc nvarchar(60)? = 'OBJECT_OR_COLUMN'
referenced_server_name sysname?
referenced_database_name sysname?
referenced_schema_name sysname?
referenced_entity_name sysname?
referenced_id int?
referenced_minor_id int = 0
is_caller_dependent bit
is_ambiguous bit = 0""",
)
def expression_dependencies(session: SessionState, db: Database) -> Iterable[RowValues]:
    """By-name references of modules and constraints; temporary tables are not among them."""
    if not sees_definitions(session, db):
        # SELECT on it is db_owner's, VIEW DEFINITION on the database is asked for too (its page).
        raise SqlError(
            229, "SELECT", "sql_expression_dependencies", "mssqlsystemresource", "sys", state=5
        )
    for item in seen_objects(session, db, (Module, Constraint)):
        for name in references_of(item):
            found = resolved(db, name)
            caller = name.schema is None and type_code(item)[0] == "P "
            yield (
                item.object_id,
                int(schema_bound(item)),
                name.server,
                name.database,
                name.schema,
                name.name,
                found.object_id if found is not None and not caller else None,
                int(caller),
            )


# ---------------------------------------------------------------------- functions
def _columns(declaration: str) -> list[ResultColumn]:
    found = [parse_column(line) for line in declaration.strip().splitlines()]
    return [ResultColumn(c.name, c.type, c.nullable) for c in found]


_REFERENCING = _columns("""
referencing_schema_name sysname?
referencing_entity_name sysname
referencing_id int?
referencing_class tinyint?
referencing_class_desc nvarchar(60)?
is_caller_dependent bit""")


def referencing_entities(session: SessionState, values: list[Any]) -> list[RowValues]:
    """sys.dm_sql_referencing_entities(name, class): who refers to an object."""
    database, item = find_object(session, str(values[0] or ""))
    if item is None or str(values[1] or "").upper() != "OBJECT":
        return []
    return [
        (o.schema, o.name, o.object_id, 1, "OBJECT_OR_COLUMN", 0) for o in referrers(database, item)
    ]


_REFERENCED = _columns("""
referencing_minor_id int
referenced_server_name sysname?
referenced_database_name sysname?
referenced_schema_name sysname?
referenced_entity_name sysname?
referenced_minor_name sysname?
referenced_id int?
referenced_minor_id int
referenced_class tinyint?
referenced_class_desc nvarchar(60)?
is_caller_dependent bit
is_ambiguous bit""")


def referenced_entities(session: SessionState, values: list[Any]) -> list[RowValues]:
    """sys.dm_sql_referenced_entities(name, class): the objects a module refers to.

    A server has a row for each column too; columns are left out here.
    """
    database, item = find_object(session, str(values[0] or ""))
    if item is None or str(values[1] or "").upper() != "OBJECT":
        return []
    rows = []
    for name in references_of(item):
        found = resolved(database, name, item.schema)
        rows.append(
            (
                0,
                name.server,
                name.database,
                name.schema,
                name.name,
                None,
                found.object_id if found is not None else None,
                0,
                1,
                "OBJECT_OR_COLUMN",
                0,
                0,
            )
        )
    return rows


TABLE_FUNCTIONS["dm_sql_referencing_entities"] = (
    _REFERENCING,
    referencing_entities,
    (NVARCHAR_MAX, SYSNAME),
)
TABLE_FUNCTIONS["dm_sql_referenced_entities"] = (
    _REFERENCED,
    referenced_entities,
    (NVARCHAR_MAX, SYSNAME),
)
