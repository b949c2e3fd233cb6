"""Functions that read the catalog: OBJECT_ID() and its kin.

``catalog_function(session, name, args)`` answers all of them; each is registered by name in
``CATALOG_FUNCTIONS``, where the executor looks. NULL in a required argument gives NULL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.names import find_object, split_name
from redial_broker.catalog.views import system_id
from redial_broker.catalog.visibility import sees_everything, text_of, visible
from redial_broker.engine.ids import TransactionNumber
from redial_broker.engine.storage import Table
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.type_facts import (
    SYSNAME_ID,
    TYPE_IDS,
    max_length,
    precision_scale,
)
from redial_broker.exec.objects import (
    CATALOG_FUNCTIONS,
    SYSTEM_PROCEDURES,
    Constraint,
    Module,
    VirtualTable,
    type_code,
)
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

Function = Callable[..., Any]


def function(*names: str, optional: int = 0) -> Callable[[Function], Function]:
    """Register a function (session, *args); NULL in an argument gives NULL unless optional.

    optional: how many arguments from the end may be NULL or missing.
    """

    def register(call: Function) -> Function:
        needed = max(0, call.__code__.co_argcount - 1 - optional)

        def answer(session: SessionState, args: tuple[Any, ...]) -> Any:
            if any(value is None for value in args[:needed]):
                return None
            return call(session, *args)

        for name in names:
            CATALOG_FUNCTIONS[name] = answer
        return call

    return register


def catalog_function(session: SessionState, name: str, args: tuple[Any, ...]) -> Any:
    """The value of a catalog function. name: upper case; KeyError when there is none."""
    return CATALOG_FUNCTIONS[name](session, args)


def database_of(session: SessionState, number: int | None) -> Database | None:
    """The database of an optional id argument."""
    return session.database if number is None else session.database.server.database_by_id(number)


# ---------------------------------------------------------------------- objects
@function("OBJECT_ID", optional=1)
def object_id(session: SessionState, name: str, kind: str | None = None) -> int | None:
    """Id of an object by name and, optionally, type code; constraints are found too."""
    if name is None:
        return None
    database, found = find_object(session, name)
    if found is None:
        parts = split_name(name)
        procedure = SYSTEM_PROCEDURES.get(parts[-1].lower()) if parts else None
        system = procedure is not None and kind in {None, "P", "X"}
        return system_id(f"sys.{parts[-1]}") if parts and system else None
    if kind is not None:
        code = (
            "V"
            if isinstance(found, VirtualTable)
            else "U"
            if isinstance(found, Table)
            else type_code(found)[0].strip()
        )
        if code != kind.strip().upper():
            return None
    if isinstance(found, Table) and found.temporary:
        return temporary_id(found)
    if not isinstance(found, VirtualTable) and not visible(session, database)(found):
        return None
    number: int = found.object_id
    return number


def temporary_id(table: Table) -> int:
    """Id of a #temp table: negative, from its name (unique within the session)."""
    return system_id(f"tempdb..{table.name}")


@function("OBJECT_NAME", optional=1)
def object_name(
    session: SessionState, number: int | None, database_id: int | None = None
) -> str | None:
    """Name of an object by id."""
    item = seen_by_id(session, number, database_id)
    return item.name if item is not None else None


def seen_by_id(session: SessionState, number: int | None, database_id: int | None = None) -> Any:
    """The object with an id, when the reader may see it."""
    database = database_of(session, database_id)
    if database is None or number is None:
        return None
    found = database.object_by_id(number)
    if found is None:
        return next((t for t in session.temp_tables.values() if temporary_id(t) == number), None)
    if isinstance(found, VirtualTable) or visible(session, database)(found):
        return found
    return None


@function("OBJECT_SCHEMA_NAME", optional=1)
def object_schema_name(
    session: SessionState, number: int | None, database_id: int | None = None
) -> str | None:
    """Schema of an object by id."""
    item = seen_by_id(session, number, database_id)
    return item.schema if item is not None else None


@function("OBJECT_DEFINITION")
def object_definition(session: SessionState, number: int) -> str | None:
    """Text of a module or constraint."""
    item = seen_by_id(session, number)
    if isinstance(item, Module):
        return text_of(session, item.database or session.database)(item)
    return item.definition or None if isinstance(item, Constraint) else None


