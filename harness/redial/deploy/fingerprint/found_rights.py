"""Rights, as a server's catalog tells them."""

from __future__ import annotations

from collections.abc import Callable, Container

from redial.deploy.fingerprint.lookers import EVERYBODY
from redial.deploy.fingerprint.model import (
    DATABASE_PERMISSION,
    DENIED,
    GRANTED,
    GRANTEE,
    GRANTOR,
    ON_COLUMN,
    ON_KIND,
    ON_NAME,
    ON_SCHEMA,
    PASSED_ON,
    PERMISSION,
    Catalog,
    Properties,
    Thing,
    right,
    securable,
)
from redial.deploy.fingerprint.queries import Row

DBO = "dbo"
"""The user of a database's owner."""
_KINDS = {
    "OBJECT_OR_COLUMN": "OBJECT",
    "DATABASE_PRINCIPAL": "USER",
    "SERVICE_CONTRACT": "CONTRACT",
    "SYMMETRIC_KEYS": "SYMMETRIC KEY",
}
_STATES = {"G": GRANTED, "D": DENIED, "W": PASSED_ON, "R": "revoke"}


def rights(
    rows: list[Row],
    catalog: Catalog,
    ours: Container[str],
    who: Callable[[str | None], str],
    named: Callable[[str | None, str], str],
) -> Catalog:
    """Rights; one that another than the owner has given is a thing of its own beside the owner's.

    catalog: of principals. ours: our users and roles. who, named: a user, and an object, as the files
    spell it.
    """
    found: Catalog = {}
    for row in sorted(rows, key=lambda one: bool(_grantor(one))):
        own = _right(row, catalog, who, named)
        name = f"{own[ON_SCHEMA]}.{own[ON_NAME]}" if own[ON_SCHEMA] else own[ON_NAME]
        where = securable(own[ON_KIND], name, own[ON_COLUMN])
        theirs = (
            own[ON_KIND] == "DATABASE" and own[GRANTEE] not in ours and own[GRANTEE] != EVERYBODY
        )
        kind = DATABASE_PERMISSION if theirs else "permission"
        thing = Thing(kind, right(own[PERMISSION], own[GRANTEE]), where)
        if thing in found or own[GRANTOR] not in ("", DBO):
            thing = Thing(kind, right(own[PERMISSION], own[GRANTEE], row["grantor"] or ""), where)
        found[thing] = own
    return found


def powerful(rows: list[Row]) -> list[tuple[str, str]]:
    """Roles of the server's, and those that are in them, each with its members."""
    names = [(row["role"], row["member"]) for row in rows]
    roles = {row["role"] for row in rows if row["is_fixed_role"]}
    while more := {member for role, member in names if role in roles} - roles:
        roles |= more
    return [(role, member) for role, member in names if role in roles]


def _grantor(row: Row) -> str:
    """Whoever gave a right; empty for the owner of what it is on."""
    grantor: str = row["grantor"] or ""
    return "" if grantor == (row["owner"] or DBO) else grantor


def _right(
    row: Row,
    catalog: Catalog,
    who: Callable[[str | None], str],
    named: Callable[[str | None, str], str],
) -> Properties:
    """What a right is, in parts."""
    kind = _KINDS.get(row["class_desc"], row["class_desc"].replace("_", " "))
    name = row["other_name"] or f"number {row['major_id']}"
    if kind == "USER":
        name = who(name)
        kind = "ROLE" if Thing("role", name) in catalog else kind
    elsewhere = kind == "OBJECT" and named(row["schema_name"], "") != ""
    return {
        "state": _STATES[row["state"].strip()],
        PERMISSION: row["permission_name"],
        GRANTEE: who(row["grantee"]),
        GRANTOR: _grantor(row),
        ON_KIND: kind,
        ON_SCHEMA: row["schema_name"] if elsewhere else "",
        ON_NAME: (row["object_name"] or "?") if kind == "OBJECT" else name,
        ON_COLUMN: (row["column_name"] or "?") if row["minor_id"] else "",
    }
