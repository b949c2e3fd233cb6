"""CREATE, ALTER and DROP XML SCHEMA COLLECTION (the statements' pages).

A collection is defined anew under Sch-M like any other definition: its texts are changed through
the journal, so a rollback brings the old ones back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.common import dotted, may_create, schema_for
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.expressions import compile_expression
from redial_broker.exec.objects import Module, TableType
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.exec.xml.schemas import XmlSchemaCollection, check_new

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_LOG = 500
"""Approximate bytes of log per definition."""


def _text(
    node: ast.CreateXmlSchemaCollection | ast.AlterXmlSchemaCollection, context: Context
) -> Any:
    """The closure of the schema text. Raises 6352 for what is no string and no untyped xml."""
    value = compile_expression(node.schema, context.scope)
    if not value.type.is_string and value.type.name != "xml":
        raise context.fail(node, SqlError(6352, aborts="scope"))
    fn = value.fn

    def read(session: SessionState, variables: Values) -> str:
        text = fn(session, variables, ())
        if text is None:
            raise SqlError(6361)
        given: str = text
        return given

    return read


@compiles(ast.CreateXmlSchemaCollection)
def create_collection(node: ast.CreateXmlSchemaCollection, context: Context) -> Run:
    """CREATE XML SCHEMA COLLECTION name AS text."""
    read = _text(node, context)

    def run(session: SessionState, variables: Values) -> None:
        database = session.database
        check_length(node.name.name)
        schema = schema_for(session, database, node.name)
        may_create(session, database, schema, "CREATE XML SCHEMA COLLECTION")
        key = (schema.name.lower(), node.name.name.lower())
        if key in database.collections or key in database.types:
            raise SqlError(6348, dotted(node.name))
        text = read(session, variables)
        check_new((), text)
        transaction = session.work()
        created = XmlSchemaCollection(
            node.name.name,
            schema.name,
            database.next_number("next_collection"),
            text,
            session.engine.clock.utc(),
        )
        session.engine.journal.put(transaction, database, database.collections, key, created)
        database.bump(transaction)
        transaction.log_used += _LOG + 2 * len(text)

    return run


def _existing(
    session: SessionState, name: ast.ObjectName, permission: str
) -> XmlSchemaCollection | None:
    """The collection of a name, None without it or without the right to change it."""
    found = session.database.find_collection(name)
    if found is None or not has_permission(session, permission, session.database.schema_of(found)):
        return None
    return found


@compiles(ast.AlterXmlSchemaCollection)
def alter_collection(node: ast.AlterXmlSchemaCollection, context: Context) -> Run:
    """ALTER XML SCHEMA COLLECTION name ADD text: new components only (6310)."""
    read = _text(node, context)

    def run(session: SessionState, variables: Values) -> None:
        found = _existing(session, node.name, "ALTER")
        if found is None:
            raise SqlError(6347, dotted(node.name))
        text = read(session, variables)
        check_new(found.texts, text)
        if not text.strip():
            return
        transaction, journal = session.work(), session.engine.journal
        journal.assign(transaction, found, "texts", (*found.texts, text))
        journal.assign(transaction, found, "modified", session.engine.clock.utc())
        session.database.bump(transaction)
        transaction.log_used += _LOG + 2 * len(text)

    return run


@drops("XML SCHEMA COLLECTION")
def drop_collection(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP XML SCHEMA COLLECTION. Raises 3701, and 6328 while something is bound to it."""
    database = session.database
    found = _existing(session, name, "CONTROL")
    if found is None:
        raise SqlError(3701, "drop", "xml schema collection", dotted(name), state=20)
    user = _user_of(database, found)
    if user is not None:
        raise SqlError(6328, dotted(name), *user)
    transaction = session.work()
    session.engine.journal.put(
        transaction,
        database,
        database.collections,
        (found.schema.lower(), found.name.lower()),
        MISSING,
    )
    database.bump(transaction)


def _user_of(database: Database, found: XmlSchemaCollection) -> tuple[str, str] | None:
    """("object" or "message type", its name) of something bound to a collection."""
    shapes = [(f"{t.schema}.{t.name}", t.columns) for t in database.tables()]
    shapes += [
        (f"{t.schema}.{t.name}", t.definition.columns)
        for t in database.types.values()
        if isinstance(t, TableType)
    ]
    for name, columns in shapes:
        if any(getattr(column.type, "collection", None) is found for column in columns):
            return "object", name
    for module in database.modules(Module):
        for parameter in getattr(module.node, "parameters", None) or ():
            of = parameter.data_type
            if (
                of is not None
                and of.name.name.lower() == "xml"
                and of.arguments
                and database.find_collection(of.arguments[0]) is found
            ):
                return "object", module.full_name
    if database.broker is not None:
        for item in database.broker.message_types.values():
            if item.collection is found:
                return "message type", item.name
    return None