_IS_KIND = {
    "ISTABLE": ("U",),
    "ISUSERTABLE": ("U",),
    "ISVIEW": ("V",),
    "ISPROCEDURE": ("P",),
    "ISSCALARFUNCTION": ("FN",),
    "ISTABLEFUNCTION": ("IF", "TF"),
    "ISINLINEFUNCTION": ("IF",),
    "ISTRIGGER": ("TR",),
    "ISQUEUE": ("SQ",),
    "ISPRIMARYKEY": ("PK",),
    "ISUNIQUECNST": ("UQ",),
    "ISCHECKCNST": ("C",),
    "ISDEFAULTCNST": ("D",),
    "ISCONSTRAINT": ("PK", "UQ", "C", "D"),
    "ISFOREIGNKEY": ("F",),
}


@function("OBJECTPROPERTY", "OBJECTPROPERTYEX")
def object_property(session: SessionState, number: int, name: str) -> int | None:
    """A property of an object; NULL for a property that is not known here."""
    item = seen_by_id(session, number)
    if item is None:
        return None
    name = name.upper()
    code = "V" if isinstance(item, VirtualTable) else type_code(item)[0].strip()
    if name in _IS_KIND:
        return int(code in _IS_KIND[name])
    if name in {"ISMSSHIPPED", "ISSYSTEMTABLE"}:
        return int(name == "ISMSSHIPPED" and isinstance(item, VirtualTable))
    if name == "SCHEMAID":
        return session.database.schemas[item.schema.lower()].schema_id
    if name == "OWNERID":
        return session.database.owner_of(item)
    if isinstance(item, Module) and name in {"EXECISANSINULLSON", "EXECISQUOTEDIDENTON"}:
        option = "ansi_nulls" if "NULLS" in name else "quoted_identifier"
        return int(item.options.get(option, True))
    if isinstance(item, Table):
        return table_property(item, name)
    return None


def table_property(table: Table, name: str) -> int | None:
    """OBJECTPROPERTY of a table."""
    indexes = all_indexes(table)
    values = {
        "TABLEHASPRIMARYKEY": any(i.primary for i in indexes),
        "TABLEHASCLUSTINDEX": table.clustered is not None,
        "TABLEHASINDEX": bool(indexes),
        "TABLEHASIDENTITY": table.identity_column is not None,
        "TABLEHASTIMESTAMP": table.rowversion_column is not None,
        "TABLEHASUNIQUECNST": any(i.constraint and not i.primary for i in indexes),
        "TABLEHASCHECKCNST": bool(table.checks),
        "TABLEHASDEFAULTCNST": any(c.default_name for c in table.columns),
        "TABLEHASFOREIGNKEY": False,
        "TABLEHASFOREIGNREF": False,
        "TABLEHASINSERTTRIGGER": False,
        "TABLEHASUPDATETRIGGER": False,
        "TABLEHASDELETETRIGGER": False,
        "TABLEISFAKE": False,
    }
    return int(values[name]) if name in values else None


# ---------------------------------------------------------------------- schemas, databases, types
@function("SCHEMA_ID")
def schema_id(session: SessionState, name: str | None = None) -> int | None:
    """Id of a schema; of the caller's default schema without an argument."""
    wanted = name if name is not None else default_schema(session)
    found = session.database.schemas.get(wanted.lower())
    return found.schema_id if found is not None else None


@function("SCHEMA_NAME", optional=1)
def schema_name(session: SessionState, number: int | None = None) -> str | None:
    """Name of a schema by id; the caller's default schema without an argument."""
    if number is None:
        found = session.database.schemas.get(default_schema(session).lower())
        return found.name if found is not None else default_schema(session)
    return next((x.name for x in session.database.schemas.values() if x.schema_id == number), None)


def default_schema(session: SessionState) -> str:
    """The caller's default schema."""
    return (session.user.default_schema if session.user is not None else None) or "dbo"


@function("DB_ID")
def db_id(session: SessionState, name: str | None = None) -> int | None:
    """Id of a database; of the current one without an argument."""
    if name is None:
        return session.database.id
    found = session.database.server.databases.get(name.lower())
    return found.id if found is not None else None


@function("DB_NAME", optional=1)
def db_name(session: SessionState, number: int | None = None) -> str | None:
    """Name of a database; of the current one without an argument."""
    found = database_of(session, number)
    return found.name if found is not None else None


