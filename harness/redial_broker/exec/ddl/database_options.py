"""Options of ALTER DATABASE SET and CREATE DATABASE WITH, one by one.

Source: "ALTER DATABASE SET options" page. Each option either has its effect, is kept for the
catalog because no outcome can depend on it here, or is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.messages import MESSAGES
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.database_state import EMERGENCY, OFFLINE, ONLINE
from redial_broker.exec.ddl.options import number, word
from redial_broker.exec.product import AZURE_DATABASE, MANAGED_INSTANCE
from redial_broker.exec.security import has_server_permission

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

BROKER_ACTIONS = {
    "ENABLE_BROKER": "enable",
    "DISABLE_BROKER": "disable",
    "NEW_BROKER": "new_identity",
    "ERROR_BROKER_CONVERSATIONS": "error_conversations",
}
"""Option -> method of ``ssb.Broker`` (transaction) that does it."""

differs(
    "database defaults of SET options",
    "Used by nobody: every driver states its own options when it connects, and "
    "activated sessions have those of a driver (switch activated_set_options).",
)

differs("AUTO_CLOSE", "ON is kept for the catalog; a database here never closes by itself.")

KEPT = {
    # Defaults of SET options: every connection states its own (ODBC, OLE DB and JDBC do, and a
    # session here begins as theirs do), so a database's default never counts.
    "ANSI_NULLS": ("ON", "OFF"),
    "ANSI_PADDING": ("ON", "OFF"),
    "ANSI_WARNINGS": ("ON", "OFF"),
    "ARITHABORT": ("ON", "OFF"),
    "CONCAT_NULL_YIELDS_NULL": ("ON", "OFF"),
    "QUOTED_IDENTIFIER": ("ON", "OFF"),
    # How plans are made, kept or chosen; plans here follow fixed rules.
    "AUTO_CREATE_STATISTICS": ("ON", "OFF"),
    "AUTO_UPDATE_STATISTICS": ("ON", "OFF"),
    "AUTO_UPDATE_STATISTICS_ASYNC": ("ON", "OFF"),
    "DATE_CORRELATION_OPTIMIZATION": ("ON", "OFF"),
    "PARAMETERIZATION": ("SIMPLE", "FORCED"),
    # Pages, files, log and recovery after a crash; there is only memory.
    "AUTO_SHRINK": ("ON", "OFF"),
    "PAGE_VERIFY": ("CHECKSUM", "NONE", "TORN_PAGE_DETECTION"),
    "TORN_PAGE_DETECTION": ("ON", "OFF"),
    "DELAYED_DURABILITY": ("DISABLED", "ALLOWED", "FORCED"),
    "TARGET_RECOVERY_TIME": None,
    "ACCELERATED_DATABASE_RECOVERY": ("ON", "OFF"),
    "MIXED_PAGE_ALLOCATION": ("ON", "OFF"),
    "VARDECIMAL_STORAGE_FORMAT": ("ON", "OFF"),
    # The state everything is in.
    "AUTO_CLOSE": ("ON", "OFF"),
    "CURSOR_CLOSE_ON_COMMIT": ("OFF",),
    "CURSOR_DEFAULT": ("GLOBAL",),
    "NUMERIC_ROUNDABORT": ("OFF",),
    "CHANGE_TRACKING": ("OFF",),
    "ENCRYPTION": ("OFF",),
    "LEDGER": ("OFF",),
    "CATALOG_COLLATION": ("DATABASE_DEFAULT", "SQL_LATIN1_GENERAL_CP1_CI_AS"),
}
"""Options no outcome depends on, with the values accepted (None: any)."""

ACCESS = frozenset({"SINGLE_USER", "RESTRICTED_USER", "MULTI_USER"})
STATES = frozenset({"READ_ONLY", "READ_WRITE"})
FIXED = {
    "master": {
        "READ_COMMITTED_SNAPSHOT",
        "READ_ONLY",
        "SINGLE_USER",
        "RESTRICTED_USER",
        "OFFLINE",
        "EMERGENCY",
        "ALLOW_SNAPSHOT_ISOLATION",
        "TRUSTWORTHY",
        *BROKER_ACTIONS,
    },
    "tempdb": {
        "READ_COMMITTED_SNAPSHOT",
        "READ_ONLY",
        "SINGLE_USER",
        "RESTRICTED_USER",
        "OFFLINE",
        "EMERGENCY",
        "RECOVERY",
        "AUTO_CLOSE",
        "AUTO_SHRINK",
        *BROKER_ACTIONS,
    },
    "model": set(BROKER_ACTIONS),
    "msdb": {"READ_COMMITTED_SNAPSHOT", "READ_ONLY", "ALLOW_SNAPSHOT_ISOLATION"},
}
"""Options a system database does not let change (5058)."""


def needs_exclusive(option: ast.Option, database: Database) -> bool:
    """Options that wait for all other sessions to leave the database (ALTER DATABASE SET page).

    Not RESTRICTED_USER, which looks at who comes in, and not what is so already: setting
    READ_COMMITTED_SNAPSHOT to its value completes at once (seen on servers).
    """
    if option.name == "READ_COMMITTED_SNAPSHOT":
        return (word(option.value).upper() == "ON") != database.rcsi
    return (
        option.name in BROKER_ACTIONS
        or option.name in STATES
        or option.name in {"SINGLE_USER", OFFLINE}
    )


def check_fixed(database: Database, option: ast.Option) -> None:
    """Raises SqlError 5058 for an option a system database does not let change."""
    if option.name in FIXED.get(database.name.lower(), ()):
        raise SqlError(5058, option.name, database.name)


def set_option(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """One option takes effect, or is refused. Raises SqlError 15048, 102, NotSupported."""
    name, value = option.name, word(option.value).upper()
    journal = session.engine.journal
    if name in BROKER_ACTIONS:
        check_broker_action(database)
        getattr(database.broker, BROKER_ACTIONS[name])(session.work())
    elif name in _SETTERS:
        _SETTERS[name](session, context, database, option)
    elif name == "RECOVERY":
        if value not in {"FULL", "SIMPLE", "BULK_LOGGED"}:
            raise SqlError(102, value)
        journal.assign(session.work(), database, "recovery", value)
    elif name in ACCESS:
        journal.assign(session.work(), database, "user_access", name)
        if database.broker is not None:  # messages wait for the mode, in both directions (28075)
            database.broker.note(session.work(), ("ssb.altered", database.broker))
    elif name in STATES:
        set_read_only(session, context, database, option)
    elif name in KEPT:
        keep(session, context, database, option)
    else:
        raise context.not_supported(option, f"ALTER DATABASE SET {name}")


def check_broker_action(database: Database) -> None:
    """Raises SqlError 1468 in an availability group (seen on a server, after ROLLBACK IMMEDIATE had
    ended the other sessions), and 5008 where the broker is always on or never there (F-102)."""
    if database.group is not None:
        raise SqlError(1468, database.name)
    if database.server.product.engine_edition in {AZURE_DATABASE, MANAGED_INSTANCE}:
        raise SqlError(5008)


def set_level(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """COMPATIBILITY_LEVEL: statements are compiled anew, procedures too. Raises SqlError 15048."""
    value, levels = word(option.value), database.server.product.levels
    if value not in {str(level) for level in levels}:
        raise SqlError(15048, _listed(levels))
    transaction = session.work()
    session.engine.journal.put(
        transaction, database, database.options, "compatibility_level", int(value)
    )
    database.bump(transaction)


def _listed(levels: tuple[int, ...]) -> str:
    *most, last = map(str, levels)
    return f"{', '.join(most)}, or {last}"


def set_state(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """ONLINE, OFFLINE, EMERGENCY. A session that is in what goes OFFLINE is in master from then on
    (5068). Raises SqlError 1468 in an availability group.
    """
    if option.name == database.state:
        return
    if database.group is not None:
        raise SqlError(1468, database.name)
    transaction = session.work()
    session.engine.journal.assign(transaction, database, "state", option.name)
    if database.broker is not None:
        database.broker.note(transaction, ("ssb.altered", database.broker))
    for other in database.server.databases.values():
        other.bump(transaction)
    if option.name == OFFLINE and session.database is database:
        session.info(MESSAGES[5068][1], 10, 5068)
        session.instance.enter_database(session, "master")


def keep(session: SessionState, context: Context, database: Database, option: ast.Option) -> None:
    """An option that is only shown: its value goes to ``Database.options``."""
    name, value = option.name, word(option.value).upper()
    allowed = KEPT[name]
    if allowed is not None and value not in allowed:
        raise context.not_supported(option, f"ALTER DATABASE SET {name} {value}".rstrip())
    if name == "TARGET_RECOVERY_TIME":
        value = str(number(option.value))
    session.engine.journal.put(session.work(), database, database.options, name.lower(), value)


def flag(attribute: str) -> Callable[..., None]:
    """An ON/OFF option kept in ``Database.options``."""

    def set_flag(
        session: SessionState, context: Context, database: Database, option: ast.Option
    ) -> None:
        value = word(option.value).upper()
        if value not in {"ON", "OFF"}:
            raise SqlError(102, value)
        transaction = session.work()
        session.engine.journal.put(
            transaction, database, database.options, attribute, value == "ON"
        )
        database.bump(transaction)

    return set_flag


def trusting(attribute: str) -> Callable[..., None]:
    """TRUSTWORTHY and DB_CHAINING: CONTROL SERVER, for they open other databases (their pages)."""
    plain = flag(attribute)

    def set_flag(
        session: SessionState, context: Context, database: Database, option: ast.Option
    ) -> None:
        if not has_server_permission(session, "CONTROL SERVER"):
            raise SqlError(15247)
        if attribute == "trustworthy" and database.name.lower() in {"model", "tempdb"}:
            raise SqlError(15309)
        plain(session, context, database, option)

    return set_flag


def set_read_only(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """READ_ONLY | READ_WRITE: writing statements are compiled anew everywhere and then refused
    (``exec.read_only``). Its Service Broker rests meanwhile: messages wait with their senders
    (28012, 28014), timers and activation until it can be written to again.
    """
    on, broker = option.name == "READ_ONLY", database.broker
    transaction = session.work()
    session.engine.journal.put(transaction, database, database.options, "read_only", on)
    if broker is not None:
        broker.note(transaction, ("ssb.altered", broker))
    for other in database.server.databases.values():
        other.bump(transaction)


def outside_transaction(session: SessionState, statement: str) -> None:
    """Raise SqlError 226 inside a user transaction."""
    if session.trancount:
        raise SqlError(226, statement)


def allow_snapshots(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """ALLOW_SNAPSHOT_ISOLATION: turning it on waits for the transactions that are open."""
    if (
        word(option.value).upper() == "ON"
        and not database.options["snapshot"]
        and any(
            x.transaction is not None
            for x in database.server.sessions()
            if x is not session and x.database is database
        )
    ):
        session.engine.journal.save(session)
        session.deadline, session.expired = None, False
        session.wait_for("database", database.name, 1000)
    flag("snapshot")(session, context, database, option)


QUERY_STORE_OPTIONS = frozenset(
    {
        "OPERATION_MODE",
        "CLEANUP_POLICY",
        "DATA_FLUSH_INTERVAL_SECONDS",
        "MAX_STORAGE_SIZE_MB",
        "INTERVAL_LENGTH_MINUTES",
        "SIZE_BASED_CLEANUP_MODE",
        "QUERY_CAPTURE_MODE",
        "QUERY_CAPTURE_POLICY",
        "MAX_PLANS_PER_QUERY",
        "WAIT_STATS_CAPTURE_MODE",
    }
)


def query_store(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """QUERY_STORE: whether it is on is kept; what it collects and its options show only in views
    that are refused by name (sys.query_store_..., sys.database_query_store_options)."""
    for inner in option.arguments or ():
        if inner.name not in QUERY_STORE_OPTIONS:
            raise SqlError(102, inner.name, severity=15)
    if option.value is None and option.arguments:
        return
    if word(option.value).upper() not in {"ON", "OFF"}:
        raise context.not_supported(option, f"QUERY_STORE {word(option.value)}".rstrip())
    flag("query_store")(session, context, database, option)


def filestream(
    session: SessionState, context: Context, database: Database, option: ast.Option
) -> None:
    """FILESTREAM: only what every database without FILESTREAM has."""
    for inner in option.arguments or ():
        if inner.name != "NON_TRANSACTED_ACCESS" or word(inner.value).upper() != "OFF":
            raise context.not_supported(inner, f"FILESTREAM ({inner.name})")


_SETTERS: dict[str, Callable[..., None]] = {
    "COMPATIBILITY_LEVEL": set_level,
    **dict.fromkeys((ONLINE, OFFLINE, EMERGENCY), set_state),
    "FILESTREAM": filestream,
    "QUERY_STORE": query_store,
    "ALLOW_SNAPSHOT_ISOLATION": allow_snapshots,
    "ANSI_NULL_DEFAULT": flag("ansi_null_default"),
    "READ_COMMITTED_SNAPSHOT": flag("rcsi"),
    "RECURSIVE_TRIGGERS": flag("recursive_triggers"),
    "TRUSTWORTHY": trusting("trustworthy"),
    "DB_CHAINING": trusting("db_chaining"),
    "HONOR_BROKER_PRIORITY": flag("honor_broker_priority"),
}
