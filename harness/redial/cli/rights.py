"""A right that is missing: which, on what, and who can give it or do it instead."""

from __future__ import annotations

import re

from redial.quoting import quote_name

_ON_OBJECT = re.compile(
    r"The (?P<right>[A-Z ]+) permission was denied on the (?:object|column '[^']*' of the object) "
    r"'(?P<name>.*)', database '(?P<database>.*)', schema '(?P<schema>.*)'"
)
_IN_DATABASE = re.compile(r"(?P<right>[A-Z ]+) permission denied in database '(?P<database>.*)'")
_ON_SERVER = re.compile(r"(?P<right>[A-Z ]+) permission was denied on object 'server'")
_READS = "SELECT"
MISSING = frozenset({229, 230, 262, 297, 300, 15247, 3704, 5011, 15151, 6004, 10011})
"""Numbers of errors that a missing right is, or may be (sys.messages)."""
DOCUMENTED = "docs/security.md says which rights each command needs"


def next_step(number: int | None, text: str) -> str | None:
    """Who can do something about it, and what; None where it is no matter of rights."""
    if number not in MISSING:
        return None
    if found := _ON_OBJECT.search(text):
        own = f"{quote_name(found['schema'])}.{quote_name(found['name'])}"
        grant = f"GRANT {found['right']} ON {own} TO this login's user"
        where = f"a member of db_owner of {quote_name(found['database'])}"
        if found["right"] != _READS:
            return f"let {where} run this command; {DOCUMENTED}"
        return f"let {where} run this command, or give the right: {grant}; {DOCUMENTED}"
    if found := _ON_SERVER.search(text):
        return f"let a sysadmin run GRANT {found['right']} TO this login; {DOCUMENTED}"
    if found := _IN_DATABASE.search(text):
        if found["database"].lower() == "master":
            return (
                f"let a sysadmin or a member of dbcreator do this ({found['right']}); {DOCUMENTED}"
            )
        return f"let a member of db_owner of {quote_name(found['database'])} run this command; {DOCUMENTED}"
    return f"let a member of db_owner, or a sysadmin, run this command; {DOCUMENTED}"