@function("ORIGINAL_DB_NAME")
def original_db_name(session: SessionState) -> str:
    """The database named in the connection string; not kept apart from the login's default."""
    return (
        session.login.default_database
        if getattr(session, "login", None) is not None
        else session.database.name
    )


@function("TYPE_ID")
def type_id_of(session: SessionState, name: str) -> int | None:
    """user_type_id of a type by name."""
    parts = split_name(name)
    if not parts:
        return None
    schema, own = (parts[-2] if len(parts) > 1 else None), parts[-1].lower()
    if schema is None or schema.lower() == "sys":
        if own == "sysname":
            return SYSNAME_ID
        number = TYPE_IDS.get("rowversion" if own == "timestamp" else own)
        if number is not None:
            return number
    found = session.database.resolve_type(schema, parts[-1], session)
    return found.user_type_id if found is not None else None


@function("TYPE_NAME")
def type_name(session: SessionState, number: int) -> str | None:
    """Name of a type by user_type_id."""
    if number == SYSNAME_ID:
        return "sysname"
    for name, system in TYPE_IDS.items():
        if system == number:
            return "timestamp" if name == "rowversion" else name
    return next((t.name for t in session.database.types.values() if t.user_type_id == number), None)


# ---------------------------------------------------------------------- columns and indexes
@function("COL_NAME")
def col_name(session: SessionState, number: int, column: int) -> str | None:
    """Name of a column by table and column id."""
    columns = getattr(seen_by_id(session, number), "columns", None)
    return columns[column - 1].name if columns and 1 <= column <= len(columns) else None


@function("COL_LENGTH")
def col_length(session: SessionState, table: str, name: str) -> int | None:
    """Defined length of a column in bytes; -1 for (max)."""
    column = find_column(find_object(session, table)[1], name)
    return max_length(column.type) if column is not None else None


def find_column(item: Any, name: str) -> Any:
    """A column of a table or view by name, None when there is none."""
    return next((c for c in getattr(item, "columns", ()) if c.name.lower() == name.lower()), None)


@function("COLUMNPROPERTY")
def column_property(session: SessionState, number: int, name: str, which: str) -> int | None:
    """A property of a column or of a procedure's parameter."""
    item = seen_by_id(session, number)
    column = find_column(item, name)
    which = which.upper()
    if column is None:
        return parameter_property(item, name, which)
    precision, scale = precision_scale(column.type)
    values = {
        "ALLOWSNULL": int(column.nullable),
        "COLUMNID": item.ordinals[name.lower()] + 1 if isinstance(item, Table) else None,
        "ISIDENTITY": int(getattr(column, "identity", None) is not None),
        "ISCOMPUTED": 0,
        "ISROWGUIDCOL": int(getattr(column, "rowguid", False)),
        "PRECISION": column.type.length if column.type.length > 0 else precision,
        "SCALE": scale if column.type.name in {"decimal", "numeric"} else None,
        "USESANSITRIM": 1 if column.type.is_string or column.type.is_binary else None,
        "CHARMAXLEN": column.type.length or None,
        "ISHIDDEN": 0,
        "ISSPARSE": 0,
        "ISCOLUMNSET": 0,
    }
    return values.get(which)


def parameter_property(item: Any, name: str, which: str) -> int | None:
    """COLUMNPROPERTY of a parameter."""
    if not isinstance(item, Module):
        return None
    for position, parameter in enumerate(getattr(item.node, "parameters", ()), 1):
        if parameter.variable.name.lower() == name.lower():
            return {"ISOUTPARAM": int(parameter.output), "COLUMNID": position, "ALLOWSNULL": 1}.get(
                which
            )
    return None


def find_index(item: Any, name: str) -> Any:
    """An index of a table by name."""
    if not isinstance(item, Table):
        return None
    return next((i for i in all_indexes(item) if i.name.lower() == name.lower()), None)


