"""sys.objects and its kin: tables, modules, constraints, sequences, types, schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from redial_broker.catalog.internal_tables import object_rows, shipped
from redial_broker.catalog.views import alias, view
from redial_broker.catalog.visibility import text_of, visible
from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.storage import Column, Table
from redial_broker.engine.types import SqlType, sql_type
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.type_facts import (
    SYSNAME_ID,
    TYPE_IDS,
    catalog_name,
    max_length,
    precision_scale,
    type_id,
)
from redial_broker.exec.objects import (
    SYSTEM_VIEWS,
    AliasType,
    Constraint,
    Module,
    Procedure,
    Sequence,
    TableType,
    View,
    type_code,
)
from redial_broker.exec.xml.schemas import xml_binding

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


def seen_objects(s: Any, db: Database, kinds: type | tuple[type, ...] = object) -> list[Any]:
    """Objects of some classes the reader may see, by object id."""
    test = visible(s, db)
    found = [o for o in db.objects.values() if isinstance(o, kinds) and test(o)]
    return sorted(found, key=lambda item: item.object_id)


def object_row(db: Database, item: Any) -> tuple:
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
def objects(s: Any, db: Database) -> Iterable[tuple]:
    """Every object of a schema that the reader may see, internal tables included."""
    for item in seen_objects(s, db):
        yield (*object_row(db, item), shipped(item))
    yield from object_rows(s, db)
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
def all_objects(s: Any, db: Database) -> Iterable[tuple]:
    """User objects and system views."""
    for item in seen_objects(s, db):
        yield (*object_row(db, item), shipped(item))
    for item in system_items(db):
        yield (*item, 1)


def system_items(db: Database) -> Iterator[tuple]:
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
def tables(s: Any, db: Database) -> Iterable[tuple]:
    """User tables."""
    for table in seen_objects(s, db, Table):
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
def views(s: Any, db: Database) -> Iterable[tuple]:
    """User views."""
    for item in seen_objects(s, db, View):
        yield (*object_row(db, item), int(item.node.check_option))


@view("sys.system_views", OBJECT_COLUMNS.replace("is_ms_shipped bit = 0", "is_ms_shipped bit = 1"))
def system_views(s: Any, db: Database) -> Iterable[tuple]:
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
def procedures(s: Any, db: Database) -> Iterable[tuple]:
    """Stored procedures."""
    for item in seen_objects(s, db, Procedure):
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
def sequences(s: Any, db: Database) -> Iterable[tuple]:
    """Sequences; last_used_value is NULL before the first use."""
    from redial_broker.engine.types import Variant

    for item in seen_objects(s, db, Sequence):

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


# ---------------------------------------------------------------------- modules
@view(
    "sys.sql_modules",
    """
object_id int
definition nvarchar(max)?
uses_ansi_nulls bit?
uses_quoted_identifier bit?
is_schema_bound bit?
uses_database_collation bit? = 0
is_recompiled bit?
null_on_null_input bit? = 0
execute_as_principal_id int?
uses_native_compilation bit? = 0
is_inlineable bit? = 0""",
)
def sql_modules(s: Any, db: Database) -> Iterable[tuple]:
    """Definitions with the SET options that stick to them."""
    text = text_of(s, db)
    for item in seen_objects(s, db, Module):
        options = item.options
        yield (
            item.object_id,
            text(item),
            int(options.get("ansi_nulls", True)),
            int(options.get("quoted_identifier", True)),
            *(
                int(any(o.name == word for o in item.node.options))
                for word in ("SCHEMABINDING", "RECOMPILE")
            ),
            item.execute_as,
        )


alias("sys.all_sql_modules", "sys.sql_modules")


@view(
    "sys.parameters",
    """
