"""Name patterns of the ODBC catalog procedures: % and _, and \\ before a literal one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if char == "[" and "]" in pattern[position:]:
            # Drivers escape by putting the character into brackets.
            end = pattern.index("]", position)
            parts.append(re.escape(pattern[position + 1 : end]))
            position = end + 1
            continue
        if char == "\\" and position + 1 < len(pattern):
            position += 1
            parts.append(re.escape(pattern[position]))
        else:
            parts.append(".*" if char == "%" else "." if char == "_" else re.escape(char))
        position += 1
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)


def matches(name: str, pattern: str | None, use_pattern: bool) -> bool:
    """Whether a name is meant; None means any."""
    if pattern is None:
        return True
    if not use_pattern:
        return name.lower() == pattern.lower()
    return _compiled(pattern).fullmatch(name) is not None


def qualified_database(session: SessionState, qualifier: str | None) -> Any:
    """The database a qualifier names, else the current one. Raises SqlError 911."""
    if not qualifier or qualifier == "%":
        return session.database
    return session.database.server.database(qualifier)