@function("INDEXPROPERTY")
def index_property(session: SessionState, number: int, name: str, which: str) -> int | None:
    """A property of an index."""
    index = find_index(seen_by_id(session, number), name)
    if index is None:
        return None
    return {
        "INDEXID": index.index_id,
        "ISCLUSTERED": int(index.clustered),
        "ISUNIQUE": int(index.unique),
        "ISDISABLED": int(index.disabled),
        "ISHYPOTHETICAL": 0,
        "ISSTATISTICS": 0,
        "ISPADINDEX": 0,
        "ISROWLOCKDISALLOWED": 0,
        "INDEXFILLFACTOR": 0,
        "ISPAGELOCKDISALLOWED": int(not index.options.page_locks),
        "ISAUTOSTATISTICS": 0,
    }.get(which.upper())


@function("INDEX_COL")
def index_col(session: SessionState, table: str, index_id: int, position: int) -> str | None:
    """Name of a key column of an index."""
    item = find_object(session, table)[1]
    if not isinstance(item, Table):
        return None
    for index in all_indexes(item):
        if index.index_id == index_id and 1 <= position <= len(index.columns):
            return item.columns[index.columns[position - 1]].name
    return None


@function("INDEXKEY_PROPERTY")
def index_key_property(
    session: SessionState, number: int, index_id: int, position: int, which: str
) -> int | None:
    """A property of a key column of an index."""
    item = seen_by_id(session, number)
    if not isinstance(item, Table):
        return None
    for index in all_indexes(item):
        if index.index_id == index_id and 1 <= position <= len(index.columns):
            return {"COLUMNID": index.columns[position - 1] + 1, "ISDESCENDING": 0}.get(
                which.upper()
            )
    return None


# ---------------------------------------------------------------------- identity and sequences
@function("IDENT_CURRENT")
def ident_current(session: SessionState, name: str) -> int | None:
    """Last identity value of a table in any session; the seed before the first one."""
    table = find_object(session, name)[1]
    if not isinstance(table, Table) or table.identity_column is None:
        return None
    identity = table.columns[table.identity_column].identity
    assert identity is not None  # it is the identity column
    seed, step = identity
    return seed if table.next_identity == seed else table.next_identity - step


@function("IDENT_SEED")
def ident_seed(session: SessionState, name: str) -> int | None:
    """Seed of a table's identity column."""
    return _identity_part(session, name, 0)


@function("IDENT_INCR")
def ident_incr(session: SessionState, name: str) -> int | None:
    """Step of a table's identity column."""
    return _identity_part(session, name, 1)


def _identity_part(session: SessionState, name: str, part: int) -> int | None:
    table = find_object(session, name)[1]
    if not isinstance(table, Table) or table.identity_column is None:
        return None
    identity = table.columns[table.identity_column].identity
    assert identity is not None  # it is the identity column
    return identity[part]


@function("MIN_ACTIVE_ROWVERSION")
def min_active_rowversion(session: SessionState) -> bytes:
    """The lowest rowversion in use by an open transaction, @@DBTS + 1 without one."""
    return session.database.min_active_rowversion()


@function("@@DBTS")
def dbts(session: SessionState) -> bytes:
    """The last rowversion given out."""
    return session.database.last_rowversion()


@function("CURRENT_TRANSACTION_ID")
def current_transaction_id(session: SessionState) -> int:
    """Id of the current transaction."""
    return (
        TransactionNumber(session.transaction.descriptor) if session.transaction is not None else 0
    )


@function("GET_TRANSMISSION_STATUS")
def get_transmission_status(session: SessionState, handle: str) -> str:
    """Why the last message of a conversation could not be sent; '' when there is no reason."""
    if value(session.engine, "transmission_status_shows") == "db_owner" and not sees_everything(
        session, session.database
    ):
        return ""
    endpoint = session.database.broker.endpoints.get(handle.upper())
    return endpoint.status if endpoint is not None else ""


@function("PARSENAME")
def parsename(session: SessionState, name: str, part: int) -> str | None:
    """A part of a dotted name, 1 the object."""
    parts = split_name(name)
    if parts is None or not 1 <= part <= min(4, len(parts)) or len(parts) > 4:
        return None
    return parts[-part] or None


@function("CURRENT_TIMEZONE")
def current_timezone(session: SessionState) -> str:
    """The instance runs in UTC."""
    return "(UTC) Coordinated Universal Time"


@function("FILEPROPERTY")
def fileproperty(session: SessionState, name: str, which: str) -> None:
    """There are no files."""
    return


@function("ASSEMBLYPROPERTY")
def assemblyproperty(session: SessionState, name: str, which: str) -> None:
    """There are no assemblies."""
    return
