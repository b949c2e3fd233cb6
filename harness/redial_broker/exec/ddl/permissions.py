"""GRANT, DENY and REVOKE in a database; ``server_permissions`` has those of the server.

Rules: GRANT, DENY and REVOKE pages, and the page of each class of securable. A permission is kept
with its grantor: the owner of the securable when whoever may do it by right of control did, else
the holder of the grant option. REVOKE takes back what the same grantor gave, and with CASCADE what
was passed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.engine.owners import DBO
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.securables import class_word, find_securable
from redial_broker.exec.ddl.server_permissions import SERVER_KINDS, change_server_permissions
from redial_broker.exec.objects import type_code
from redial_broker.exec.permission_table import (
    ALL_OF,
    EVERY_OBJECT,
    OBJECT_PERMISSIONS,
    RULES,
    covering,
)
from redial_broker.exec.principals import FIXED_ROLES, ROLE, Principal
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import (
    DATABASE,
    OBJECT,
    PRINCIPAL,
    Securable,
    has_permission,
    identities,
)

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

COLUMN_PERMISSIONS = frozenset({"SELECT", "UPDATE", "REFERENCES"})
_SHORT = {"EXEC": "EXECUTE"}
_SECURITY_ADMIN = FIXED_ROLES["db_securityadmin"]
_SPECIAL = frozenset({"sys", "information_schema"})


@compiles(ast.Permission)
def permission(node: ast.Permission, context: Context) -> Run:
    """GRANT | DENY | REVOKE permissions [ON securable] TO | FROM principals [AS grantor]."""
    stated = [(_SHORT.get(item.name, item.name), item.columns) for item in node.permissions]
    names = [name for name, _ in stated]
    if on_server(node, names):
        return lambda session, variables: change_server_permissions(session, node, names, context)
    for item, (name, columns) in zip(node.permissions, stated):
        if name not in {"ALL", "ALL PRIVILEGES"} and not any(each == name for _, each in RULES):
            raise context.not_supported(item, f"the permission {name}")
        if columns and name not in COLUMN_PERMISSIONS:
            raise context.fail(item, SqlError(1020))

    def run(session: SessionState, variables: Values) -> None:
        target = find_securable(session, node.securable, context)
        wanted = expand(session, target, stated)
        check_applicable(session, target, [name for name, _ in wanted])
        grantees = [
            find_grantee(session, target, principal.text, node) for principal in node.principals
        ]
        for name, column in wanted:
            grantor = find_grantor(session, target, name, column, node)
            for grantee in grantees:
                change(
                    session, node, (target.class_, target.major, column, name), grantee.id, grantor
                )
        session.database.bump(session.work())

    return run


def on_server(node: ast.Permission, names: list[str]) -> bool:
    """Whether the statement is about the server or one of its securables."""
    if node.securable is not None:
        return node.securable.kind in SERVER_KINDS
    return all(("SERVER", name) in RULES and ("DATABASE", name) not in RULES for name in names)


def expand(
    session: SessionState, target: Securable, stated: list[tuple[str, Any]]
) -> list[tuple[str, int]]:
    """(permission, column) pairs: ALL becomes what it stands for, column names their numbers."""
    found: list[tuple[str, int]] = []
    for name, columns in stated:
        if name in {"ALL", "ALL PRIVILEGES"}:
            kind = target.kind if target.class_ != OBJECT else object_kind(target)
            if kind not in ALL_OF:
                raise SqlError(4623)
            session.info(
                "The ALL permission is deprecated and maintained only for compatibility. It "
                "DOES NOT imply ALL permissions defined on the entity.",
                10,
                4628,
            )
            found += [(each, 0) for each in ALL_OF[kind]]
        elif columns:
            if target.class_ != OBJECT:
                raise SqlError(1020)
            found += [(name, column_number(target, column)) for column in columns]
        else:
            found.append((name, 0))
    return found


def column_number(target: Securable, name: str) -> int:
    """Number of a column, from 1. Raises SqlError 4615."""
    item = target.database.object_by_id(target.major)
    for number, column in enumerate(getattr(item, "columns", None) or (), 1):
        if column.name.lower() == name.lower():
            return number
    raise SqlError(4615, name)


def object_kind(target: Securable) -> str:
    """What kind of object a securable is: TABLE, VIEW, PROCEDURE, QUEUE ..."""
    item = target.database.object_by_id(target.major)
    if type_code(item)[0] == "SQ":
        return "QUEUE"
    return getattr(item, "kind", "") or "TABLE"


def check_applicable(session: SessionState, target: Securable, names: Iterable[str]) -> None:
    """Raise SqlError 4606, 4621, 4619 for a permission that the securable cannot have."""
    for name in names:
        if target.class_ == DATABASE:
            if name == "CREATE DATABASE" and target.database.name.lower() != "master":
                raise SqlError(4619)
            if ("DATABASE", name) not in RULES:
                raise SqlError(4621, state=10)
        elif target.class_ == OBJECT:
            kind = OBJECT_PERMISSIONS.get(object_kind(target), frozenset())
            if name not in EVERY_OBJECT and name not in kind:
                raise SqlError(4606, name)
        elif (target.kind, name) not in RULES:
            raise SqlError(4606, name)


def find_grantee(
    session: SessionState, target: Securable, name: str, node: ast.Permission
) -> Principal:
    """Who gets or loses it. Raises SqlError 15151, 4617, 4624, 4627."""
    database: Database = session.database
    grantee = database.principals.get(name.lower())
    if grantee is None:
        raise SqlError(15151, "find", "user", name)
    if grantee.fixed:
        raise SqlError(4617)
    if (
        grantee.id in {DBO, target.owner if target.class_ != PRINCIPAL else DBO}
        or name.lower() in _SPECIAL
        or (session.user is not None and grantee.id == session.user.id)
    ):
        raise SqlError(4624)
    connects = any(item.name == "CONNECT" for item in node.permissions)
    if target.class_ == DATABASE and connects and grantee.type == ROLE:
        raise SqlError(4627)
    return grantee


def find_grantor(
    session: SessionState, target: Securable, name: str, column: int, node: ast.Permission
) -> int:
    """Principal id that the permission is given by.

    Who controls the securable acts for its owner; another needs the permission WITH GRANT OPTION,
    as itself or, with AS, as a role it is in. Raises SqlError 15151 or 4613 (database), 4618.
    """
    database, user = target.database, session.user
    if node.grantor is not None:
        acting = database.principals.get(node.grantor.text.lower())
        if acting is None or not may_act_as(session, acting):
            raise SqlError(4618, node.grantor.text)
        mine = frozenset({acting.id})
        if acting.id in {target.owner, DBO} or holds_option(database, target, name, column, mine):
            return acting.id
        raise refusal(target)
    if user is None or may_control(session, target, name):
        return int(target.owner)
    if holds_option(database, target, name, column, frozenset({user.id})):
        return int(user.id)
    raise refusal(target)


def refusal(target: Securable) -> SqlError:
    """Nobody who may not grant is told whether there is something to grant."""
    if target.class_ == DATABASE:
        return SqlError(4613)
    return SqlError(15151, "find", class_word(target), target.name)


def may_control(session: SessionState, target: Securable, name: str) -> bool:
    """Whether the user may give the permission by right of control.

    CONTROL on the securable; db_securityadmin may give any permission of the database (its page).
    """
    if has_permission(session, "CONTROL", target):
        return True
    mine = identities(session, target.database) or frozenset()
    return _SECURITY_ADMIN in mine and name != "CONTROL"


def may_act_as(session: SessionState, acting: Principal) -> bool:
    """AS: IMPERSONATE on a user, membership in or ALTER on a role (GRANT pages)."""
    if session.user is None or session.user.id in {DBO, acting.id}:
        return True
    mine = identities(session, session.database) or frozenset()
    if _SECURITY_ADMIN in mine or (acting.type == ROLE and acting.id in mine):
        return True
    return has_permission(session, "ALTER" if acting.type == ROLE else "IMPERSONATE", acting)


def holds_option(
    database: Database, target: Securable, name: str, column: int, mine: frozenset[int]
) -> bool:
    """Whether a principal has the permission, or one that covers it, WITH GRANT OPTION."""
    for kind, each in covering(target.kind, name):
        place = {target.kind: (target.class_, target.major), "DATABASE": (DATABASE, 0)}.get(kind)
        if place is None:
            continue
        for minor in {0, column}:
            for principal in mine:
                stated = database.permissions.get((*place, minor, each, principal), ())
                if any(state == "W" for state, _ in stated):
                    return True
    return False


# ---------------------------------------------------------------------- what changes
def change(
    session: SessionState,
    node: ast.Permission,
    place: tuple[int, int, int, str],
    grantee: int,
    grantor: int,
) -> None:
    """One permission of one grantee. Raises SqlError 4611 without CASCADE."""
    stated = session.database.permissions.get((*place, grantee), ())
    old = next((state for state, by in stated if by == grantor), None)
    if old == "W" and node.verb != "GRANT" and not node.cascade:
        raise SqlError(4611)
    if node.verb == "GRANT":
        new = "W" if node.grant_option or old == "W" else "G"
        others = [item for item in stated if item[1] != grantor and item[0] != "D"]
        put(session, place, grantee, [*others, (new, grantor)])
        return
    others = [item for item in stated if item[1] != grantor]
    if node.verb == "DENY":
        others = []
        kept = "D"
    else:
        kept = "G" if node.grant_option and old == "W" else ""
    if node.verb == "REVOKE" and old is None:
        return
    put(session, place, grantee, [*others, (kept, grantor)] if kept else others)
    if node.cascade:
        passed_on(session, node, place, grantee)


def passed_on(
    session: SessionState, node: ast.Permission, place: tuple[int, int, int, str], grantor: int
) -> None:
    """CASCADE: what the grantee had given goes (REVOKE) or is denied as well (DENY)."""
    permissions = session.database.permissions
    if any(state == "W" for state, _ in permissions.get((*place, grantor), ())):
        return  # it holds the option from somebody else too
    for key in [k for k in permissions if k[:4] == place]:
        stated = permissions.get(key, ())
        given = [item for item in stated if item[1] == grantor and item[0] in "GW"]
        if not given:
            continue
        left = [item for item in stated if item not in given]
        put(session, place, key[4], [*left, ("D", grantor)] if node.verb == "DENY" else left)
        passed_on(session, node, place, key[4])


def put(
    session: SessionState, place: tuple[int, int, int, str], grantee: int, states: list[Any]
) -> None:
    """Write what is stated for one grantee."""
    session.engine.journal.put(
        session.work(),
        session.database,
        session.database.permissions,
        (*place, grantee),
        tuple(sorted(states, key=lambda item: item[1])) if states else MISSING,
    )
