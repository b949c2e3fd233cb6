"""CREATE, ALTER and DROP DATABASE.

Rules: CREATE DATABASE, ALTER DATABASE SET and DROP DATABASE pages. None of them may stand in a
transaction (226). Every option either has its effect or is refused by name; an option whose stated
value is how the embedded broker works anyway is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.broker.engine.differences import differs
from harness.broker.engine.errors import SqlError
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.database import Database
from harness.broker.exec.ddl.drop import drops
from harness.broker.exec.ddl.naming import check_length
from harness.broker.exec.ddl.options import word
from harness.broker.exec.security import has_permission, has_server_permission
from harness.broker.exec.server import SYSTEM_DATABASES
from harness.tsql import ast

BROKER_ACTIONS = {
    "ENABLE_BROKER": "enable", "DISABLE_BROKER": "disable", "NEW_BROKER": "new_identity",
    "ERROR_BROKER_CONVERSATIONS": "error_conversations",
}
"""Option -> method of ``ssb.Broker`` (transaction) that does it."""

differs("database defaults of SET options",
        "Used by nobody: every driver states its own options when it connects, and "
        "activated sessions have those of a driver (switch activated_set_options).")

STATED_AS_IT_IS = {
    "ANSI_NULL_DEFAULT": {"OFF"}, "ANSI_NULLS": {"OFF"}, "ANSI_PADDING": {"OFF"},
    "ANSI_WARNINGS": {"OFF"}, "ARITHABORT": {"OFF"}, "AUTO_CLOSE": {"OFF"},
    "AUTO_CREATE_STATISTICS": {"ON", "OFF"}, "AUTO_SHRINK": {"ON", "OFF"},
    "AUTO_UPDATE_STATISTICS": {"ON", "OFF"}, "AUTO_UPDATE_STATISTICS_ASYNC": {"ON", "OFF"},
    "CONCAT_NULL_YIELDS_NULL": {"OFF"}, "CURSOR_CLOSE_ON_COMMIT": {"OFF"},
    "CURSOR_DEFAULT": {"GLOBAL"}, "DATE_CORRELATION_OPTIMIZATION": {"OFF"},
    "DELAYED_DURABILITY": {"DISABLED"}, "NUMERIC_ROUNDABORT": {"OFF"},
    "PAGE_VERIFY": {"CHECKSUM", "NONE", "TORN_PAGE_DETECTION"}, "PARAMETERIZATION": {"SIMPLE"},
    "QUOTED_IDENTIFIER": {"OFF"},
    "TARGET_RECOVERY_TIME": None, "CHANGE_TRACKING": {"OFF"}, "LEDGER": {"OFF"},
    "CATALOG_COLLATION": {"DATABASE_DEFAULT", "SQL_LATIN1_GENERAL_CP1_CI_AS"},
    "ONLINE": {""}, "READ_WRITE": {""},
    "COMPATIBILITY_LEVEL": {"160"}, "ACCELERATED_DATABASE_RECOVERY": {"OFF"},
}
"""Options that change nothing here, with the values that are true of the embedded broker (None: any
value). Database defaults of SET options are never used: every client states its own."""

ACCESS = frozenset({"SINGLE_USER", "RESTRICTED_USER", "MULTI_USER"})


def outside_transaction(s: Any, statement: str) -> None:
    """Raise SqlError 226 inside a user transaction."""
    if s.trancount:
        raise SqlError(226, statement)


@compiles(ast.CreateDatabase)
def create_database(node: ast.CreateDatabase, context: Context) -> Run:
    """CREATE DATABASE name [COLLATE collation] [WITH TRUSTWORTHY ON | OFF]. No files."""
    if node.attach:
        raise context.not_supported(node, "CREATE DATABASE ... FOR ATTACH")
    if node.containment not in {None, "NONE"}:
        raise context.not_supported(node, f"CONTAINMENT = {node.containment}")
    if node.files or node.log:
        raise context.not_supported(node, "database files: the embedded broker is in memory")
    name = node.name.text

    def run(s: Any, v: list) -> None:
        outside_transaction(s, "CREATE DATABASE")
        check_length(name)
        if not has_server_permission(s, "CREATE ANY DATABASE"):
            raise SqlError(262, "CREATE DATABASE", "master")
        if node.collation is not None and \
                node.collation.lower() != s.database.options["collation"].lower():
            raise context.not_supported(node, f"a database with collation {node.collation}")
        database = s.database.server.create_database(s.work(), name, owner=s.login_name)
        for option in node.options:
            set_option(s, context, database, option)

    return run


@compiles(ast.AlterDatabaseSet)
def alter_database_set(node: ast.AlterDatabaseSet, context: Context) -> Run:
    """ALTER DATABASE name SET options [WITH ROLLBACK IMMEDIATE | NO_WAIT | ROLLBACK AFTER n]."""

    def run(s: Any, v: list) -> None:
        database = altered(s, node.name)
        exclusive = any(needs_exclusive(option) for option in node.options)
        if exclusive:
            outside_transaction(s, "ALTER DATABASE")
            take_database(s, database, node)
        for option in node.options:
            set_option(s, context, database, option)

    return run


def altered(s: Any, name: ast.Identifier | None) -> Database:
    """The database ALTER DATABASE means. Raises SqlError 5011."""
    database = s.database if name is None or name.text.upper() == "CURRENT" else \
        s.database.server.databases.get(name.text.lower())
    if database is None or not has_permission(s, "ALTER", database):
        raise SqlError(5011, name.text if name is not None else s.database.name)
    return database


def needs_exclusive(option: ast.Option) -> bool:
    """Options that wait for all other sessions to leave the database (ALTER DATABASE SET page)."""
    return option.name in BROKER_ACTIONS or option.name in {
        "READ_COMMITTED_SNAPSHOT", "SINGLE_USER", "RESTRICTED_USER"}


def take_database(s: Any, database: Database, node: ast.AlterDatabaseSet) -> None:
    """Have the database for ourselves.

    ROLLBACK IMMEDIATE ends the other sessions; NO_WAIT fails (5070); without a termination clause
    the server waits for them. Raises Wait, SqlError 5070.
    """
    others = [x for x in database.server.sessions()
              if x is not s and x.database is database and not x.background]
    if node.termination in {"ROLLBACK IMMEDIATE", "ROLLBACK AFTER"}:
        if node.termination == "ROLLBACK AFTER" and others and not s.expired and node.seconds:
            s.wait_for("database", database.name, node.seconds * 1000)
        for session in others:
            s.instance.kill(session.id)
        return
    if not others:
        return
    if node.termination == "NO_WAIT":
        raise SqlError(5070, database.name)
    busy = [x for x in others if x.active or x.transaction is not None]
    if busy:
        # The server waits without limit for connections to go; here it looks again every second.
        s.engine.journal.save(s)
        s.deadline, s.expired = None, False
        s.wait_for("database", database.name, 1000)


def set_option(s: Any, context: Context, database: Database, option: ast.Option) -> None:
    """One option takes effect, or is refused."""
    name, value = option.name, word(option.value).upper()
    journal = s.engine.journal
    if name in BROKER_ACTIONS:
        if database.name.lower() in {"master", "model"}:
            raise SqlError(5058, name, database.name)
        getattr(database.broker, BROKER_ACTIONS[name])(s.work())
    elif name in _SETTERS:
        _SETTERS[name](s, context, database, option)
    elif name == "RECOVERY":
        if value not in {"FULL", "SIMPLE", "BULK_LOGGED"}:
            raise SqlError(102, value)
        journal.assign(s.work(), database, "recovery", value)
    elif name in ACCESS:
        if name == "RESTRICTED_USER":
            raise context.not_supported(option, "RESTRICTED_USER")
        journal.assign(s.work(), database, "user_access", name)
        if database.broker is not None:  # messages wait for the mode, in both directions (28075)
            database.broker.note(s.work(), ("ssb.altered", database.broker))
    elif name in STATED_AS_IT_IS:
        allowed = STATED_AS_IT_IS[name]
        if allowed is not None and value not in allowed:
            raise context.not_supported(option, f"ALTER DATABASE SET {name} {value}".rstrip())
    else:
        raise context.not_supported(option, f"ALTER DATABASE SET {name}")


def _flag(attribute: str) -> Callable[..., None]:
    """An ON/OFF option kept in ``Database.options``."""

    def set_flag(s: Any, context: Context, database: Database, option: ast.Option) -> None:
        value = word(option.value).upper()
        if value not in {"ON", "OFF"}:
            raise SqlError(102, value)
        transaction = s.work()
        s.engine.journal.put(transaction, database, database.options, attribute, value == "ON")
        database.bump(transaction)

    return set_flag


def _allow_snapshots(s: Any, context: Context, database: Database, option: ast.Option) -> None:
    """ALLOW_SNAPSHOT_ISOLATION: turning it on waits for the transactions that are open."""
    if word(option.value).upper() == "ON" and not database.options["snapshot"]:
        outside_transaction(s, "ALTER DATABASE")
        if any(x.transaction is not None for x in database.server.sessions()
               if x is not s and x.database is database):
            s.engine.journal.save(s)
            s.deadline, s.expired = None, False
            s.wait_for("database", database.name, 1000)
    _flag("snapshot")(s, context, database, option)


_QUERY_STORE_OPTIONS = frozenset({
    "OPERATION_MODE", "CLEANUP_POLICY", "DATA_FLUSH_INTERVAL_SECONDS", "MAX_STORAGE_SIZE_MB",
    "INTERVAL_LENGTH_MINUTES", "SIZE_BASED_CLEANUP_MODE", "QUERY_CAPTURE_MODE",
    "QUERY_CAPTURE_POLICY", "MAX_PLANS_PER_QUERY", "WAIT_STATS_CAPTURE_MODE",
})


def _query_store(s: Any, context: Context, database: Database, option: ast.Option) -> None:
    """QUERY_STORE: whether it is on is kept; what it collects and its options show only in views
    that are refused by name (sys.query_store_..., sys.database_query_store_options)."""
    for inner in option.arguments or ():
        if inner.name not in _QUERY_STORE_OPTIONS:
            raise SqlError(102, inner.name, severity=15)
    if option.value is None and option.arguments:
        return
    if word(option.value).upper() not in {"ON", "OFF"}:
        raise context.not_supported(option, f"QUERY_STORE {word(option.value)}".rstrip())
    _flag("query_store")(s, context, database, option)


def _filestream(s: Any, context: Context, database: Database, option: ast.Option) -> None:
    """FILESTREAM: only what every database without FILESTREAM has."""
    for inner in option.arguments or ():
        if inner.name != "NON_TRANSACTED_ACCESS" or word(inner.value).upper() != "OFF":
            raise context.not_supported(inner, f"FILESTREAM ({inner.name})")


_SETTERS: dict[str, Callable[..., None]] = {
    "FILESTREAM": _filestream,
    "QUERY_STORE": _query_store,
    "ALLOW_SNAPSHOT_ISOLATION": _allow_snapshots,
    "READ_COMMITTED_SNAPSHOT": _flag("rcsi"),
    "RECURSIVE_TRIGGERS": _flag("recursive_triggers"),
    "TRUSTWORTHY": _flag("trustworthy"),
    "DB_CHAINING": _flag("db_chaining"),
    "HONOR_BROKER_PRIORITY": _flag("honor_broker_priority"),
}


@compiles(ast.AlterDatabase)
def alter_database(node: ast.AlterDatabase, context: Context) -> Run:
    """Files, collations and names of databases cannot be changed here."""
    raise context.not_supported(node, f"ALTER DATABASE {node.action}")


@drops("DATABASE")
def drop_database(s: Any, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP DATABASE: 3701, 3708 for a system database, 3702 while someone uses it."""
    outside_transaction(s, "DROP DATABASE")
    server = s.database.server
    database = server.databases.get(name.name.lower())
    if database is None:
        if if_exists:
            return
        raise SqlError(3701, "drop", "database", name.name)
    if name.name.lower() in SYSTEM_DATABASES:
        raise SqlError(3708, "drop", "database", database.name)
    if not has_permission(s, "CONTROL", database):
        raise SqlError(3701, "drop", "database", name.name)
    if any(x.database is database and not x.background for x in server.sessions()):
        raise SqlError(3702, "drop", "database", database.name, state=3)
    server.drop_database(s.work(), name.name)
