"""Functions about principals and permissions: who somebody is, and what one may do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.functions import function
from redial_broker.catalog.names import find_object, split_name
from redial_broker.catalog.visibility import visible
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import NVARCHAR_MAX, SYSNAME, ResultColumn, nvarchar, sql_type
from redial_broker.exec.ddl.permissions import column_number, object_kind
from redial_broker.exec.ddl.securables import BROKER_KINDS, KEY_KINDS
from redial_broker.exec.objects import TABLE_FUNCTIONS
from redial_broker.exec.permission_table import (
    EVERY_OBJECT,
    OBJECT_PERMISSIONS,
    PARENTS,
    RULES,
    known,
)
from redial_broker.exec.principals import ROLE, sid_text
from redial_broker.exec.security import (
    OBJECT,
    has_permission,
    has_server_permission,
    member_ids,
    securable,
    user_of,
)
from redial_broker.exec.tokens import (
    SERVER_PRINCIPAL,
    login_permitted,
    principals_of,
    server_identity,
    server_principals,
)

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

LOGIN_KINDS = frozenset({"LOGIN", "SERVER ROLE"})


# ---------------------------------------------------------------------- principals
@function("USER_ID", "DATABASE_PRINCIPAL_ID")
def user_id(session: SessionState, name: str | None = None) -> int | None:
    """Id of a database principal; of the current user without an argument."""
    if name is None:
        return session.user.id if session.user is not None else 1
    found = session.database.principals.get(name.lower())
    return found.id if found is not None else None


@function("SUSER_ID")
def suser_id(session: SessionState, name: str | None = None) -> int | None:
    """Id of a login; of the current one without an argument."""
    found = session.database.server.logins.get((name or session.login_name).lower())
    return found.id if found is not None else None


@function("SUSER_SID", optional=1)
def suser_sid(session: SessionState, name: str | None = None, _: Any = None) -> bytes | None:
    """Security identifier of a login."""
    found = session.database.server.logins.get((name or session.login_name).lower())
    return found.sid if found is not None else None


@function("USER_NAME")
def user_name(session: SessionState, number: int | None) -> str | None:
    """Name of a database principal by id."""
    return next((p.name for p in session.database.principals.values() if p.id == number), None)


@function("SUSER_NAME")
def suser_name(session: SessionState, number: int | None) -> str | None:
    """Name of a login by id."""
    return next((p.name for p in session.database.server.logins.values() if p.id == number), None)


@function("SUSER_SNAME")
def suser_sname(session: SessionState, sid: bytes | None) -> str | None:
    """Name of a login by security identifier."""
    if sid == b"\x01":
        return "sa"
    found = next((p.name for p in session.database.server.logins.values() if p.sid == sid), None)
    if (
        found is not None
        or not isinstance(sid, bytes)
        or len(sid) < 12
        or len(sid) != 8 + 4 * sid[1]
    ):
        return found
    return sid_text(sid)


@function("IS_MEMBER")
def is_member_of(session: SessionState, role: str) -> int | None:
    """Whether the current user is in a role; NULL when there is none of that name."""
    found = session.database.principals.get(role.lower())
    if found is None or found.type != ROLE:
        return None
    mine = member_ids(session, session.database)
    return int(
        found.id in mine
        or (session.user is not None and session.user.id == 1 and found.name == "db_owner")
    )


@function("IS_ROLEMEMBER", optional=1)
def is_role_member(session: SessionState, role: str, name: str | None = None) -> int | None:
    """Whether a principal (default: the current user) is in a role."""
    found = session.database.principals.get(role.lower())
    user = session.user if name is None else session.database.principals.get(name.lower())
    if found is None or found.type != "R" or user is None:
        return None
    return int(
        found.id in principals_of(session.database, user)
        or (user.id == 1 and found.fixed and found.name == "db_owner")
    )


@function("IS_SRVROLEMEMBER", optional=1)
def is_server_role_member(session: SessionState, role: str, name: str | None = None) -> int | None:
    """Whether a login (default: the current one) is in a server role."""
    server = session.database.server
    found = server.logins.get(role.lower())
    if found is None or found.type != ROLE:
        return None
    if name is None:
        ids = server_identity(session)
    else:
        login = server.logins.get(name.lower())
        if login is None:
            return None
        ids = server_principals(server, login)
    return int(found.id in ids or (found.fixed and 3 in ids))


@function("HAS_DBACCESS")
def has_dbaccess(session: SessionState, name: str) -> int | None:
    """Whether the login may enter a database."""
    found = session.database.server.databases.get(name.lower())
    return None if found is None else int(user_of(session, found) is not None)


@function("HAS_PERMS_BY_NAME", optional=5)
def has_perms_by_name(
    session: SessionState,
    name: str | None,
    class_: str | None = None,
    permission: str | None = None,
    sub: str | None = None,
    sub_class: str | None = None,
) -> int | None:
    """Whether the current user has a permission (or ANY) on a securable; NULL when unknown.

    sub, sub_class: a column of the object and 'COLUMN'. An object nobody may see is unknown too.
    """
    if permission is None:
        return None
    permission, kind = permission.upper(), (class_ or "SERVER").upper()
    if kind == "SERVER":
        names = known("SERVER") if permission == "ANY" else [permission]
        if ("SERVER", names[0]) not in RULES:
            return None
        return int(any(has_server_permission(session, each) for each in names))
    if kind in LOGIN_KINDS:
        return _login_permission(session, name or "", kind, permission)
    item = named_securable(session, name, kind)
    if item is None:
        return 0 if kind == "DATABASE" and name is not None else None
    target = securable(item, session.database)
    names = applicable(target) if permission == "ANY" else [permission]
    if not names or names[0] not in applicable(target):
        return None
    column = 0
    if sub is not None and (sub_class or "").upper() == "COLUMN":
        column = _column(target, sub)
        if not column:
            return None
    return int(any(has_permission(session, each, item, column) for each in names))


def _login_permission(session: SessionState, name: str, kind: str, permission: str) -> int | None:
    server = session.database.server
    login = server.logins.get(name.lower())
    if login is None or (login.type == ROLE) != (kind == "SERVER ROLE"):
        return None
    names = known(kind) if permission == "ANY" else [permission]
    return int(
        any(
            login_permitted(
                server, server_identity(session), each, SERVER_PRINCIPAL, login.id, kind
            )
            for each in names
        )
    )


def _column(target: Any, name: str) -> int:
    try:
        return column_number(target, name)
    except SqlError:
        return 0


def applicable(target: Any) -> list[str]:
    """Names of the permissions a securable can have, in the order of the table."""
    names = known(target.kind)
    if target.class_ != OBJECT:
        return names
    kind = OBJECT_PERMISSIONS.get(object_kind(target), frozenset())
    return [name for name in names if name in EVERY_OBJECT or name in kind]


def named_securable(session: SessionState, name: str | None, kind: str) -> Any:
    """What HAS_PERMS_BY_NAME's and fn_my_permissions' first two arguments mean."""
    database = session.database
    if kind == "DATABASE":
        return (
            database
            if name is None
            else database.server.databases.get((split_name(name) or [""])[-1].lower())
        )
    if name is None:
        return None
    if kind == "OBJECT":
        home, found = find_object(session, name)
        return found if found is not None and visible(session, home)(found) else None
    parts = split_name(name) or [""]
    if kind == "SCHEMA":
        return database.schemas.get(parts[-1].lower())
    if kind == "TYPE":
        return database.resolve_type(parts[-2] if len(parts) > 1 else None, parts[-1], session)
    if kind in {"USER", "ROLE"}:
        return database.principals.get(parts[-1].lower())
    if kind in BROKER_KINDS:
        return getattr(database.broker, BROKER_KINDS[kind][1], {}).get(parts[-1])
    if kind in KEY_KINDS:
        return database.keys.get((kind, parts[-1].lower()))
    return None


# ---------------------------------------------------------------------- table-valued functions
_MINE = [
    ResultColumn("entity_name", SYSNAME, False),
    ResultColumn("subentity_name", SYSNAME, False),
    ResultColumn("permission_name", nvarchar(60), True),
]


def my_permissions(session: SessionState, arguments: list[Any]) -> Iterable[RowValues]:
    """sys.fn_my_permissions(securable, class): what the current user may do."""
    name, kind = [*arguments, None, None][:2]
    kind = (kind or "SERVER").upper()
    if kind == "SERVER":
        return [
            ("server", "", each) for each in known("SERVER") if has_server_permission(session, each)
        ]
    item = named_securable(session, name, kind)
    if item is None:
        return []
    target = securable(item, session.database)
    shown = "database" if kind == "DATABASE" else name
    found = [
        (shown, "", each) for each in applicable(target) if has_permission(session, each, item)
    ]
    if target.class_ == OBJECT:
        for number, column in enumerate(getattr(item, "columns", None) or (), 1):
            found += [
                (shown, column.name, each)
                for each in ("SELECT", "UPDATE", "REFERENCES")
                if each in applicable(target) and has_permission(session, each, item, number)
            ]
    return found


TABLE_FUNCTIONS["fn_my_permissions"] = (_MINE, my_permissions, (NVARCHAR_MAX, SYSNAME))

_BUILT_IN = [
    ResultColumn("class_desc", nvarchar(60), True),
    ResultColumn("permission_name", nvarchar(60), True),
    ResultColumn("type", sql_type("varchar", 4), True),
    ResultColumn("covering_permission_name", nvarchar(60), True),
    ResultColumn("parent_class_desc", nvarchar(60), True),
    ResultColumn("parent_covering_permission_name", nvarchar(60), True),
]


def builtin_permissions(session: SessionState, arguments: list[Any]) -> Iterable[RowValues]:
    """sys.fn_builtin_permissions(class): the permission hierarchy; NULL, DEFAULT or '' for all."""
    wanted = (arguments[0] or "").upper() if arguments else ""
    for rule in RULES.values():
        if wanted in {"", rule.class_}:
            parent = PARENTS[rule.class_] if rule.parent_covering else ""
            yield (
                rule.class_,
                rule.name,
                rule.code.ljust(4),
                rule.covering,
                parent,
                rule.parent_covering,
            )


TABLE_FUNCTIONS["fn_builtin_permissions"] = (_BUILT_IN, builtin_permissions, (SYSNAME,))