object_id int
name sysname?
parameter_id int
system_type_id tinyint
user_type_id int
max_length smallint
precision tinyint
scale tinyint
is_output bit
is_cursor_ref bit = 0
has_default_value bit = 0
is_xml_document bit
default_value sql_variant = None
xml_collection_id int
is_readonly bit
is_nullable bit? = 1""",
)
def parameters(s: Any, db: Database) -> Iterable[tuple]:
    """Parameters of modules. has_default_value is 0 for T-SQL modules on servers too."""
    for item in seen_objects(s, db, Module):
        for number, parameter in enumerate(getattr(item.node, "parameters", ()), 1):
            system, user, size, precision, scale = parameter_facts(db, parameter)
            yield (
                item.object_id,
                parameter.variable.name,
                number,
                system,
                user,
                size,
                precision,
                scale,
                int(parameter.output),
                *_binding(db, parameter),
                int(parameter.readonly),
            )


def _binding(db: Database, parameter: Any) -> tuple[int, int]:
    """(is_xml_document, xml_collection_id) of a parameter."""
    table = isinstance(db.find_type(parameter.data_type.name), TableType)
    return (0, 0) if table else xml_binding(parameter_type(db, parameter))


def parameter_facts(db: Database, parameter: Any) -> tuple[int, int, int, int, int]:
    """(system_type_id, user_type_id, max_length, precision, scale) of a parameter."""
    found = db.find_type(parameter.data_type.name)
    if isinstance(found, TableType):
        return 243, found.user_type_id, -1, 0, 0
    type_ = parameter_type(db, parameter)
    user = found.user_type_id if isinstance(found, AliasType) else type_id(type_)
    if parameter.data_type.name.name.lower() == "sysname":
        user = SYSNAME_ID
    return type_id(type_), user, max_length(type_), *precision_scale(type_)


def parameter_type(db: Database, parameter: Any) -> SqlType:
    """The type of a scalar parameter."""
    from redial_broker.exec.conversion import resolve_type

    found = db.find_type(parameter.data_type.name)
    return (
        found.type
        if isinstance(found, AliasType)
        else resolve_type(parameter.data_type, xml_type=db.xml_type)
    )


# ---------------------------------------------------------------------- columns
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
            return found.user_type_id
    return type_id(column.type)


def column_row(db: Database, object_id: int, number: int, column: Column, default: int) -> tuple:
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
def columns(s: Any, db: Database) -> Iterable[tuple]:
    """Columns of user tables, views and table types."""
    defaults = {
        (o.parent_id, o.column): o.object_id
        for o in db.objects.values()
        if isinstance(o, Constraint) and o.kind == "DEFAULT"
    }
    for table in seen_objects(s, db, Table):
        for number, column in enumerate(table.columns, 1):
            yield column_row(
                db, table.object_id, number, column, defaults.get((table.object_id, number), 0)
            )
    for item in seen_objects(s, db, View):
        for number, column in enumerate(item.columns, 1):
            yield column_row(db, item.object_id, number, column, 0)
    for item in db.types.values():
        if isinstance(item, TableType):
            for number, column in enumerate(item.definition.columns, 1):
                yield column_row(db, item.type_table_id, number, column, 0)


@view("sys.all_columns", COLUMN_COLUMNS)
def all_columns(s: Any, db: Database) -> Iterable[tuple]:
    """Columns of user tables and of system views."""
    yield from columns(s, db)
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
def identity_columns(s: Any, db: Database) -> Iterable[tuple]:
    """Identity columns with their counters."""
    from redial_broker.engine.types import Variant

    for table in seen_objects(s, db, Table):
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
def computed_columns(s: Any, db: Database) -> Iterable[tuple]:
    """Computed columns with what they are computed from."""
    for table in seen_objects(s, db, Table):
        for number, column in enumerate(table.columns, 1):
            if column.computed is not None:
                row = column_row(db, table.object_id, number, column, 0)
                yield (*row[:13], *row[14:], column.computed.text, int(column.computed.persisted))


# ---------------------------------------------------------------------- schemas and types
@view(
    "sys.schemas",
    """
name sysname
schema_id int
principal_id int?""",
)
def schemas(s: Any, db: Database) -> Iterable[tuple]:
    """All schemas."""
    for item in sorted(db.schemas.values(), key=lambda schema: schema.schema_id):
        yield item.name, item.schema_id, item.owner


TYPE_COLUMNS = """
name sysname
system_type_id tinyint
user_type_id int
schema_id int
principal_id int? = None
max_length smallint
precision tinyint
scale tinyint
collation_name sysname?
is_nullable bit?
is_user_defined bit
is_assembly_type bit = 0
default_object_id int = 0
rule_object_id int = 0
is_table_type bit"""

_PLAIN_SIZES = {
    "varchar": 8000,
    "char": 8000,
    "nvarchar": 8000,
    "nchar": 8000,
    "binary": 8000,
    "varbinary": 8000,
    "decimal": 17,
    "numeric": 17,
    "time": 5,
    "datetime2": 8,
    "datetimeoffset": 10,
}
_PLAIN_PRECISION = {
    "decimal": (38, 38),
    "numeric": (38, 38),
    "time": (16, 7),
    "datetime2": (27, 7),
    "datetimeoffset": (34, 7),
}


@view("sys.types", TYPE_COLUMNS)
def types(s: Any, db: Database) -> Iterable[tuple]:
    """System types, then alias and table types."""
    for name, number in sorted(TYPE_IDS.items(), key=lambda item: item[1]):
        type_ = sql_type(name)
        size = _PLAIN_SIZES.get(name) or max_length(type_)
        collation = DEFAULT_COLLATION if type_.is_string else None
        yield (
            catalog_name(type_),
            number,
            number,
            4,
            size,
            *_PLAIN_PRECISION.get(name, precision_scale(type_)),
            collation,
            1,
            0,
            0,
        )
    yield ("sysname", TYPE_IDS["nvarchar"], SYSNAME_ID, 4, 256, 0, 0, DEFAULT_COLLATION, 0, 0, 0)
    for item in sorted(db.types.values(), key=lambda t: t.user_type_id):
        yield user_type_row(db, item)


def user_type_row(db: Database, item: AliasType | TableType) -> tuple:
    """The computed columns of sys.types for a type of the database."""
    schema = db.schema_of(item).schema_id
    if isinstance(item, TableType):
        return (item.name, 243, item.user_type_id, schema, -1, 0, 0, None, 0, 1, 1)
    collation = DEFAULT_COLLATION if item.type.is_string else None
    return (
        item.name,
        type_id(item.type),
        item.user_type_id,
        schema,
        max_length(item.type),
        *precision_scale(item.type),
        collation,
        int(item.nullable),
        1,
        0,
    )


@view(
    "sys.table_types",
    TYPE_COLUMNS
    + """
type_table_object_id int
is_memory_optimized bit? = 0""",
)
def table_types(s: Any, db: Database) -> Iterable[tuple]:
    """Table types."""
    for item in sorted(db.types.values(), key=lambda t: t.user_type_id):
        if isinstance(item, TableType):
            yield (*user_type_row(db, item), item.type_table_id)
