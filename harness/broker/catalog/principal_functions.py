"""Functions about principals, permissions, databases and the server."""

from __future__ import annotations

from typing import Any

from harness.broker.catalog.functions import function
from harness.broker.catalog.names import find_object, split_name
from harness.broker.engine.collation import DEFAULT_COLLATION
from harness.broker.engine.lock_modes import combine
from harness.broker.engine.types import INT, Variant, nvarchar
from harness.broker.exec.ddl.permissions import APPLICABLE, DATABASE_PERMISSIONS
from harness.broker.exec.principals import SERVER_ROLES
from harness.broker.exec.security import (
    has_permission,
    has_server_permission,
    is_member,
    principals_of,
    securable,
    user_of,
)

PRODUCT_VERSION = "16.0.4100.1"
LOCK_NAMES = {"S": "Shared", "U": "Update", "X": "Exclusive", "IS": "IntentShared",
              "IX": "IntentExclusive", "SIX": "SharedIntentExclusive"}
"""APPLOCK_MODE's words for lock modes."""


# ---------------------------------------------------------------------- principals
@function("USER_ID", "DATABASE_PRINCIPAL_ID")
def user_id(s: Any, name: str | None = None) -> int | None:
    """Id of a database principal; of the current user without an argument."""
    if name is None:
        return s.user.id if s.user is not None else 1
    found = s.database.principals.get(name.lower())
    return found.id if found is not None else None


@function("SUSER_ID")
def suser_id(s: Any, name: str | None = None) -> int | None:
    """Id of a login; of the current one without an argument."""
    found = s.database.server.logins.get((name or s.login_name).lower())
    return found.id if found is not None else None


@function("SUSER_SID", optional=1)
def suser_sid(s: Any, name: str | None = None, _: Any = None) -> bytes | None:
    """Security identifier of a login."""
    found = s.database.server.logins.get((name or s.login_name).lower())
    return found.sid if found is not None else None


@function("USER_NAME")
def user_name(s: Any, number: int | None) -> str | None:
    """Name of a database principal by id."""
    return next((p.name for p in s.database.principals.values() if p.id == number), None)


@function("SUSER_NAME")
def suser_name(s: Any, number: int | None) -> str | None:
    """Name of a login by id."""
    return next((p.name for p in s.database.server.logins.values() if p.id == number), None)


@function("SUSER_SNAME")
def suser_sname(s: Any, sid: bytes | None) -> str | None:
    """Name of a login by security identifier."""
    return next((p.name for p in s.database.server.logins.values() if p.sid == sid), None)


@function("IS_MEMBER")
def is_member_of(s: Any, role: str) -> int | None:
    """Whether the current user is in a role; NULL when there is none of that name."""
    found = s.database.principals.get(role.lower())
    if found is None or found.type != "R":
        return None
    if role.lower() == "public":
        return 1
    return int(is_member(s.database, s.user, role) or False)


@function("IS_ROLEMEMBER", optional=1)
def is_role_member(s: Any, role: str, name: str | None = None) -> int | None:
    """Whether a principal (default: the current user) is in a role."""
    found = s.database.principals.get(role.lower())
    user = s.user if name is None else s.database.principals.get(name.lower())
    if found is None or found.type != "R" or user is None:
        return None
    return int(found.id in principals_of(s.database, user) or (user.id == 1 and found.fixed
                                                              and found.name == "db_owner"))


@function("IS_SRVROLEMEMBER", optional=1)
def is_server_role_member(s: Any, role: str, name: str | None = None) -> int | None:
    """Whether a login (default: the current one) is in a fixed server role."""
    if role.lower() not in SERVER_ROLES:
        return None
    login = s.database.server.logins.get((name or s.login_name).lower())
    if login is None:
        return None
    return int(role.lower() == "public" or role.lower() in login.roles or login.sysadmin)


@function("HAS_DBACCESS")
def has_dbaccess(s: Any, name: str) -> int | None:
    """Whether the login may enter a database."""
    found = s.database.server.databases.get(name.lower())
    return None if found is None else int(user_of(s, found) is not None)


_BROKER = {"SERVICE": "services", "CONTRACT": "contracts", "MESSAGE TYPE": "message_types",
           "ROUTE": "routes"}


@function("HAS_PERMS_BY_NAME", optional=5)
def has_perms_by_name(s: Any, name: str | None, class_: str | None = None,
                      permission: str | None = None, sub: str | None = None,
                      sub_class: str | None = None) -> int | None:
    """Whether the current user has a permission (or ANY) on a securable; NULL when unknown."""
    if permission is None:
        return None
    permission, kind = permission.upper(), (class_ or "SERVER").upper()
    if class_ is None:
        return int(has_server_permission(s, permission))
    item = _named_securable(s, name, kind)
    if item is None:
        return None if kind not in {"OBJECT", "DATABASE"} or name is None else 0
    target = securable(item, s.database)
    known = DATABASE_PERMISSIONS if target.class_ == 0 else APPLICABLE[target.class_]
    if permission == "ANY":
        return int(any(has_permission(s, each, item) for each in known))
    if permission not in known:
        return None
    return int(has_permission(s, permission, item))


