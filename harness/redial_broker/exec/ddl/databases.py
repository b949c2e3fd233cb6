"""CREATE, ALTER and DROP DATABASE.

Rules: CREATE DATABASE, ALTER DATABASE SET and DROP DATABASE pages. None of them may stand in a
transaction (226). Every option either has its effect or is refused by name; an option whose stated
value is how the embedded broker works anyway is accepted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from redial.tsql import ast
from redial_broker.engine.collation import may_be_collation
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.database_lock import check_access, take_database
from redial_broker.exec.ddl.database_options import (
    check_fixed,
    needs_exclusive,
    outside_transaction,
    set_option,
)
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.options import word
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission, has_server_permission
from redial_broker.exec.server import SYSTEM_DATABASES

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


@compiles(ast.CreateDatabase)
def create_database(node: ast.CreateDatabase, context: Context) -> Run:
    """CREATE DATABASE name [ON files] [COLLATE collation] [WITH options].

    Files are names for the catalog only: everything is in memory, so where they are, how large they
    are and how they grow changes nothing.
    """
    if node.attach:
        raise context.not_supported(node, "CREATE DATABASE ... FOR ATTACH")
    if node.containment not in {None, "NONE"}:
        raise context.not_supported(node, f"CONTAINMENT = {node.containment}")
    files = file_names(node, context)
    name = node.name.text

    def run(session: SessionState, variables: Values) -> None:
        outside_transaction(session, "CREATE DATABASE")
        check_length(name)
        if not has_server_permission(session, "CREATE ANY DATABASE"):
            raise SqlError(262, "CREATE DATABASE", "master")
        if node.collation is not None:
            check_collation(context, node, node.collation, session.database)
        database = session.database.server.create_database(
            session.work(), name, owner=session.login_name
        )
        session.engine.journal.put(session.work(), database, database.options, "files", files)
        for option in node.options:
            check_fixed(database, option)
            set_option(session, context, database, option)

    return run


FILE_OPTIONS = frozenset({"NAME", "FILENAME", "SIZE", "MAXSIZE", "FILEGROWTH"})


def file_names(node: ast.CreateDatabase, context: Context) -> tuple[tuple[str, str, str], ...]:
    """(logical name, path, ROWS or LOG) of the files stated; filegroups are refused."""
    found = []
    for kind, files in (("ROWS", node.files), ("LOG", node.log)):
        for options in files:
            values = {}
            for option in options:
                if option.name not in FILE_OPTIONS:
                    raise context.not_supported(option, f"database file option {option.name}")
                values[option.name] = word(option.value)
            found.append((values.get("NAME", ""), values.get("FILENAME", ""), kind))
    return tuple(found)


@compiles(ast.AlterDatabaseSet)
def alter_database_set(node: ast.AlterDatabaseSet, context: Context) -> Run:
    """ALTER DATABASE name SET options [WITH ROLLBACK IMMEDIATE | NO_WAIT | ROLLBACK AFTER n]."""

    def run(session: SessionState, variables: Values) -> None:
        outside_transaction(session, "ALTER DATABASE")
        database = altered(session, node.name)
        try:
            check_access(session, database)
            for option in node.options:
                check_fixed(database, option)
            if any(needs_exclusive(option, database) for option in node.options):
                take_database(session, database, node)
            for option in node.options:
                set_option(session, context, database, option)
        except SqlError as error:
            raise failed(error) from None

    return run


WITH_5069 = frozenset({1468, 5008, 5011, 5061, 5064, 5070, 9772, 9775})
"""Errors that 5069 follows (seen on servers); a CATCH block sees 5069 alone."""


def failed(error: SqlError) -> SqlError:
    """The error as ALTER DATABASE reports it: in two messages, where two have been seen."""
    if error.number not in WITH_5069:
        return error
    last = SqlError(5069)
    last.before = (*error.before, error)
    return last


def altered(session: SessionState, name: ast.Identifier | None) -> Database:
    """The database ALTER DATABASE means. Raises SqlError 5011, then 5069."""
    database = (
        session.database
        if name is None or name.text.upper() == "CURRENT"
        else session.database.server.databases.get(name.text.lower())
    )
    if database is None or not has_permission(session, "ALTER", database):
        raise failed(
            SqlError(5011, name.text if name is not None else session.database.name, state=5)
        )
    return database


SCOPED = frozenset(
    {
        "MAXDOP",
        "LEGACY_CARDINALITY_ESTIMATION",
        "PARAMETER_SNIFFING",
        "QUERY_OPTIMIZER_HOTFIXES",
        "OPTIMIZE_FOR_AD_HOC_WORKLOADS",
        "IDENTITY_CACHE",
        "LIGHTWEIGHT_QUERY_PROFILING",
        "BATCH_MODE_ON_ROWSTORE",
        "DEFERRED_COMPILATION_TV",
        "INTERLEAVED_EXECUTION_TVF",
        "TSQL_SCALAR_UDF_INLINING",
        "LAST_QUERY_PLAN_STATS",
        "PROCEDURE_CACHE",
    }
)
"""Scoped configurations about plans and caches: nothing here depends on them. IDENTITY_CACHE is
about gaps after a crash."""


@compiles(ast.AlterDatabase)
def alter_database(node: ast.AlterDatabase, context: Context) -> Run:
    """MODIFY NAME, COLLATE (only as it is), SCOPED CONFIGURATION; files are refused."""
    option = cast("ast.Option", node.options[0] if node.options else None)
    if node.action == "MODIFY NAME":
        return lambda session, variables: rename(
            session, altered(session, node.name), word(option.value)
        )
    if node.action == "COLLATE":

        def collate(session: SessionState, variables: Values) -> None:
            outside_transaction(session, "ALTER DATABASE")
            check_collation(context, node, word(option.value), altered(session, node.name))

        return collate
    if node.action.startswith("SCOPED CONFIGURATION"):
        if option.name not in SCOPED:
            raise context.not_supported(option, f"scoped configuration {option.name}")

        def configure(session: SessionState, variables: Values) -> None:
            altered(session, None)

        return configure
    raise context.not_supported(node, f"ALTER DATABASE {node.action}")


def check_collation(context: Context, node: ast.Node, name: str, database: Database) -> None:
    """A database has the default collation here: 448 for no collation at all, others are refused."""
    if name.lower() == database.options["collation"].lower():
        return
    if not may_be_collation(name):
        raise SqlError(448, name)
    raise context.not_supported(node, f"a database with collation {name}")


def rename(session: SessionState, database: Database, name: str) -> None:
    """ALTER DATABASE MODIFY NAME. Raises SqlError 226, 5058, 1801, 5030 while others use it."""
    outside_transaction(session, "ALTER DATABASE")
    check_length(name)
    server = database.server
    if database.name.lower() in SYSTEM_DATABASES:
        raise SqlError(5058, "NAME", database.name)
    if name.lower() in server.databases and server.databases[name.lower()] is not database:
        raise SqlError(1801, name, state=3)
    if any(
        x is not session and x.database is database and not x.background for x in server.sessions()
    ):
        raise SqlError(5030)
    transaction, journal = session.work(), session.engine.journal
    journal.put(transaction, server, server.databases, database.name.lower(), MISSING)
    journal.put(transaction, server, server.databases, name.lower(), database)
    journal.assign(transaction, database, "name", name)
    for other in server.databases.values():
        other.bump(transaction)
    session.info(f"The database name '{name}' has been set.", 0, 5107)


@drops("DATABASE")
def drop_database(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP DATABASE: 3701, 3708 for a system database, 3702 while someone uses it."""
    outside_transaction(session, "DROP DATABASE")
    server = session.database.server
    database = server.databases.get(name.name.lower())
    if database is None:
        if if_exists:
            return
        raise SqlError(3701, "drop", "database", name.name)
    if name.name.lower() in SYSTEM_DATABASES:
        raise SqlError(3708, "drop", "database", database.name)
    if not has_permission(session, "CONTROL", database):
        raise SqlError(3701, "drop", "database", name.name)
    if any(x.database is database and not x.background for x in server.sessions()):
        raise SqlError(3702, "drop", "database", database.name, state=3)
    server.drop_database(session.work(), name.name)
