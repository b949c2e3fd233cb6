"""Who may look, and no more: the rights that verification asks for are no finding.

Rows of the tables that it reads itself, none of which holds a message, and definitions. All of them
together and nothing else make a looker; a part of them is somebody's right as any other. And what
blocking.sql lets operators call.
"""

from __future__ import annotations

import re

from redial.deploy.fingerprint.model import (
    DATABASE_PERMISSION,
    GRANTED,
    GRANTEE,
    GRANTOR,
    ON_COLUMN,
    ON_KIND,
    ON_NAME,
    ON_SCHEMA,
    PERMISSION,
    Catalog,
    Thing,
)
from redial.deploy.fingerprint.queries import CONTENTS
from redial.quoting import qualified, quote_name

DEFINITIONS = "VIEW DEFINITION"
"""The right on the database without which the catalog hides things."""
SESSIONS = re.compile(r"redial_.+_sessions")
"""What blocking.sql calls its procedure."""
EVERYBODY, GUEST = "public", "guest"
"""The role every user of a database is in, and the user of logins that have none: never lookers."""


def rights_to_look(schema: str, user: str, tables: list[str] | None = None) -> str:
    """The statements that make a looker. tables: those that are there; None: all."""
    rows = [
        f"GRANT SELECT ON {qualified(schema, table)} TO {quote_name(user)};"
        for table in (CONTENTS if tables is None else tables)
    ]
    return " ".join([*([definitions_for(user)] if tables is None else []), *rows])


def definitions_for(user: str) -> str:
    """The statement without which nothing can be said."""
    return f"GRANT {DEFINITIONS} TO {quote_name(user)};"


def looking_rights(found: Catalog) -> dict[Thing, str]:
    """The rights of lookers, each with whose it is."""
    read: dict[str, dict[str, Thing]] = {}
    for thing, own in found.items():
        if _reads(thing, own):
            read.setdefault(own[GRANTEE], {})[own[ON_NAME]] = thing
    there = {table for table in CONTENTS if Thing("table", table) in found}
    lookers = {who: rights for who, rights in read.items() if there <= rights.keys()}
    return {
        **{thing: who for who, rights in lookers.items() for thing in rights.values()},
        **{
            thing: own[GRANTEE]
            for thing, own in found.items()
            if _plain(thing, DATABASE_PERMISSION, own, DEFINITIONS) and own[GRANTEE] in lookers
        },
        **{thing: own[GRANTEE] for thing, own in found.items() if _sees_sessions(thing, own)},
    }


def _reads(thing: Thing, own: dict[str, str]) -> bool:
    """Whether it is the right to the rows of a table that verification reads."""
    if not _plain(thing, "permission", own, "SELECT") or own[ON_KIND] != "OBJECT":
        return False
    ours = own[ON_NAME] in CONTENTS and not own[ON_SCHEMA] and not own[ON_COLUMN]
    return ours and own[GRANTEE] not in (EVERYBODY, GUEST)


def _sees_sessions(thing: Thing, own: dict[str, str]) -> bool:
    """Whether an administrator has given it, with blocking.sql."""
    given = _plain(thing, "permission", own, "EXECUTE") and own[ON_SCHEMA] == "dbo"
    return given and SESSIONS.fullmatch(own[ON_NAME]) is not None


def _plain(thing: Thing, kind: str, own: dict[str, str], permission: str) -> bool:
    granted = thing.kind == kind and own["state"] == GRANTED and not own[GRANTOR]
    return granted and own[PERMISSION] == permission
