"""Functions about databases, the server and application locks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.catalog.functions import function
from redial_broker.catalog.views import VIEW_SERVER_STATE
from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.errors import SqlError
from redial_broker.engine.lock_modes import combine
from redial_broker.engine.types import INT, Variant, nvarchar
from redial_broker.exec.security import is_db_owner
from redial_broker.exec.tokens import principals_of

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

LOCK_NAMES = {
    "S": "Shared",
    "U": "Update",
    "X": "Exclusive",
    "IS": "IntentShared",
    "IX": "IntentExclusive",
    "SIX": "SharedIntentExclusive",
}
"""APPLOCK_MODE's words for lock modes."""


# ---------------------------------------------------------------------- properties
def text(value: str) -> Variant:
    """A sql_variant of nvarchar(128)."""
    return Variant(nvarchar(128), value)


def whole(value: Any) -> Variant:
    """A sql_variant of int."""
    return Variant(INT, int(value))


@function("DATABASEPROPERTYEX")
def database_property(session: SessionState, name: str, which: str) -> Variant | None:
    """A property of a database."""
    database = session.database.server.databases.get(name.lower())
    if database is None:
        return None
    broker = database.broker
    options = database.options
    values = {
        "COLLATION": text(DEFAULT_COLLATION),
        "RECOVERY": text(database.recovery),
        "STATUS": text(database.state),
        "UPDATEABILITY": text("READ_ONLY" if database.read_only else "READ_WRITE"),
        "USERACCESS": text(database.user_access),
        "VERSION": whole(957),
        "ISBROKERENABLED": whole(broker is not None and broker.enabled),
        "ISHONORBROKERPRIORITYON": whole(options["honor_broker_priority"]),
        "ISTRUSTWORTHY": whole(options["trustworthy"]),
        "COMPARISONSTYLE": whole(196609),
        "ISANSINULLDEFAULT": whole(0),
        "ISAUTOCLOSE": whole(options.get("auto_close") == "ON"),
        "ISINSTANDBY": whole(0),
        "SQLSORTORDER": whole(52),
        "LCID": whole(1033),
    }
    return values.get(which.upper())


@function("FN_HADR_IS_PRIMARY_REPLICA")
def is_primary_replica(session: SessionState, name: str) -> int | None:
    """sys.fn_hadr_is_primary_replica: 1 or 0; NULL for no such database, or one in no group.

    Raises SqlError 300 without VIEW SERVER STATE (its page).
    """
    session.check_server_permission(VIEW_SERVER_STATE)
    database = session.database.server.databases.get(name.lower())
    return None if database is None or database.group is None else int(database.group.primary)


@function("FULLTEXTSERVICEPROPERTY")
def full_text_property(session: SessionState, which: str) -> int | None:
    """A property of full-text search, which is not installed; other properties are unknown."""
    return 0 if which.lower() == "isfulltextinstalled" else None


@function("SERVERPROPERTY")
def server_property(session: SessionState, which: str) -> Variant | None:
    """A property of the server. The edition says what this is; the version is what it imitates."""
    instance = getattr(session, "instance", None)
    name = getattr(instance, "server_name", "REDIAL-EMBEDDED")
    server = session.database.server
    product = server.product
    major, minor, build, _ = product.version.split(".")
    grouped = any(database.group is not None for database in server.databases.values())
    values = {
        "PRODUCTVERSION": text(product.version),
        "PRODUCTLEVEL": text(product.level),
        "PRODUCTMAJORVERSION": text(major),
        "PRODUCTMINORVERSION": text(minor),
        "PRODUCTBUILD": text(build),
        "EDITION": text(product.edition),
        "ENGINEEDITION": whole(product.engine_edition),
        "EDITIONID": whole(0),
        "SERVERNAME": text(name),
        "MACHINENAME": text(name),
        "COMPUTERNAMEPHYSICALNETBIOS": text(name),
        "COLLATION": text(DEFAULT_COLLATION),
        "COLLATIONID": whole(872468488),
        "LCID": whole(1033),
        "SQLCHARSET": whole(1),
        "SQLSORTORDER": whole(52),
        "SQLCHARSETNAME": text("iso_1"),
        "SQLSORTORDERNAME": text("nocase_iso"),
        "ISCLUSTERED": whole(0),
        "ISHADRENABLED": whole(grouped),
        "ISFULLTEXTINSTALLED": whole(0),
        "ISINTEGRATEDSECURITYONLY": whole(0),
        "ISSINGLEUSER": whole(0),
        "ISXTPSUPPORTED": whole(0),
        "ISLOCALDB": whole(0),
        "ISPOLYBASEINSTALLED": whole(0),
        "COMPARISONSTYLE": whole(196609),
        "RESOURCEVERSION": text(product.version),
    }
    return values.get(which.upper())


# ---------------------------------------------------------------------- application locks
def applock_key(session: SessionState, resource: str, principal: str) -> tuple[Any, ...]:
    """The lock resource of an application lock: of the current database, name as given; each
    principal has locks of its own (sp_getapplock's page).

    Raises SqlError 15151 when the caller is neither that user or role, nor a member of it, nor in
    db_owner; which number a server has for that is not documented.
    """
    database, user = session.database, session.user
    found = database.principals.get(principal.lower())
    member = user is not None and found is not None and found.id in principals_of(database, user)
    if found is None or not (member or is_db_owner(session)):
        raise SqlError(15151, "find", "principal", principal)
    return ("APPLICATION", database.id, resource[:255], found.id)


def applock_holder(session: SessionState, owner: str) -> Any:
    """The transaction that stands for the lock's owner; None when there is none."""
    if owner.strip().lower() == "transaction":
        if session.trancount == 0:
            raise SqlError(3918, state=2)
        return session.transaction
    return session.database.server.session_locks.get(session.id)


@function("APPLOCK_MODE")
def applock_mode(session: SessionState, principal: str, resource: str, owner: str) -> str:
    """Mode in which the caller holds an application lock: NoLock when it does not."""
    holder = applock_holder(session, owner)
    mode = (
        holder.locks.get(applock_key(session, resource, principal)) if holder is not None else None
    )
    return LOCK_NAMES.get(mode or "", "NoLock")


@function("APPLOCK_TEST")
def applock_test(
    session: SessionState, principal: str, resource: str, mode: str, owner: str
) -> int | None:
    """Whether the caller could have an application lock at once."""
    wanted = next(
        (short for short, word in LOCK_NAMES.items() if word.lower() == mode.lower()), None
    )
    if wanted is None:
        return None
    holder = applock_holder(session, owner)
    key = applock_key(session, resource, principal)
    held = holder.locks.get(key) if holder is not None else None
    if held is not None:
        wanted = combine(held, wanted)
    return int(not session.engine.locks.would_wait(holder, key, wanted))