def _named_securable(s: Any, name: str | None, kind: str) -> Any:
    """What HAS_PERMS_BY_NAME's first two arguments mean."""
    database = s.database
    if kind == "DATABASE":
        return database if name is None else database.server.databases.get(
            (split_name(name) or [""])[-1].lower())
    if name is None:
        return None
    if kind == "OBJECT":
        return find_object(s, name)[1]
    parts = split_name(name) or [""]
    if kind == "SCHEMA":
        return database.schemas.get(parts[-1].lower())
    if kind == "TYPE":
        return database.resolve_type(parts[-2] if len(parts) > 1 else None, parts[-1], s)
    if kind in {"USER", "ROLE"}:
        return database.principals.get(parts[-1].lower())
    if kind in _BROKER:
        return getattr(database.broker, _BROKER[kind]).get(parts[-1])
    return None


# ---------------------------------------------------------------------- properties
def text(value: str) -> Variant:
    """A sql_variant of nvarchar(128)."""
    return Variant(nvarchar(128), value)


def whole(value: Any) -> Variant:
    """A sql_variant of int."""
    return Variant(INT, int(value))


@function("DATABASEPROPERTYEX")
def database_property(s: Any, name: str, which: str) -> Variant | None:
    """A property of a database."""
    database = s.database.server.databases.get(name.lower())
    if database is None:
        return None
    broker = database.broker
    options = database.options
    values = {
        "COLLATION": text(DEFAULT_COLLATION), "RECOVERY": text(database.recovery),
        "STATUS": text("ONLINE"), "UPDATEABILITY": text("READ_WRITE"),
        "USERACCESS": text(database.user_access), "VERSION": whole(957),
        "ISBROKERENABLED": whole(broker is not None and broker.enabled),
        "ISHONORBROKERPRIORITYON": whole(options["honor_broker_priority"]),
        "ISTRUSTWORTHY": whole(options["trustworthy"]), "COMPARISONSTYLE": whole(196609),
        "ISANSINULLDEFAULT": whole(0), "ISAUTOCLOSE": whole(0), "ISINSTANDBY": whole(0),
        "SQLSORTORDER": whole(52), "LCID": whole(1033),
    }
    return values.get(which.upper())


@function("SERVERPROPERTY")
def server_property(s: Any, which: str) -> Variant | None:
    """A property of the server. The edition says what this is; the version is what it imitates."""
    instance = getattr(s, "instance", None)
    name = getattr(instance, "server_name", "REDIAL-EMBEDDED")
    values = {
        "PRODUCTVERSION": text(PRODUCT_VERSION), "PRODUCTLEVEL": text("RTM"),
        "PRODUCTMAJORVERSION": text("16"), "PRODUCTMINORVERSION": text("0"),
        "PRODUCTBUILD": text("4100"), "EDITION": text("Redial embedded broker (test double)"),
        "ENGINEEDITION": whole(3), "EDITIONID": whole(0), "SERVERNAME": text(name),
        "MACHINENAME": text(name), "COMPUTERNAMEPHYSICALNETBIOS": text(name),
        "COLLATION": text(DEFAULT_COLLATION), "COLLATIONID": whole(872468488),
        "LCID": whole(1033), "SQLCHARSET": whole(1), "SQLSORTORDER": whole(52),
        "SQLCHARSETNAME": text("iso_1"), "SQLSORTORDERNAME": text("nocase_iso"),
        "ISCLUSTERED": whole(0), "ISHADRENABLED": whole(0), "ISFULLTEXTINSTALLED": whole(0),
        "ISINTEGRATEDSECURITYONLY": whole(0), "ISSINGLEUSER": whole(0),
        "ISXTPSUPPORTED": whole(0), "ISLOCALDB": whole(0), "ISPOLYBASEINSTALLED": whole(0),
        "COMPARISONSTYLE": whole(196609), "RESOURCEVERSION": text(PRODUCT_VERSION),
    }
    return values.get(which.upper())


# ---------------------------------------------------------------------- application locks
def applock_key(s: Any, resource: str) -> tuple:
    """The lock resource of an application lock: of the current database, name as given."""
    return ("APPLICATION", s.database.id, resource[:255])


def applock_holder(s: Any, owner: str) -> Any:
    """The transaction that stands for the lock's owner; None when there is none."""
    if owner.lower() == "transaction":
        return s.transaction
    return s.database.server.session_locks.get(s.id)


@function("APPLOCK_MODE")
def applock_mode(s: Any, principal: str, resource: str, owner: str) -> str:
    """Mode in which the caller holds an application lock: NoLock when it does not."""
    holder = applock_holder(s, owner)
    mode = holder.locks.get(applock_key(s, resource)) if holder is not None else None
    return LOCK_NAMES.get(mode or "", "NoLock")


@function("APPLOCK_TEST")
def applock_test(s: Any, principal: str, resource: str, mode: str, owner: str) -> int | None:
    """Whether the caller could have an application lock at once."""
    wanted = next((short for short, word in LOCK_NAMES.items()
                   if word.lower() == mode.lower()), None)
    if wanted is None:
        return None
    holder = applock_holder(s, owner)
    key = applock_key(s, resource)
    held = holder.locks.get(key) if holder is not None else None
    if held is not None:
        wanted = combine(held, wanted)
    return int(not s.engine.locks.would_wait(holder, key, wanted))
