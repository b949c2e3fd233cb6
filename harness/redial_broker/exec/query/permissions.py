"""Permission checks of queries and data changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.engine.owners import DBO
from redial_broker.exec.security import check

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


def check_permission(
    session: SessionState, permission: str, securable: Any, columns: tuple[int, ...] = ()
) -> None:
    """Raise 229 when the current principal may not; ownership chains are the catalog's business.

    columns: 1-based, those the statement reads or assigns to; () stands for the whole object.

    The owner of the database, by far the most frequent user, is let through at once.
    """
    if securable is None or session.user is None or getattr(securable, "creator", None):
        return  # everybody may use a ##temporary table
    if session.user.id != DBO or getattr(securable, "database", None) is not session.database:
        check(session, permission, securable, columns)


def column_numbers(ordinals: Any) -> tuple[int, ...]:
    """1-based numbers of 0-based ordinals, ascending."""
    return tuple(sorted(ordinal + 1 for ordinal in ordinals))
