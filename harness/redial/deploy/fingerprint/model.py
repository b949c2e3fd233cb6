"""The model both sides are told in: things with properties, all of them texts."""

from __future__ import annotations

import re
from typing import NamedTuple

from redial.quoting import quote_name, visible

Properties = dict[str, str]
"""By name; an empty text stands for nothing there."""


class Thing(NamedTuple):
    """What a catalog holds."""

    kind: str
    """In words: table, column, queue, permission."""
    name: str
    """Without the schema where that is the configuration's."""
    of: str = ""
    """What it belongs to: a column's table; of a permission what it is on, its kind first."""

    def __str__(self) -> str:
        join = "on" if self.kind == "permission" else "of"
        return visible(f"{self.kind} {self.name}" + (f" {join} {self.of}" if self.of else ""))

    @property
    def object_name(self) -> str:
        """Without the code of its type, which an object of no other kind has behind its name."""
        return self.name.rpartition(" (")[0] if self.kind == "object" else self.name

    def belongs_to(self, other: Thing) -> bool:
        """Whether it goes when the other goes."""
        kind = other.kind.upper()
        if self.kind == "permission" and self.of == "DATABASE":
            return other.kind == "user" and self.name == right(CONNECT, other.name)
        if self.kind == "permission":
            whole = "OBJECT" if other.kind in OBJECTS and not other.of else kind
            on = securable(whole, other.name)
            return self.of == on or (whole == "OBJECT" and self.of.startswith(f"{on} ("))
        if self.kind == "owned object":
            return (self.of, self.name) == (kind, other.name)
        if self.kind == "mark":
            return self.of == other.name and self.name == ("USER" if kind == "ROLE" else kind)
        owners = _OWNERS.get(self.kind)
        return (
            self.of == other.name
            and (owners is None or other.kind in owners)
            and self.kind != other.kind
        )


def plain(name: str) -> str:
    """A name in a sentence about a right: in brackets where it could be taken for more than a name."""
    return quote_name(name) if _MORE_THAN_A_NAME.search(name) else name


_MORE_THAN_A_NAME = re.compile(r"[()\[\]]| (to|by|on) |[.:] ")


def right(permission: str, grantee: str, grantor: str = "") -> str:
    """What a permission is called; grantor: whoever gave it, where that is neither the owner nor dbo."""
    return f"{permission} to {plain(grantee)}" + (f" by {plain(grantor)}" if grantor else "")


def securable(kind: str, name: str, column: str = "") -> str:
    """What a permission is on."""
    if kind == "DATABASE":
        return kind
    return f"{kind} {plain(name)}" + (f" ({plain(column)})" if column else "")


OBJECTS = frozenset({"table", "module", "queue", "object"})
"""Kinds whose names a schema has once."""
_TABLES = frozenset({"table", "type", "module"})
"""A module may be a view."""
_OWNERS = {
    **dict.fromkeys(
        ("column", "index", "check", "statistics", "foreign key", "trigger", "module"), _TABLES
    ),
    "event notification": frozenset({"queue"}),
    "signature": frozenset({"module"}),
    "contract": frozenset({"service"}),
    "message type": frozenset({"contract"}),
    "role membership": frozenset({"user", "role"}),
    "schema": frozenset({"user", "role"}),
}
"""Kinds of what each kind can belong to; of the others whatever has the name."""

OPTION = "database option"
DATABASE_OWNER = Thing(OPTION, "owner")
DATABASE_PERMISSION = "permission of others"
"""On the whole database, and so on what is ours."""
MEMBER = "member"
"""Of one of our roles: whoever sends, reads and operates; nothing to judge."""
MARKED_INSIDE = ("TABLE", "QUEUE", "TYPE")
"""Kinds whose mark has the configuration's name; what configurations can share has its schema's."""
POWER = "membership of others"
"""In a role of the server's that may do more than ours, or in one that is in it."""
ELSEWHERE = "table in another schema"
"""One with a mark that is of nothing installed there: of the schema it is in."""
MADE = "mark of making"
"""Says that a deployment made what configurations can share, so that the last one drops it."""
DATABASE_TRIGGER, DATABASE_NOTIFICATION = "database trigger", "database notification"
ROUTE_OF_ALL = "route for every service"
SURROUNDING = frozenset(
    {OPTION, DATABASE_PERMISSION, MADE, DATABASE_TRIGGER, DATABASE_NOTIFICATION, ROUTE_OF_ALL}
    | {POWER}
)
"""Kinds that no file makes and messages depend on all the same (``surroundings``)."""

AS_WRITTEN = "as written"
"""The files' own text of a column, check or index of a table; never compared."""


def written(what: str) -> str:
    """The property that has an expression as it is written, the files' or the server's; never compared."""
    return f"{what} {AS_WRITTEN}"


CONNECT = "CONNECT"
"""The right to enter a database, which CREATE USER gives."""
PERMISSION, GRANTEE, GRANTOR = "permission", "grantee", "grantor"
ON_KIND, ON_SCHEMA, ON_NAME, ON_COLUMN = "on kind", "on schema", "on name", "on column"
"""Of a right that is found, what its statement is written of; grantor: empty for the owner, schema: for the
configuration's and for what is in none."""

OWN_GATE = "of a deployment"
"""Of a gate that a deployment has closed and not opened again."""
REMOVED = "uninstalled"
"""Version of the last deployment after an uninstall that keeps the tables."""

Catalog = dict[Thing, Properties]
"""Everything of an installation."""

ON, OFF = "on", "off"
GRANTED, DENIED, PASSED_ON = "grant", "deny", "grant with option"
"""States of a right."""
NO_LOGIN, OF_A_CERTIFICATE = "S", "C"
"""Types of users (sys.database_principals): one that has a login or none, one made of a certificate."""
UNREAD = "none"
"""Activation of a queue that has no procedure to read it."""
HIDDEN = "(not to be seen)"
"""Text of a module that is encrypted, or whose definition the login may not see."""


def switch(value: object) -> str:
    """A bit as a word."""
    return ON if value else OFF
