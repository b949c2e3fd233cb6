"""What stands behind ``END CONVERSATION @h`` when somebody ends a dialog by hand."""

from __future__ import annotations

WITH_CLEANUP = " WITH CLEANUP"
"""The side is gone at once, and the other one is told nothing."""


def with_error(description: str) -> str:
    """The other side gets an Error message with this text, which has no quote in it."""
    return f" WITH ERROR = 50001 DESCRIPTION = N'{description}'"
