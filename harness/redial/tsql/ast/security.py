"""Principals, permissions, keys, certificates and signatures."""

from __future__ import annotations

from redial.tsql.ast.base import (
    Expression,
    Identifier,
    Node,
    ObjectName,
    Option,
    Statement,
    node,
)
from redial.tsql.ast.expressions import Literal


@node
class Securable(Node):
    """[kind::]name."""

    kind: str | None
    """Upper case (OBJECT, SERVICE, MESSAGE TYPE ...) or None."""
    name: ObjectName


@node
class PermissionName(Node):
    """One permission of a list."""

    name: str
    """Upper case, words separated by one blank."""
    columns: list[str] | None
    """The list in parentheses, or None."""


@node
class Permission(Statement):
    """GRANT, DENY or REVOKE."""

    verb: str
    """Which."""
    permissions: list[PermissionName]
    securable: Securable | None
    """None for a database or server permission."""
    principals: list[Identifier]
    """Grantees ("public" included)."""
    grant_option: bool
    """WITH GRANT OPTION, or GRANT OPTION FOR with REVOKE."""
    cascade: bool
    grantor: Identifier | None


@node
class AlterAuthorization(Statement):
    """ALTER AUTHORIZATION ON securable TO owner; owner None for SCHEMA OWNER."""

    securable: Securable
    owner: Identifier | None


@node
class CreateUser(Statement):
    """CREATE USER."""

    name: Identifier
    source: str
    """LOGIN, WITHOUT LOGIN, CERTIFICATE, ASYMMETRIC KEY, EXTERNAL PROVIDER."""
    source_name: Identifier | None
    """The login, certificate or key; None when the login has the user's name (source is then "" and
    the server looks for it)."""
    options: list[Option]
    """DEFAULT_SCHEMA, PASSWORD ..."""


@node
class AlterUser(Statement):
    """ALTER USER name WITH options."""

    name: Identifier
    options: list[Option]
    """NAME, LOGIN, DEFAULT_SCHEMA, PASSWORD."""


@node
class CreateLogin(Statement):
    """CREATE LOGIN."""

    name: Identifier
    source: str
    """PASSWORD, WINDOWS, CERTIFICATE, ASYMMETRIC KEY, EXTERNAL PROVIDER."""
    source_name: Identifier | None
    """Certificate or key."""
    options: list[Option]
    """PASSWORD, SID, CHECK_POLICY, DEFAULT_DATABASE ..."""


@node
class AlterLogin(Statement):
    """ALTER LOGIN name ENABLE|DISABLE or WITH options."""

    name: Identifier
    enable: bool | None
    """None for WITH."""
    options: list[Option]


@node
class CreateRole(Statement):
    """CREATE [SERVER] ROLE name [AUTHORIZATION owner]."""

    name: Identifier
    owner: Identifier | None
    server: bool = False


@node
class AlterRole(Statement):
    """ALTER [SERVER] ROLE."""

    name: Identifier
    action: str
    """ADD MEMBER, DROP MEMBER, NAME."""
    argument: Identifier
    """The member or name."""
    server: bool = False


@node
class CreateMasterKey(Statement):
    """CREATE MASTER KEY [ENCRYPTION BY PASSWORD = password]."""

    password: Literal | None


@node
class AlterMasterKey(Statement):
    """OPEN, CLOSE, ALTER or BACKUP MASTER KEY."""

    verb: str
    """OPEN, CLOSE, BACKUP, RESTORE, REGENERATE, FORCE REGENERATE, ADD ENCRYPTION, DROP ENCRYPTION."""
    options: list[Option]
    """Passwords, files."""
    service: bool = False
    """It is the SERVICE MASTER KEY."""


@node
class CreateCertificate(Statement):
    """CREATE CERTIFICATE."""

    name: Identifier
    owner: Identifier | None
    options: list[Option]
    """ENCRYPTION BY PASSWORD, SUBJECT, START_DATE, EXPIRY_DATE, FILE, ASSEMBLY, BINARY, EXECUTABLE
    FILE, PRIVATE KEY (list), ACTIVE FOR BEGIN_DIALOG."""


@node
class AlterCertificate(Statement):
    """ALTER CERTIFICATE. options as of CreateCertificate, or REMOVE PRIVATE KEY."""

    name: Identifier
    options: list[Option]


@node
class BackupCertificate(Statement):
    """BACKUP CERTIFICATE name TO FILE = file."""

    name: Identifier
    file: Expression
    options: list[Option]
    """PRIVATE KEY."""


@node
class CreateKey(Statement):
    """CREATE SYMMETRIC KEY or ASYMMETRIC KEY."""

    symmetric: bool
    """Which."""
    name: Identifier
    owner: Identifier | None
    options: list[Option]


@node
class OpenKey(Statement):
    """OPEN or CLOSE SYMMETRIC KEY."""

    opens: bool
    """Which."""
    name: Identifier | None
    """None for CLOSE ALL SYMMETRIC KEYS."""
    options: list[Option]


@node
class AddSignature(Statement):
    """ADD or DROP [COUNTER] SIGNATURE."""

    verb: str
    """ADD or DROP."""
    counter: bool
    module: Securable
    signers: list[Signer]
    """CERTIFICATE name, with password or signature in value as options."""


@node
class Signer(Node):
    """BY kind name."""

    kind: str
    """CERTIFICATE or ASYMMETRIC KEY."""
    name: Identifier
    option: Option | None
    """WITH PASSWORD or SIGNATURE."""


@node
class CreateCredential(Statement):
    """CREATE or ALTER CREDENTIAL."""

    verb: str
    name: Identifier
    options: list[Option]
    """IDENTITY, SECRET."""
