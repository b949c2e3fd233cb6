"""Extended properties: version stamps and descriptions (sp_addextendedproperty page)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.names import find_object
from redial_broker.catalog.procedures.arguments import (
    REQUIRED,
    Call,
    procedure,
    result_columns,
)
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.storage import Table
from redial_broker.engine.types import SYSNAME, Variant, nvarchar
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.objects import TABLE_FUNCTIONS, Constraint
from redial_broker.exec.security import (
    DATABASE,
    OBJECT,
    PRINCIPAL,
    SCHEMA,
    TYPE,
    has_permission,
    securable,
)

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

INDEX = 7
_BROKER_LEVEL_0 = {
    "SERVICE": (17, "services"),
    "CONTRACT": (16, "contracts"),
    "MESSAGE TYPE": (15, "message_types"),
    "ROUTE": (19, "routes"),
}
_LEVELS = ("level0type", "level0name", "level1type", "level1name", "level2type", "level2name")
_NONE = dict.fromkeys(_LEVELS)


def place_of(session: SessionState, given: list[str | None]) -> tuple[tuple[int, int, int], Any]:
    """((class, major, minor), securable item) of up to three levels. Raises SqlError 15135."""
    type0, name0, type1, name1, type2, name2 = given
    database = session.database
    if type0 is None:
        return (DATABASE, 0, 0), database
    kind = type0.upper()
    shown = ".".join(part for part in (name0, name1, name2) if part)
    if kind in _BROKER_LEVEL_0 and type1 is None:
        class_, attribute = _BROKER_LEVEL_0[kind]
        item = getattr(database.broker, attribute).get(name0)
        if item is not None:
            return (class_, securable(item, database).major, 0), item
    elif kind in {"USER", "ROLE"} and type1 is None:
        item = database.principals.get((name0 or "").lower())
        if item is not None:
            return (PRINCIPAL, item.id, 0), item
    elif kind == "SCHEMA":
        schema = database.schemas.get((name0 or "").lower())
        if schema is not None and type1 is None:
            return (SCHEMA, schema.schema_id, 0), schema
        if schema is not None:
            found = _in_schema(session, schema.name, type1 or "", name1 or "", type2, name2)
            if found is not None:
                return found
    raise SqlError(15135, shown)


def _in_schema(
    session: SessionState, schema: str, type1: str, name1: str, type2: str | None, name2: str | None
) -> tuple[tuple[int, int, int], Any] | None:
    """Level 1 and 2 inside a schema; None when there is no such thing."""
    if type1.upper() == "TYPE":
        item = session.database.resolve_type(schema, name1)
        return ((TYPE, item.user_type_id, 0), item) if item is not None else None
    quoted = name1.replace("]", "]]")
    _, item = find_object(session, f"[{schema.replace(']', ']]')}].[{quoted}]")
    if item is None:
        return None
    if type2 is None:
        return (OBJECT, item.object_id, 0), item
    wanted = (name2 or "").lower()
    kind = type2.upper()
    if kind == "COLUMN" and isinstance(item, Table) and wanted in item.ordinals:
        return (OBJECT, item.object_id, item.ordinals[wanted] + 1), item
    if kind == "INDEX" and isinstance(item, Table):
        for index in all_indexes(item):
            if index.name.lower() == wanted:
                return (INDEX, item.object_id, index.index_id), item
    if kind == "PARAMETER":
        for number, parameter in enumerate(getattr(item.node, "parameters", ()), 1):
            if parameter.variable.name.lower() == wanted:
                return (2, item.object_id, number), item
    if kind == "CONSTRAINT":
        found = session.database.objects.get((schema.lower(), wanted))
        if isinstance(found, Constraint) and found.parent_id == item.object_id:
            return (OBJECT, found.object_id, 0), item
    return None


def change(call: Call, verb: str) -> None:
    """Add, update or drop one property. Errors are RAISERROR's, and 1 is returned (F-361)."""
    try:
        _change(call, verb)
    except SqlError as error:
        error.raised = True
        raise


def _change(call: Call, verb: str) -> None:
    """The change itself. Raises SqlError 15135, 15217, 15233."""
    session = call.session
    place, item = place_of(session, [call.text(level) for level in _LEVELS])
    database, name = session.database, call.text("name") or ""
    # ALTER or CONTROL (its page); a type has no permission ALTER (GRANT Type Permissions page).
    if not has_permission(session, "CONTROL" if place[0] == TYPE else "ALTER", item):
        raise SqlError(15135, name)
    key = next(
        (k for k in database.properties if k[:3] == place and k[3].lower() == name.lower()),
        (*place, name),
    )
    exists = key in database.properties
    if verb == "add" and exists:
        raise SqlError(15233, name, call.text("level1name") or database.name)
    if verb != "add" and not exists:
        raise SqlError(15217, name, call.text("level1name") or database.name)
    value: Any = MISSING
    if verb != "drop":
        value = call["value"]
        if isinstance(value, str):
            value = Variant(nvarchar(4000), value)
    session.engine.journal.put(session.work(), database, database.properties, key, value)


@procedure("sp_addextendedproperty", name=REQUIRED, value=None, **_NONE)
def sp_addextendedproperty(call: Call) -> None:
    """A new property; 15233 when it is there already."""
    change(call, "add")


@procedure("sp_updateextendedproperty", name=REQUIRED, value=None, **_NONE)
def sp_updateextendedproperty(call: Call) -> None:
    """Another value; 15217 when there is no such property."""
    change(call, "update")


@procedure("sp_dropextendedproperty", name=REQUIRED, **_NONE)
def sp_dropextendedproperty(call: Call) -> None:
    """Take a property away; 15217 when there is none."""
    change(call, "drop")


# ---------------------------------------------------------------------- fn_listextendedproperty
LISTED = result_columns("""
objtype sysname?
objname sysname?
name sysname
value sql_variant?""")


def listed(session: SessionState, args: list[Any]) -> Iterator[RowValues]:
    """fn_listextendedproperty(name, level types and names); NULL or DEFAULT means any."""
    given = [None if a is None else str(a) for a in (*args, *[None] * 7)][:7]
    wanted, types_names = given[0], given[1:]
    stated = [part for part in types_names[1::2] if part is not None]
    if types_names[0] is not None and not stated:
        return  # a type without a name would list many objects: see sys.extended_properties
    try:
        place, _ = place_of(session, types_names)
    except SqlError:
        return
    kinds, names = types_names[0::2], types_names[1::2]
    kind = next((k for k in reversed(kinds) if k is not None), None)
    own = next((n for n in reversed(names) if n is not None), None)
    for (*where, name), value in sorted(
        session.database.properties.items(), key=lambda i: repr(i[0])
    ):
        if tuple(where) == place and wanted in {None, name}:
            yield kind.upper() if kind else None, own, name, value


TABLE_FUNCTIONS["fn_listextendedproperty"] = (LISTED, listed, (SYSNAME,) * 7)
