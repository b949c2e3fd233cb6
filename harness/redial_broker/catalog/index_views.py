"""Indexes, constraints and row counts of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from redial_broker.catalog import internal_tables
from redial_broker.catalog.object_views import OBJECT_COLUMNS, object_row, seen_objects
from redial_broker.catalog.views import view
from redial_broker.engine.storage import Index, Table
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.objects import Constraint, TableType

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


def table_indexes(table: Table) -> list[Index]:
    """The heap or the clustered index first, then the others by index id."""
    return [table.rows, *sorted(table.indexes, key=lambda index: index.index_id)]


def indexed_tables(session: SessionState, db: Database) -> Iterator[tuple[int, Table]]:
    """(object id, table) of user tables and table types."""
    for table in seen_objects(session, db, Table):
        yield table.object_id, table
    for item in db.types.values():
        if isinstance(item, TableType):
            yield item.type_table_id, item.definition.new_table(db.engine)


@view(
    "sys.indexes",
    """
object_id int
name sysname?
index_id int
type tinyint
type_desc nvarchar(60)?
is_unique bit?
data_space_id int = 1
ignore_dup_key bit?
is_primary_key bit?
is_unique_constraint bit?
fill_factor tinyint
is_padded bit?
is_disabled bit?
is_hypothetical bit? = 0
is_ignored_in_optimization bit? = 0
allow_row_locks bit? = 1
allow_page_locks bit?
has_filter bit?
filter_definition nvarchar(max)?
compression_delay int = None
suppress_dup_key_messages bit? = 0
auto_created bit? = 0
optimize_for_sequential_key bit?""",
)
def indexes(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Heaps and indexes."""
    for object_id, table in indexed_tables(session, db):
        for index in table_indexes(table):
            kind = (
                (0, "HEAP")
                if index.index_id == 0
                else (1, "CLUSTERED")
                if index.clustered
                else (2, "NONCLUSTERED")
            )
            options = index.options
            yield (
                object_id,
                index.name or None,
                index.index_id,
                *kind,
                int(index.unique),
                int(options.ignore_dup_key),
                int(index.primary),
                int(index.constraint and not index.primary),
                options.fill_factor,
                int(options.padded),
                int(index.disabled),
                int(options.page_locks),
                int(bool(index.where_text)),
                index.where_text or None,
                int(options.sequential),
            )


@view(
    "sys.index_columns",
    """
object_id int
index_id int
index_column_id int
column_id int
key_ordinal tinyint
partition_ordinal tinyint = 0
is_descending_key bit?
is_included_column bit?
column_store_order_ordinal tinyint = 0""",
)
def index_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Key columns in key order, then included ones."""
    for object_id, table in indexed_tables(session, db):
        for index in table_indexes(table):
            number = 0
            for position, ordinal in enumerate(index.columns, 1):
                number += 1
                yield (
                    object_id,
                    index.index_id,
                    number,
                    ordinal + 1,
                    position,
                    int(ordinal in index.descending),
                    0,
                )
            for ordinal in index.included:
                number += 1
                yield object_id, index.index_id, number, ordinal + 1, 0, 0, 1


# ---------------------------------------------------------------------- constraints
def constraints(session: SessionState, db: Database, *kinds: str) -> list[Constraint]:
    """Visible constraints of some kinds."""
    return [item for item in seen_objects(session, db, Constraint) if item.kind in kinds]


def table_of(db: Database, item: Constraint) -> Table:
    """The table a constraint belongs to."""
    table: Table = db.object_by_id(item.parent_id)
    return table


@view(
    "sys.key_constraints",
    OBJECT_COLUMNS
    + """unique_index_id int?
is_system_named bit
is_enforced bit? = 1""",
)
def key_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """PRIMARY KEY and UNIQUE constraints."""
    for item in constraints(session, db, "PRIMARY KEY", "UNIQUE"):
        index_id = next(
            (
                i.index_id
                for i in all_indexes(table_of(db, item))
                if i.name.lower() == item.name.lower()
            ),
            None,
        )
        yield (*object_row(db, item), index_id, int(item.system_named))


@view(
    "sys.check_constraints",
    OBJECT_COLUMNS
    + """is_disabled bit
is_not_for_replication bit = 0
is_not_trusted bit
parent_column_id int
definition nvarchar(max)?
uses_database_collation bit? = 1
is_system_named bit""",
)
def check_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """CHECK constraints."""
    for item in constraints(session, db, "CHECK"):
        yield (
            *object_row(db, item),
            int(item.disabled),
            int(not item.trusted),
            item.column,
            item.definition,
            int(item.system_named),
        )


@view(
    "sys.default_constraints",
    OBJECT_COLUMNS
    + """parent_column_id int
