"""sys.objects and its kin: tables, views, procedures, sequences, and the schemas they are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.internal_tables import object_rows, shipped
from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import visible
from redial_broker.engine.storage import Table
from redial_broker.engine.types import SqlType
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.type_facts import precision_scale, type_id
from redial_broker.exec.objects import SYSTEM_VIEWS, Procedure, Sequence, TableType, View, type_code

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

OBJECT_COLUMNS = """
name sysname
object_id int
principal_id int?
schema_id int
parent_object_id int
type char(2)
type_desc nvarchar(60)?
create_date datetime
modify_date datetime
is_ms_shipped bit = 0
is_published bit = 0
is_schema_published bit = 0
"""


def seen_objects(
    session: SessionState, db: Database, kinds: type | tuple[type, ...] = object
) -> list[Any]:
    """Objects of some classes the reader may see, by object id."""
    test = visible(session, db)
    found = [o for o in db.objects.values() if isinstance(o, kinds) and test(o)]
    return sorted(found, key=lambda item: item.object_id)


def object_row(db: Database, item: Any) -> RowValues:
    """The computed columns of sys.objects."""
    code, description = type_code(item)
    created, modified = db.dates.get(item.object_id, (db.created, db.created))
    return (
        item.name,
        item.object_id,
        db.owners.get(item.object_id),
        db.schema_of(item).schema_id,
        getattr(item, "parent_id", 0) or 0,
        code,
        description,
        created,
        modified,
    )


SHIPPED_COLUMNS = OBJECT_COLUMNS.replace("is_ms_shipped bit = 0", "is_ms_shipped bit")


@view("sys.objects", SHIPPED_COLUMNS)
def objects(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Every object of a schema that the reader may see, internal tables included."""
    for item in seen_objects(session, db):
        yield (*object_row(db, item), shipped(item))
    yield from object_rows(session, db)
    for item in db.types.values():
        if isinstance(item, TableType):
            created, modified = db.created, db.created
            yield (
                f"TT_{item.name}_{item.type_table_id:08X}",
                item.type_table_id,
                None,
                4,
                0,
                "TT",
                "TYPE_TABLE",
                created,
                modified,
                0,
            )


@view("sys.all_objects", SHIPPED_COLUMNS)
def all_objects(session: SessionState, db: Database) -> Iterable[RowValues]:
    """User objects and system views."""
    for item in seen_objects(session, db):
        yield (*object_row(db, item), shipped(item))
    for item in system_items(db):
        yield (*item, 1)


def system_items(db: Database) -> Iterator[RowValues]:
    """The computed columns of sys.objects for system views, by name."""
    for (schema, _), item in sorted(SYSTEM_VIEWS.items()):
        yield (
            item.name,
            item.object_id,
            None,
            4 if schema == "sys" else 3,
            0,
            "V ",
            "VIEW",
            db.created,
            db.created,
        )


@view(
    "sys.tables",
    OBJECT_COLUMNS
    + """lob_data_space_id int = 0
filestream_data_space_id int = None
max_column_id_used int
lock_on_bulk_load bit = 0
uses_ansi_nulls bit = 1
is_replicated bit = 0
has_replication_filter bit = 0
is_merge_published bit = 0
is_sync_tran_subscribed bit = 0
has_unchecked_assembly_data bit = 0
text_in_row_limit int = 0
large_value_types_out_of_row bit = 0
is_tracked_by_cdc bit = 0
lock_escalation tinyint
lock_escalation_desc nvarchar(60)?
is_filetable bit = 0
is_memory_optimized bit = 0
durability tinyint = 0
durability_desc nvarchar(60) = 'SCHEMA_AND_DATA'
temporal_type tinyint = 0
temporal_type_desc nvarchar(60) = 'NON_TEMPORAL_TABLE'
history_table_id int = None
is_remote_data_archive_enabled bit = 0
is_external bit = 0
is_node bit = 0
is_edge bit = 0""",
)
def tables(session: SessionState, db: Database) -> Iterable[RowValues]:
    """User tables."""
    for table in seen_objects(session, db, Table):
        escalates = table.lock_escalation
        yield (
            *object_row(db, table),
            len(table.columns),
            0 if escalates else 1,
            "TABLE" if escalates else "DISABLE",
        )


@view(
    "sys.views",
    OBJECT_COLUMNS
    + """has_opaque_metadata bit = 0
with_check_option bit
is_date_correlation_view bit = 0""",
)
def views(session: SessionState, db: Database) -> Iterable[RowValues]:
    """User views."""
    for item in seen_objects(session, db, View):
        yield (*object_row(db, item), int(item.node.check_option))


@view("sys.system_views", OBJECT_COLUMNS.replace("is_ms_shipped bit = 0", "is_ms_shipped bit = 1"))
def system_views(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The system views there are."""
    return system_items(db)


@view(
    "sys.procedures",
    OBJECT_COLUMNS
    + """is_auto_executed bit = 0
is_execution_replicated bit = 0
is_repl_serializable_only bit = 0
skips_repl_constraints bit = 0""",
)
def procedures(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Stored procedures."""
    for item in seen_objects(session, db, Procedure):
        yield object_row(db, item)


@view(
    "sys.sequences",
    OBJECT_COLUMNS
    + """start_value sql_variant
increment sql_variant
minimum_value sql_variant?
maximum_value sql_variant?
is_cycling bit?
is_cached bit = 1
cache_size int = None
system_type_id tinyint
user_type_id int
precision tinyint
scale tinyint? = 0
current_value sql_variant
is_exhausted bit
last_used_value sql_variant?""",
)
def sequences(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Sequences; last_used_value is NULL before the first use."""
    from redial_broker.engine.types import Variant

    for item in seen_objects(session, db, Sequence):

        def typed(value: int | None, of: SqlType = item.type) -> Variant | None:
            return None if value is None else Variant(of, value)

        following = item.next_value
        last = None if following in {None, item.start} else following - item.increment
        yield (
            *object_row(db, item),
            typed(item.start),
            typed(item.increment),
            typed(item.minimum),
            typed(item.maximum),
            int(item.cycle),
            type_id(item.type),
            type_id(item.type),
            precision_scale(item.type)[0],
            typed(last if last is not None else item.start),
            int(following is None),
            typed(last),
        )


@view(
    "sys.schemas",
    """
name sysname
schema_id int
principal_id int?""",
)
def schemas(session: SessionState, db: Database) -> Iterable[RowValues]:
    """All schemas."""
    for item in sorted(db.schemas.values(), key=lambda schema: schema.schema_id):
        yield item.name, item.schema_id, item.owner
