"""Who sees which metadata ("Metadata visibility configuration" page).

A user sees what it owns or has some permission on; db_owner and VIEW DEFINITION on the database see
everything; public things (schemas, system views) everyone sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.engine.owners import DBO
from redial_broker.exec.principals import DB_OWNER, FIXED_ROLES
from redial_broker.exec.security import (
    OBJECT,
    PRINCIPAL,
    has_permission,
    has_server_permission,
    identities,
    member_ids,
    securable,
)
from redial_broker.exec.tokens import SERVER_PRINCIPAL, server_identity, user_in

if TYPE_CHECKING:
    from redial_broker.exec.database import Database
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

_SEES_DATA = frozenset(
    {
        FIXED_ROLES["db_datareader"],
        FIXED_ROLES["db_datawriter"],
        FIXED_ROLES["db_ddladmin"],
        FIXED_ROLES["db_securityadmin"],
    }
)


_SEEN_THROUGH = frozenset(
    {
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "EXECUTE",
        "REFERENCES",
        "ALTER",
        "CONTROL",
        "TAKE OWNERSHIP",
        "ALTER ANY SCHEMA",
    }
)
"""Database permissions that are permissions on every object, so every object is seen."""


def visible(session: SessionState, database: Database) -> Callable[[Any], bool]:
    """A test for one reader: may it see an object, type or broker definition?"""
    user, mine = user_in(session, database), identities(session, database)
    if user is None or mine is None:
        return lambda item: False
    if user.id == DBO or sees_definitions(session, database):
        return lambda item: True
    granted = {
        (key[0], key[1])
        for key, stated in database.permissions.items()
        if key[4] in mine
        and any(state in "GW" for state, _ in stated)
        and (key[0] != 0 or key[3] in _SEEN_THROUGH)
    }
    hidden = {
        (key[0], key[1])
        for key, stated in database.permissions.items()
        if key[4] in mine
        and key[3] in {"VIEW DEFINITION", "CONTROL"}
        and not key[2]
        and any(state == "D" for state, _ in stated)
    }
    sees_data = bool(mine & _SEES_DATA) or (0, 0) in granted

    def test(item: Any) -> bool:
        parent = getattr(item, "parent_id", 0)
        if parent:
            item = database.object_by_id(parent) or item
        target = securable(item, database)
        if (target.class_, target.major) in hidden and target.owner not in mine:
            return False
        if target.owner in mine or (target.class_, target.major) in granted:
            return True
        if target.class_ == OBJECT and sees_data:
            return True
        if target.schema:
            schema = database.schemas[target.schema.lower()]
            return schema.owner in mine or (3, schema.schema_id) in granted
        return False

    return test


_OPENS = ("VIEW DEFINITION", "ALTER", "CONTROL", "TAKE OWNERSHIP")


def text_of(session: SessionState, database: Database) -> Callable[[Any], str | None]:
    """The text of a module one can see, for who may see it; else NULL (OBJECT_DEFINITION page).

    The owner may, and who has ALTER, CONTROL, TAKE OWNERSHIP or VIEW DEFINITION on it; EXECUTE
    shows that the module is there, not what is in it.
    """
    if sees_definitions(session, database):
        return lambda module: module.shown_text

    def shown(module: Any) -> str | None:
        if any(has_permission(session, name, module) for name in _OPENS):
            text: str | None = module.shown_text
            return text
        return None

    return shown


def sees_definitions(session: SessionState, database: Database) -> bool:
    """Whether the reader has VIEW DEFINITION on the database, by whatever covers it."""
    return has_permission(session, "VIEW DEFINITION", database)


def sees_everything(session: SessionState, database: Database) -> bool:
    """Whether the reader is dbo or in db_owner: sys.transmission_queue is empty for others.

    The view asks IS_MEMBER (F-113), so a signer counts here where it counts there (F-180).
    """
    user = user_in(session, database)
    return user is not None and (user.id == DBO or DB_OWNER in member_ids(session, database))


def visible_principals(session: SessionState, database: Database) -> Callable[[Any], bool]:
    """A test: may the reader see a database principal (sys.database_principals page)?"""
    if sees_definitions(session, database) or has_permission(session, "ALTER ANY USER", database):
        return lambda principal: True
    mine = identities(session, database) or frozenset()
    granted = {
        key[1]
        for key, stated in database.permissions.items()
        if key[0] == PRINCIPAL and key[4] in mine and any(state in "GW" for state, _ in stated)
    }
    return lambda principal: (
        principal.id <= 4
        or principal.fixed
        or principal.id in mine
        or principal.id in granted
        or principal.owner in mine
    )


def visible_logins(session: SessionState, server: Server) -> list[Any]:
    """Logins and server roles the reader may see, by id (sys.server_principals page)."""
    found = sorted(server.logins.values(), key=lambda login: login.id)
    if has_server_permission(session, "VIEW ANY DEFINITION") or has_server_permission(
        session, "ALTER ANY LOGIN"
    ):
        return found
    ids = server_identity(session)
    granted = {
        key[1]
        for key, stated in server.permissions.items()
        if key[0] == SERVER_PRINCIPAL
        and key[3] in ids
        and any(state in "GW" for state, _ in stated)
    }
    own = session.login_name.lower()
    return [
        login
        for login in found
        if login.id in ids
        or login.id in granted
        or login.fixed
        or login.id == 1
        or login.name.lower() == own
    ]
