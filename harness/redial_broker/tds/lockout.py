"""Guessing passwords is slow: after three failures in a row every further answer comes later.

Ours, not SQL Server's, which leaves it to the password policy of Windows (page "Password policy").
Only failures wait. A right password is taken at once, so that nobody can lock out somebody else.
"""

from __future__ import annotations

FREE = 3
"""Failures in a row that are answered at once."""
LONGEST_SECONDS = 8.0
NAMES = 1000
"""Login names remembered; the one that failed longest ago is forgotten first."""


class Lockout:
    """Failures in a row, by login name."""

    def __init__(self) -> None:
        self._failures: dict[str, int] = {}

    def failed(self, user: str) -> float:
        """Count one; how many seconds its answer waits: 0, then 1, 2, 4 and 8."""
        name = user.lower()
        count = self._failures.pop(name, 0) + 1
        self._failures[name] = count
        if len(self._failures) > NAMES:
            del self._failures[next(iter(self._failures))]
        return 0.0 if count <= FREE else min(LONGEST_SECONDS, 2.0 ** min(count - FREE - 1, 10))

    def succeeded(self, user: str) -> None:
        """The count starts over."""
        self._failures.pop(user.lower(), None)