definition nvarchar(max)?
is_system_named bit""",
)
def default_constraints(session: SessionState, db: Database) -> Iterable[RowValues]:
    """DEFAULT constraints."""
    for item in constraints(session, db, "DEFAULT"):
        yield (*object_row(db, item), item.column, item.definition, int(item.system_named))


@view(
    "sys.foreign_keys",
    OBJECT_COLUMNS.replace(" = 0", "")
    + """referenced_object_id int?
key_index_id int?
is_disabled bit
is_not_for_replication bit
is_not_trusted bit
delete_referential_action tinyint?
delete_referential_action_desc nvarchar(60)?
update_referential_action tinyint?
update_referential_action_desc nvarchar(60)?
is_system_named bit""",
)
def foreign_keys(session: SessionState, db: Database) -> Iterable[RowValues]:
    """FOREIGN KEY constraints."""
    for item in constraints(session, db, "FOREIGN KEY"):
        foreign = item.reference
        index_id = next(
            (
                i.index_id
                for i in all_indexes(db.object_by_id(foreign.referenced_id))
                if i.name.lower() == foreign.index.lower()
            ),
            None,
        )
        yield (
            *object_row(db, item),
            *_NOT_SHIPPED,
            foreign.referenced_id,
            index_id,
            int(item.disabled),
            0,
            int(not item.trusted),
            *_action(foreign.on_delete),
            *_action(foreign.on_update),
            int(item.system_named),
        )


_NOT_SHIPPED = (0, 0, 0)
"""is_ms_shipped, is_published, is_schema_published."""


def _action(action: str) -> tuple[int, str]:
    """Number and description of a referential action (sys.foreign_keys page)."""
    names = ("NO_ACTION", "CASCADE", "SET_NULL", "SET_DEFAULT")
    number = names.index(action.replace(" ", "_"))
    return number, names[number]


@view(
    "sys.foreign_key_columns",
    """
constraint_object_id int
constraint_column_id int
parent_object_id int
parent_column_id int
referenced_object_id int
referenced_column_id int""",
)
def foreign_key_columns(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The columns of FOREIGN KEY constraints, in order."""
    for item in constraints(session, db, "FOREIGN KEY"):
        foreign = item.reference
        parent = db.object_by_id(foreign.referenced_id)
        for number, (own, other) in enumerate(zip(foreign.columns, foreign.referenced), 1):
            yield (
                item.object_id,
                number,
                item.parent_id,
                table_of(db, item).ordinals[own.lower()] + 1,
                parent.object_id,
                parent.ordinals[other.lower()] + 1,
            )


# ---------------------------------------------------------------------- where rows are
COMPRESSIONS = ("NONE", "ROW", "PAGE")
"""As sys.partitions numbers them."""


@view(
    "sys.filegroups",
    """
name sysname = 'PRIMARY'
data_space_id int = 1
type char(2) = 'FG'
type_desc nvarchar(60)? = 'ROWS_FILEGROUP'
is_default bit = 1
is_system bit = 0
filegroup_guid uniqueidentifier? = None
log_filegroup_id int? = None
is_read_only bit = 0
is_autogrow_all_files bit = 0""",
)
def filegroups(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The one there is: ALTER DATABASE ADD FILEGROUP is refused."""
    yield ()


# ---------------------------------------------------------------------- row counts
@view(
    "sys.partitions",
    """
partition_id bigint
object_id int
index_id int
partition_number int = 1
hobt_id bigint
rows bigint?
filestream_filegroup_id smallint = 0
data_compression tinyint
data_compression_desc nvarchar(60)?
xml_compression bit? = 0""",
)
def partitions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """One partition per heap or index, with its rows, uncommitted ones included."""
    for row in internal_tables.partition_rows(session, db):
        yield *row, 0, COMPRESSIONS[0]
    for table in seen_objects(session, db, Table):
        for index in table_indexes(table):
            yield (
                index.hobt_id,
                table.object_id,
                index.index_id,
                index.hobt_id,
                len(index.entries),
                COMPRESSIONS.index(index.options.compression),
                index.options.compression,
            )


@view(
    "sys.dm_db_partition_stats",
    """
partition_id bigint?
object_id int
index_id int
partition_number int = 1
- in_row_data_page_count bigint?
- in_row_used_page_count bigint?
- in_row_reserved_page_count bigint?
- lob_used_page_count bigint?
- lob_reserved_page_count bigint?
- row_overflow_used_page_count bigint?
- row_overflow_reserved_page_count bigint?
- used_page_count bigint?
- reserved_page_count bigint?
row_count bigint?""",
)
def partition_stats(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Row counts; there are no pages to count."""
    for number, table_id, index_id, _, rows in internal_tables.partition_rows(session, db):
        yield number, table_id, index_id, rows
    for table in seen_objects(session, db, Table):
        for index in table_indexes(table):
            yield index.hobt_id, table.object_id, index.index_id, len(index.entries)
