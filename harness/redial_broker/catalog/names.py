"""Names as catalog functions and system procedures take them: text with dots and delimiters."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from redial_broker.exec.database import Database

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

_PART = re.compile(r'\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\[\]"]*)')


def split_name(text: str) -> list[str] | None:
    """The parts of a dotted name without delimiters ("" for one left out); None when malformed."""
    parts: list[str] = []
    position = 0
    text = text.strip()
    while position <= len(text):
        found = _PART.match(text, position)
        if found is None:
            return None
        bracketed, quoted, plain = found.groups()
        if bracketed is not None:
            parts.append(bracketed.replace("]]", "]"))
        elif quoted is not None:
            parts.append(quoted.replace('""', '"'))
        else:
            parts.append(plain.strip())
        position = found.end()
        if position == len(text):
            return parts
        if text[position] != ".":
            return None
        position += 1
    return parts


def find_object(session: SessionState, text: str) -> tuple[Database, Any]:
    """(database, object) a name means: #temp tables, constraints and system views included."""
    parts = split_name(text)
    database = session.database
    if not parts or len(parts) > 4 or not parts[-1]:
        return database, None
    name = parts[-1]
    if name.startswith("#"):
        return database, session.temp_tables.get(name.lower())
    if len(parts) >= 3 and parts[-3]:
        other = database.server.databases.get(parts[-3].lower())
        if other is None:
            return database, None
        database = other
    schema = parts[-2] if len(parts) >= 2 and parts[-2] else None
    found = database.resolve(schema, name, session)
    if found is not None:
        return database, found
    user = session.user
    default = (user.default_schema or "dbo") if user is not None and schema is None else "dbo"
    for home in (schema,) if schema is not None else (default, "dbo"):
        found = database.objects.get((home.lower(), name.lower()))
        if found is not None:
            return database, found
    return database, None
