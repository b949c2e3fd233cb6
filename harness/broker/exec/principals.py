"""Principals: logins of the instance, users and roles of a database, and the fixed ones.

Ids of fixed principals are the server's (sys.database_principals and sys.server_principals pages).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

DBO, GUEST, INFORMATION_SCHEMA_USER, SYS_USER = 1, 2, 3, 4
PUBLIC = 0
DB_OWNER = 16384
FIRST_USER = 5
FIRST_LOGIN = 256

FIXED_ROLES = {
    "db_owner": DB_OWNER,
    "db_accessadmin": 16385,
    "db_securityadmin": 16386,
    "db_ddladmin": 16387,
    "db_backupoperator": 16389,
    "db_datareader": 16390,
    "db_datawriter": 16391,
    "db_denydatareader": 16392,
    "db_denydatawriter": 16393,
}
"""Fixed database roles with their principal ids."""

SERVER_ROLES = {
    "public": 2,
    "sysadmin": 3,
    "securityadmin": 4,
    "serveradmin": 5,
    "setupadmin": 6,
    "processadmin": 7,
    "diskadmin": 8,
    "dbcreator": 9,
    "bulkadmin": 10,
}
"""Fixed server roles with their principal ids."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A user or role of one database. type: S (user) or R (role); sid: the login's, None without.

    owner: principal id of the owner; login: lower-case name of its login, "" without one.
    """

    id: int
    name: str
    type: str
    default_schema: str | None = "dbo"
    sid: bytes | None = None
    owner: int | None = None
    login: str = ""
    fixed: bool = False

    @property
    def principal_id(self) -> int:
        """Same as ``id``, by the catalog's name for it."""
        return self.id


@dataclass(frozen=True, slots=True)
class Login:
    """A SQL login. password: salted digest; roles: names of fixed server roles."""

    id: int
    name: str
    sid: bytes
    password: bytes
    default_database: str = "master"
    disabled: bool = False
    roles: frozenset[str] = frozenset()

    @property
    def sysadmin(self) -> bool:
        """May do everything."""
        return "sysadmin" in self.roles

    def accepts(self, password: str) -> bool:
        """Whether this is the login's password (case counts)."""
        return not self.disabled and password_digest(self.name, password) == self.password


def password_digest(name: str, password: str) -> bytes:
    """What is kept of a password: a test double needs no slow hash, but keeps no plain text."""
    return blake2b(password.encode("utf-16-le"), salt=blake2b(
        name.lower().encode(), digest_size=16).digest()).digest()


def login_sid(name: str, number: int) -> bytes:
    """A stable 16-byte security identifier for a SQL login."""
    return blake2b(f"{name.lower()}/{number}".encode(), digest_size=16).digest()


def fixed_principals() -> dict[str, Principal]:
    """The users and roles every database is born with, by lower-case name."""
    found = [
        Principal(PUBLIC, "public", "R", None, None, DBO),
        Principal(DBO, "dbo", "S", "dbo", b"\x01", None, "sa"),
        Principal(GUEST, "guest", "S", "guest", b"\x00"),
        Principal(INFORMATION_SCHEMA_USER, "INFORMATION_SCHEMA", "S", None),
        Principal(SYS_USER, "sys", "S", None),
    ]
    found += [Principal(number, name, "R", None, None, DBO, "", True)
              for name, number in FIXED_ROLES.items()]
    return {principal.name.lower(): principal for principal in found}
