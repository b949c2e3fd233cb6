"""Permission checks of queries and data changes."""

from __future__ import annotations

from typing import Any


def check_permission(s: Any, permission: str, securable: Any) -> None:
    """Raise 229 when the current principal may not; ownership chains are the catalog's business.

    The owner of the database, by far the most frequent user, is let through at once.
    """
    if securable is not None and s.user is not None and s.user.name != "dbo":
        s.check_permission(permission, securable)
