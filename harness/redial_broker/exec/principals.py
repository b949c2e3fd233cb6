"""Principals: logins of the instance, users and roles of a database, and the fixed ones.

Ids of fixed principals are the server's (sys.database_principals and sys.server_principals pages).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from redial_broker.engine.owners import DBO
from redial_broker.engine.state import definition

GUEST, INFORMATION_SCHEMA_USER, SYS_USER = 2, 3, 4
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


SERVER_STATE_ROLES = {
    "##MS_ServerStateReader##": 11,
    "##MS_ServerStateManager##": 12,
    "##MS_DefinitionReader##": 13,
    "##MS_DatabaseConnector##": 14,
    "##MS_DatabaseManager##": 15,
    "##MS_LoginManager##": 16,
}
"""The fixed server roles of 2022 that mean something here ("Server-level roles" page)."""

USER, ROLE, CERTIFICATE_USER, KEY_USER = "S", "R", "C", "K"
TYPE_NAMES = {
    USER: "SQL_USER",
    ROLE: "DATABASE_ROLE",
    CERTIFICATE_USER: "CERTIFICATE_MAPPED_USER",
    KEY_USER: "ASYMMETRIC_KEY_MAPPED_USER",
}
LOGIN_TYPES = {
    USER: "SQL_LOGIN",
    ROLE: "SERVER_ROLE",
    CERTIFICATE_USER: "CERTIFICATE_MAPPED_LOGIN",
    KEY_USER: "ASYMMETRIC_KEY_MAPPED_LOGIN",
}
"""type and type_desc of sys.database_principals and sys.server_principals."""


@definition()
@dataclass(frozen=True, slots=True)
class Principal:
    """A user or role of one database."""

    id: int
    name: str
    type: str
    """S (user), R (role), C (of a certificate), K (of a key)."""
    default_schema: str | None = "dbo"
    sid: bytes | None = None
    """The login's, its own for a user without login, the certificate's."""
    owner: int | None = None
    """Principal id of the owner."""
    login: str = ""
    """lower-case name of its login when it was made, "" without one."""
    fixed: bool = False

    @property
    def principal_id(self) -> int:
        """Same as ``id``, by the catalog's name for it."""
        return self.id


@definition()
@dataclass(frozen=True, slots=True)
class Login:
    """A login or a server role."""

    id: int
    name: str
    sid: bytes
    password: bytes = b""
    """Salted digest."""
    default_database: str = "master"
    disabled: bool = False
    type: str = "S"
    """S, C, K or R (role)."""
    policy: bool = False
    """CHECK_POLICY."""
    owner: int = 1
    """Id of the owner of a role."""
    fixed: bool = False
    """A fixed server role."""

    def accepts(self, password: str) -> bool:
        """Whether this is the login's password (case counts). Only SQL logins have one."""
        return (
            self.type == USER
            and not self.disabled
            and password_digest(self.sid, password) == self.password
        )


def password_digest(sid: bytes, password: str) -> bytes:
    """What is kept of a password: a test double needs no slow hash, but keeps no plain text."""
    return blake2b(
        password.encode("utf-16-le"), salt=blake2b(sid, digest_size=16).digest()
    ).digest()


def login_sid(name: str, number: int) -> bytes:
    """A stable 16-byte security identifier for a SQL login."""
    return blake2b(f"{name.lower()}/{number}".encode(), digest_size=16).digest()


def loginless_sid(database: str, name: str, number: int) -> bytes:
    """The security identifier of a user without login: S-1-9-3 and four random parts."""
    own = blake2b(f"{database}/{name.lower()}/{number}".encode(), digest_size=16).digest()
    return b"\x01\x05\x00\x00\x00\x00\x00\x09\x03\x00\x00\x00" + own


def certificate_sid(thumbprint: bytes) -> bytes:
    """The security identifier of the user or login of a certificate: S-1-9-1 and its thumbprint.

    It is the same in every database that has the certificate.
    """
    return b"\x01\x06\x00\x00\x00\x00\x00\x09\x01\x00\x00\x00" + thumbprint


@lru_cache(maxsize=256)  # asked for at every call of a module that runs as somebody
def sid_text(sid: bytes) -> str:
    """A security identifier in its written form, S-1-9-..."""
    count = sid[1]
    authority = int.from_bytes(sid[2:8], "big")
    parts = [int.from_bytes(sid[8 + 4 * i : 12 + 4 * i], "little") for i in range(count)]
    return "-".join(["S", str(sid[0]), str(authority), *map(str, parts)])


def server_roles() -> dict[str, Login]:
    """The server roles an instance is born with, by lower-case name."""
    found = {
        name: Login(number, name, bytes([number]), type=ROLE, fixed=name != "public")
        for name, number in SERVER_ROLES.items()
    }
    found |= {
        name.lower(): Login(number, name, bytes([number]), type=ROLE, fixed=True)
        for name, number in SERVER_STATE_ROLES.items()
    }
    return found


def fixed_principals() -> dict[str, Principal]:
    """The users and roles every database is born with, by lower-case name."""
    found = [
        Principal(PUBLIC, "public", "R", None, None, DBO),
        Principal(DBO, "dbo", "S", "dbo", b"\x01", None, "sa"),
        Principal(GUEST, "guest", "S", "guest", b"\x00"),
        Principal(INFORMATION_SCHEMA_USER, "INFORMATION_SCHEMA", "S", None),
        Principal(SYS_USER, "sys", "S", None),
    ]
    found += [
        Principal(number, name, "R", None, None, DBO, "", True)
        for name, number in FIXED_ROLES.items()
    ]
    return {principal.name.lower(): principal for principal in found}
