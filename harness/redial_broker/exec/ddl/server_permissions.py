"""GRANT, DENY and REVOKE on the server, its logins, roles and endpoints (GRANT Server page ...)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING
from redial_broker.exec.context import Context
from redial_broker.exec.permission_table import RULES
from redial_broker.exec.principals import ROLE, Login
from redial_broker.exec.tokens import (
    ENDPOINT,
    SERVER,
    SERVER_PRINCIPAL,
    login_permitted,
    server_identity,
)

if TYPE_CHECKING:
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

SERVER_KINDS = frozenset({"SERVER", "LOGIN", "SERVER ROLE", "ENDPOINT"})
TDS_ENDPOINT = ("tsql default tcp", 4)

Place = tuple[int, int, str]


def change_server_permissions(
    session: SessionState, node: ast.Permission, names: list[str], context: Context
) -> None:
    """The statement in master. Raises SqlError 4621 elsewhere, 4613, 15151, 4617, 4622, 4624."""
    if session.database.name.lower() != "master":
        raise SqlError(4621, state=10)
    kind, class_, major = find_server_securable(session, node.securable, context)
    for name in names:
        if (kind, name) not in RULES:
            raise SqlError(4606, name) if kind != "SERVER" else SqlError(4620)
    server = session.database.server
    grantees = [find_login_grantee(session, principal.text) for principal in node.principals]
    for name in names:
        grantor = find_server_grantor(session, node, kind, (class_, major, name))
        for grantee in grantees:
            change(session, node, (class_, major, name), grantee.id, grantor)
    server.bump(session.work())


def find_server_securable(
    session: SessionState, node: ast.Securable | None, context: Context
) -> tuple[str, int, int]:
    """(kind, class, major id) of what ON names. Raises SqlError 15151."""
    if node is None or node.kind == "SERVER":
        return "SERVER", SERVER, 0
    name, kind = node.name.name, cast("str", node.kind)
    if node.kind == "ENDPOINT":
        return "ENDPOINT", ENDPOINT, endpoint_id(session, name)
    login = session.database.server.logins.get(name.lower())
    if login is None or (login.type == ROLE) != (node.kind == "SERVER ROLE"):
        raise SqlError(15151, "find", kind.lower(), name)
    return kind, SERVER_PRINCIPAL, login.id


def endpoint_id(session: SessionState, name: str) -> int:
    """Number of the TDS or the Service Broker endpoint. Raises SqlError 15151."""
    if name.lower() == TDS_ENDPOINT[0]:
        return TDS_ENDPOINT[1]
    found = session.database.server.transport.broker_endpoint
    if found is None or found.name.lower() != name.lower():
        raise SqlError(15151, "find", "endpoint", name)
    return found.endpoint_id


def find_login_grantee(session: SessionState, name: str) -> Login:
    """Who gets or loses it. Raises SqlError 15151, 4617 for a fixed role, 4624 for sa."""
    login = session.database.server.logins.get(name.lower())
    if login is None:
        raise SqlError(15151, "find", "login", name)
    if login.fixed:
        raise SqlError(4617)
    if login.id == 1 or login.name.lower() == session.login_name.lower():
        raise SqlError(4624)
    return login


def find_server_grantor(
    session: SessionState, node: ast.Permission, kind: str, place: Place
) -> int:
    """Server principal id the permission is given by. Raises SqlError 4613, 15151, 4618."""
    server, ids = session.database.server, server_identity(session)
    class_, major, _ = place
    if node.grantor is not None:
        acting = server.logins.get(node.grantor.text.lower())
        control = login_permitted(server, ids, "CONTROL SERVER")
        if acting is None or not (acting.id in ids or control):
            raise SqlError(4618, node.grantor.text)
        if acting.id == 1 or _option(server, place, acting.id):
            return acting.id
        raise SqlError(4613)
    control_name = "CONTROL SERVER" if kind == "SERVER" else "CONTROL"
    if login_permitted(server, ids, control_name, class_, major, kind):
        return 1
    login = server.logins.get(session.login_name.lower())
    if login is not None and session.sandbox is None and _option(server, place, login.id):
        return login.id
    if kind == "SERVER":
        raise SqlError(4613)
    securable = cast("ast.Securable", node.securable)
    raise SqlError(15151, "find", kind.lower(), securable.name.name)


def _option(server: Server, place: Place, login: int) -> bool:
    return any(state == "W" for state, _ in server.permissions.get((*place, login), ()))


def change(
    session: SessionState, node: ast.Permission, place: Place, grantee: int, grantor: int
) -> None:
    """One permission of one login. Raises SqlError 4611 without CASCADE."""
    stated = session.database.server.permissions.get((*place, grantee), ())
    old = next((state for state, by in stated if by == grantor), None)
    others = [item for item in stated if item[1] != grantor]
    if node.verb == "GRANT":
        new = "W" if node.grant_option or old == "W" else "G"
        put(session, place, grantee, [*[i for i in others if i[0] != "D"], (new, grantor)])
        return
    if old == "W" and not node.cascade:
        raise SqlError(4611)
    if node.verb == "DENY":
        put(session, place, grantee, [("D", grantor)])
    elif old is not None:
        kept = [("G", grantor)] if node.grant_option and old == "W" else []
        put(session, place, grantee, [*others, *kept])
    if node.cascade:
        passed_on(session, node, place, grantee)


def drop_permissions_on(session: SessionState, class_: int, major: int) -> None:
    """Forget the permissions on something of the server that is dropped."""
    for place in list(session.database.server.permissions):
        if place[:2] == (class_, major):
            put(session, place[:3], place[3], [])


def passed_on(session: SessionState, node: ast.Permission, place: Place, grantor: int) -> None:
    """CASCADE: what the grantee had given goes, or is denied as well."""
    permissions = session.database.server.permissions
    if _option(session.database.server, place, grantor):
        return
    for key in [k for k in permissions if k[:3] == place]:
        stated = permissions.get(key, ())
        given = [item for item in stated if item[1] == grantor and item[0] in "GW"]
        if given:
            left = [item for item in stated if item not in given]
            put(session, place, key[3], [*left, ("D", grantor)] if node.verb == "DENY" else left)
            passed_on(session, node, place, key[3])


def put(session: SessionState, place: Place, grantee: int, states: list[Any]) -> None:
    """Write what is stated for one login."""
    server = session.database.server
    session.engine.journal.put(
        session.work(),
        server,
        server.permissions,
        (*place, grantee),
        tuple(sorted(states, key=lambda item: item[1])) if states else MISSING,
    )


def change_role_owner(session: SessionState, node: ast.AlterAuthorization) -> None:
    """ALTER AUTHORIZATION ON SERVER ROLE::name TO login. Raises SqlError 15151."""
    server, name = session.database.server, node.securable.name.name
    role = server.logins.get(name.lower())
    if (
        role is None
        or role.type != ROLE
        or role.fixed
        or not login_permitted(
            server,
            server_identity(session),
            "TAKE OWNERSHIP",
            SERVER_PRINCIPAL,
            role.id,
            "SERVER ROLE",
        )
    ):
        raise SqlError(15151, "find", "server role", name)
    owner = server.logins.get(node.owner.text.lower()) if node.owner is not None else None
    if owner is None:
        raise SqlError(15151, "find", "login", node.owner.text if node.owner is not None else "")
    session.engine.journal.put(
        session.work(), server, server.logins, name.lower(), replace(role, owner=owner.id)
    )
    server.bump(session.work())
