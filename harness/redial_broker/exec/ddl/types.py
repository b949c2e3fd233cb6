"""CREATE TYPE, SEQUENCE, SCHEMA; ALTER SCHEMA TRANSFER; what there is no support for.

Rules: CREATE TYPE, CREATE SEQUENCE, CREATE SCHEMA and ALTER SCHEMA pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.types import BIGINT, INTEGER_BITS
from redial_broker.exec.context import Context
from redial_broker.exec.conversion import resolve_type
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import (
    dotted,
    lock_definition,
    may_create,
    refuse_taken,
    schema_for,
)
from redial_broker.exec.ddl.definition import table_definition
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import exact
from redial_broker.exec.ddl.principals import find_owner
from redial_broker.exec.ddl.renaming import enforced, transfer
from redial_broker.exec.ddl.schema_elements import run_elements
from redial_broker.exec.ddl.type_facts import sequence_limits
from redial_broker.exec.dependencies import referrers
from redial_broker.exec.objects import AliasType, Module, Schema, Sequence, TableType, Trigger
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


def new_type(session: SessionState, database: Database, name: ast.ObjectName) -> tuple[Schema, int]:
    """Schema and id for a new type. Raises SqlError 219 when the name is taken."""
    check_length(name.name)
    schema = schema_for(session, database, name)
    may_create(session, database, schema, "CREATE TYPE")
    if (schema.name.lower(), name.name.lower()) in database.types:
        raise SqlError(219, dotted(name))
    return schema, database.next_number("next_type")


def put_type(session: SessionState, database: Database, item: Any) -> None:
    """Add a type."""
    transaction = session.work()
    session.engine.journal.put(
        transaction, database, database.types, (item.schema.lower(), item.name.lower()), item
    )
    database.bump(transaction)


@compiles(ast.CreateTypeAlias)
def create_alias_type(node: ast.CreateTypeAlias, context: Context) -> Run:
    """CREATE TYPE name FROM base [NULL | NOT NULL]."""

    def run(session: SessionState, variables: Values) -> None:
        schema, type_id = new_type(session, session.database, node.name)
        put_type(
            session,
            session.database,
            AliasType(
                node.name.name,
                schema.name,
                0,
                "ALIAS TYPE",
                0,
                resolve_type(node.base),
                node.nullable is not False,
                type_id,
            ),
        )

    return run


@compiles(ast.CreateTableType)
def create_table_type(node: ast.CreateTableType, context: Context) -> Run:
    """CREATE TYPE name AS TABLE (...)."""

    def run(session: SessionState, variables: Values) -> None:
        definition = table_definition(node.elements, context, node.name.name)
        schema, type_id = new_type(session, session.database, node.name)
        put_type(
            session,
            session.database,
            TableType(
                node.name.name,
                schema.name,
                0,
                "TABLE TYPE",
                0,
                definition,
                session.database.next_object_id(),
                type_id,
            ),
        )

    return run


# ---------------------------------------------------------------------- sequences
ARGUMENTS = {"START": "START WITH", "INCREMENT": "INCREMENT BY", "RESTART": "RESTART WITH"}
"""What messages call the options of a sequence that take a number, where that differs."""


def argument(name: str, stated: Any, limits: tuple[int, int]) -> int:
    """A number of CREATE or ALTER SEQUENCE: 11708 for what its type cannot hold."""
    found = exact(stated)
    low, high = limits
    if name == "INCREMENT":  # a step back may be stated for a type without negative values
        low = -high
    if found % 1 or not low <= found <= high:
        raise SqlError(11708, ARGUMENTS.get(name, name))
    return int(found)


@compiles(ast.CreateSequence)
def create_sequence(node: ast.CreateSequence, context: Context) -> Run:
    """CREATE SEQUENCE name AS type START WITH .. INCREMENT BY .. MINVALUE .. MAXVALUE .. CYCLE."""
    given: dict[str, Any] = {}
    for option in node.options:
        if option.name not in {"START", "INCREMENT", "MINVALUE", "MAXVALUE", "CACHE", "CYCLE"}:
            raise context.not_supported(option, f"CREATE SEQUENCE {option.name}")
        given[option.name] = option.value

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name.name)
        type_ = resolve_type(node.data_type) if node.data_type is not None else BIGINT
        if type_.name not in INTEGER_BITS and (
            type_.name not in {"decimal", "numeric"} or type_.scale
        ):
            raise SqlError(11702, dotted(node.name))
        low, high = sequence_limits(type_)

        def value(name: str, default: int) -> int:
            stated = given.get(name)
            if stated is None or isinstance(stated, bool):
                return default
            return argument(name, stated, sequence_limits(type_))

        step = value("INCREMENT", 1)
        low, high = value("MINVALUE", low), value("MAXVALUE", high)
        if low >= high:
            raise SqlError(11705, dotted(node.name))
        start = value("START", low if step > 0 else high)
        if step == 0:
            raise SqlError(11700, dotted(node.name))
        if abs(step) > high - low:
            raise SqlError(11701, dotted(node.name))
        if not low <= start <= high:
            raise SqlError(11703, dotted(node.name))
        database = session.database
        schema = schema_for(session, database, node.name)
        may_create(session, database, schema, "CREATE SEQUENCE")
        refuse_taken(database, schema.name, node.name.name)
        sequence = Sequence(
            node.name.name,
            schema.name,
            database.next_object_id(),
            type_,
            start,
            step,
            low,
            high,
            given.get("CYCLE") is True,
        )
        database.put(session.work(), sequence)

    return run


@compiles(ast.AlterSequence)
def alter_sequence(node: ast.AlterSequence, context: Context) -> Run:
    """ALTER SEQUENCE name RESTART [WITH n]; other changes are refused."""
    for option in node.options:
        if option.name != "RESTART":
            raise context.not_supported(option, f"ALTER SEQUENCE {option.name}")

    def run(session: SessionState, variables: Values) -> None:
        found = session.database.resolve(node.name.schema, node.name.name, session)
        if not isinstance(found, Sequence) or not has_permission(session, "ALTER", found):
            raise SqlError(15151, "alter", "sequence object", dotted(node.name))
        for option in node.options:
            stated = option.value is not None and not isinstance(option.value, bool)
            start = found.start
            if stated:
                start = argument("RESTART", option.value, sequence_limits(found.type))
            if not found.minimum <= start <= found.maximum:
                raise SqlError(11703, dotted(node.name))
            session.engine.journal.assign(session.work(), found, "next_value", start)
            session.engine.journal.assign(session.work(), found, "start", start)  # F-531

    return run


# ---------------------------------------------------------------------- schemas
@compiles(ast.CreateSchema)
def create_schema(node: ast.CreateSchema, context: Context) -> Run:
    """CREATE SCHEMA name [AUTHORIZATION owner], with what it is to hold."""
    name = node.name.text if node.name is not None else node.owner.text

    def run(session: SessionState, variables: Values) -> None:
        check_length(name)
        database = session.database
        if not has_permission(session, "CREATE SCHEMA", database):
            raise (
                SqlError(2759)
                if name.lower() in database.schemas
                else SqlError(262, "CREATE SCHEMA", database.name)
            )
        if name.lower() in database.schemas:
            raise SqlError(2714, name, state=6)
        owner = (
            find_owner(database, node.owner.text)
            if node.owner is not None
            else (session.user.id if session.user is not None else 1)
        )
        transaction = session.work()
        schema = Schema(database.next_number("next_schema"), name, owner)
        session.engine.journal.put(transaction, database, database.schemas, name.lower(), schema)
        database.bump(transaction)
        run_elements(session, variables, node, name, context)

    return run


@compiles(ast.AlterSchemaTransfer)
def alter_schema(node: ast.AlterSchemaTransfer, context: Context) -> Run:
    """ALTER SCHEMA name TRANSFER [OBJECT::]module: permissions on it are dropped."""
    if node.kind not in {None, "OBJECT"}:
        raise context.not_supported(node, f"ALTER SCHEMA TRANSFER of {node.kind}")

    def run(session: SessionState, variables: Values) -> None:
        database = session.database
        schema = database.schemas.get(node.name.text.lower())
        if schema is None or not has_permission(session, "ALTER", schema):
            raise SqlError(15151, "alter", "schema", node.name.text)
        found = database.resolve(node.object.schema, node.object.name, session)
        if found is None or not has_permission(session, "CONTROL", found):
            raise SqlError(15151, "find", "object", dotted(node.object))
        if isinstance(found, Trigger):
            raise SqlError(15347, found.name)
        refuse_taken(database, schema.name, found.name)
        transaction = session.work()
        lock_definition(session, transaction, database, found.object_id)
        if enforced(database, found):
            raise SqlError(
                3729,
                "TRANSFER",
                dotted(node.object),
                referrers(database, found, bound=True)[0].name,
            )
        if not transfer(session, transaction, database, found, schema.name):
            raise context.not_supported(node, f"ALTER SCHEMA TRANSFER of a {found.kind.lower()}")

    return run


def drop_schema(session: SessionState, name: str, if_exists: bool) -> None:
    """DROP SCHEMA: 3729 while something is in it, 15151 when there is none."""
    database = session.database
    schema = database.schemas.get(name.lower())
    if schema is None or schema.schema_id <= 4 or not has_permission(session, "CONTROL", schema):
        if if_exists and schema is None:
            return
        raise SqlError(15151, "drop", "schema", name)
    for held in (database.objects, database.types, database.collections):
        for (home, _), item in held.items():
            if home == name.lower():
                raise SqlError(3729, "drop schema", name, item.name)
    transaction = session.work()
    session.engine.journal.put(transaction, database, database.schemas, name.lower(), MISSING)
    database.forget(transaction, 3, schema.schema_id)
    database.bump(transaction)


def drop_type(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP TYPE: 3732 while a column or parameter uses it."""
    database = session.database
    found = database.resolve_type(name.schema, name.name, session)
    if found is None or not has_permission(session, "CONTROL", found):
        if if_exists and found is None:
            return
        raise SqlError(218, dotted(name))
    user = type_user(database, found)
    if user is not None:
        raise SqlError(3732, dotted(name), user)
    transaction = session.work()
    session.engine.journal.put(
        transaction, database, database.types, (found.schema.lower(), found.name.lower()), MISSING
    )
    database.forget(transaction, 6, found.user_type_id)
    database.bump(transaction)


def type_user(database: Database, found: Any) -> str | None:
    """Name of an object that uses a type: a column, or a parameter of a module."""
    full = f"{found.schema}.{found.name}".lower()
    for table in database.tables():
        if any(column.user_type.lower() == full for column in table.columns):
            return table.name
    for module in database.modules(Module):
        for parameter in getattr(module.node, "parameters", ()):
            if parameter.data_type is None:
                continue
            if database.find_type(parameter.data_type.name) is found:
                name: str = module.name
                return name
    return None
