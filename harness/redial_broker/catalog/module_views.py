"""Modules: their text with its SET options, and their parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.object_views import seen_objects
from redial_broker.catalog.views import alias, view
from redial_broker.catalog.visibility import text_of
from redial_broker.engine.types import SqlType
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.type_facts import SYSNAME_ID, max_length, precision_scale, type_id
from redial_broker.exec.objects import AliasType, Module, TableType
from redial_broker.exec.xml.schemas import xml_binding

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


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
def sql_modules(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Definitions with the SET options that stick to them."""
    text = text_of(session, db)
    for item in seen_objects(session, db, Module):
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
def parameters(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Parameters of modules. has_default_value is 0 for T-SQL modules on servers too."""
    for item in seen_objects(session, db, Module):
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
