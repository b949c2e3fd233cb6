"""Who sees which metadata ("Metadata visibility configuration" page).

A user sees what it owns or has some permission on; db_owner and VIEW DEFINITION on the database see
everything; public things (schemas, system views) everyone sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.broker.exec.principals import DB_OWNER, DBO, FIXED_ROLES
from harness.broker.exec.security import OBJECT, principals_of, securable, user_in

_SEES_DATA = frozenset({
    FIXED_ROLES["db_datareader"], FIXED_ROLES["db_datawriter"], FIXED_ROLES["db_ddladmin"],
    FIXED_ROLES["db_securityadmin"],
})


def visible(session: Any, database: Any) -> Callable[[Any], bool]:
    """A test for one reader: may it see an object, type or broker definition?"""
    user = user_in(session, database)
    if user is None:
        return lambda item: False
    if user.id == DBO:
        return lambda item: True
    mine = principals_of(database, user)
    granted = {(key[0], key[1]) for key, state in database.permissions.items()
               if key[4] in mine and state[0] in {"G", "W"}
               and key[3] not in {"CONNECT"} and not key[3].startswith("CREATE ")}
    if DB_OWNER in mine or (0, 0) in granted:
        return lambda item: True
    sees_data = bool(mine & _SEES_DATA)

    def test(item: Any) -> bool:
        parent = getattr(item, "parent_id", 0)
        if parent:
            item = database.object_by_id(parent) or item
        target = securable(item, database)
        if target.owner in mine or (target.class_, target.major) in granted:
            return True
        if target.class_ == OBJECT and sees_data:
            return True
        if target.schema:
            schema = database.schemas[target.schema.lower()]
            return schema.owner in mine or (3, schema.schema_id) in granted
        return False

    return test


def sees_everything(session: Any, database: Any) -> bool:
    """Whether the reader is dbo or in db_owner: sys.transmission_queue is empty for others."""
    user = user_in(session, database)
    return user is not None and (user.id == DBO or DB_OWNER in principals_of(database, user))
