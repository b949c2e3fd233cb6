"""Types: the system's own, alias types and table types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from redial_broker.catalog.views import view
from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.differences import differs
from redial_broker.engine.types import sql_type
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.type_facts import (
    SYSNAME_ID,
    TYPE_IDS,
    catalog_name,
    max_length,
    precision_scale,
    type_id,
)
from redial_broker.exec.objects import AliasType, TableType

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

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
def types(session: SessionState, db: Database) -> Iterable[RowValues]:
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


def user_type_row(db: Database, item: AliasType | TableType) -> RowValues:
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
def table_types(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Table types."""
    for item in sorted(db.types.values(), key=lambda t: t.user_type_id):
        if isinstance(item, TableType):
            yield (*user_type_row(db, item), item.type_table_id)


differs(
    "assemblies",
    "sys.assemblies has no row: CREATE ASSEMBLY is refused, and the server's own "
    "Microsoft.SqlServer.Types is not there, as its types are not.",
)


@view(
    "sys.assemblies",
    """
name sysname
principal_id int?
assembly_id int
clr_name nvarchar(4000)?
permission_set tinyint?
permission_set_desc nvarchar(60)?
is_visible bit
create_date datetime
modify_date datetime
is_user_defined bit?""",
)
def assemblies(session: SessionState, db: Database) -> Iterable[RowValues]:
    """None; Flyway asks it whether a schema is empty."""
    return ()
