"""DBCC CHECKIDENT, and the commands that only empty caches (their pages)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.dbcc import COMMANDS
from redial_broker.exec.ddl.common import target_database
from redial_broker.exec.ddl.temporary import is_temporary
from redial_broker.exec.execute import parse_name
from redial_broker.exec.security import has_permission, has_server_permission

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

CACHES = frozenset({"FREEPROCCACHE", "DROPCLEANBUFFERS", "FREESYSTEMCACHE", "FREESESSIONCACHE"})
"""Commands that throw away what is only kept for speed."""


def empty_cache(session: SessionState, given: list[Any], options: set[str]) -> None:
    """FREEPROCCACHE and its kin. Raises SqlError 2571."""
    if not has_server_permission(session, "ALTER SERVER STATE"):
        raise SqlError(2571, session.user_name, "FREEPROCCACHE")


def check_identity(session: SessionState, given: list[Any], options: set[str]) -> None:
    """CHECKIDENT (table [, NORESEED | RESEED [, value]]). Raises 2501, 2560, 7997.

    A table that has never had a row gives ``value`` itself to its next row, any other one the value
    after it (DBCC CHECKIDENT page).
    """
    if not given:
        raise SqlError(2583)
    table = _table(session, str(given[0]))
    if table.identity_column is None:
        raise SqlError(7997, table.name)
    identity = table.columns[table.identity_column].identity
    assert identity is not None  # it is the identity column
    seed, step = identity
    at, following = table.identity_column, table.next_identity
    values = [row[at] for row in table.rows.entries.values()]
    best = (max if step > 0 else min)(values, default=None)
    fresh = following == seed and not values
    current = None if fresh else following - step
    mode = str(given[1]).upper() if len(given) > 1 else "RESEED"
    behind = best is not None and current is not None and (best - current) * step > 0
    if len(given) > 2:
        if not isinstance(given[2], int | Decimal):
            raise SqlError(2560, 3)
        value = int(given[2])
        following = value if fresh else value + step
    elif mode != "NORESEED" and behind and best is not None:
        following = int(best) + step
    if following != table.next_identity:
        session.engine.journal.assign(session.work(), table, "next_identity", following)
    if "NO_INFOMSGS" not in options:
        shown = "NULL" if current is None else current
        text = f"Checking identity information: current identity value '{shown}'"
        if len(given) > 2:
            session.info(f"{text}.", 0, 7998)
        else:
            column = "NULL" if best is None else int(Decimal(best))
            session.info(f"{text}, current column value '{column}'.", 0, 7998)


def _table(session: SessionState, text: str) -> Table:
    name = parse_name(text)
    if is_temporary(name.name):
        found = session.temp_tables.get(name.name.lower())
    else:
        found = target_database(session, name).resolve(name.schema, name.name, session)
        if isinstance(found, Table):
            if not has_permission(session, "ALTER", found):
                found = None
            else:
                session.engine.access.lock_table(session.work(), found, "Sch-M")
    if not isinstance(found, Table):
        raise SqlError(2501, text)
    return found


COMMANDS["CHECKIDENT"] = check_identity
for _name in CACHES:
    COMMANDS[_name] = empty_cache
