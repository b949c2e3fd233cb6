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
    """[kind::]name. kind: upper case (OBJECT, SERVICE, MESSAGE TYPE ...) or None."""

    kind: str | None
    name: ObjectName


@node
class PermissionName(Node):
    """name: upper case, words separated by one blank; columns: () list or None."""

    name: str
    columns: list[str] | None


@node
class Permission(Statement):
    """GRANT, DENY or REVOKE.

    verb: which; securable: None for a database or server permission; principals: grantees
    ("public" included); grant_option: WITH GRANT OPTION, or GRANT OPTION FOR with REVOKE.
    """

    verb: str
    permissions: list[PermissionName]
    securable: Securable | None
    principals: list[Identifier]
    grant_option: bool
    cascade: bool
    grantor: Identifier | None


@node
class AlterAuthorization(Statement):
    """ALTER AUTHORIZATION ON securable TO owner; owner None for SCHEMA OWNER."""

    securable: Securable
    owner: Identifier | None


@node
class CreateUser(Statement):
    """CREATE USER. source: LOGIN, WITHOUT LOGIN, CERTIFICATE, ASYMMETRIC KEY, EXTERNAL PROVIDER.

    source_name: the login, certificate or key; None when the login has the user's name (source is
    then "" and the server looks for it). options: DEFAULT_SCHEMA, PASSWORD ...
    """

    name: Identifier
    source: str
    source_name: Identifier | None
    options: list[Option]


@node
class AlterUser(Statement):
    """ALTER USER name WITH options: NAME, LOGIN, DEFAULT_SCHEMA, PASSWORD."""

    name: Identifier
    options: list[Option]


@node
class CreateLogin(Statement):
    """CREATE LOGIN. source: PASSWORD, WINDOWS, CERTIFICATE, ASYMMETRIC KEY, EXTERNAL PROVIDER.

    source_name: certificate or key; options: PASSWORD, SID, CHECK_POLICY, DEFAULT_DATABASE ...
    """

    name: Identifier
    source: str
    source_name: Identifier | None
    options: list[Option]


@node
class AlterLogin(Statement):
    """ALTER LOGIN name ENABLE|DISABLE or WITH options. enable: None for WITH."""

    name: Identifier
    enable: bool | None
    options: list[Option]


@node
class CreateRole(Statement):
    """CREATE [SERVER] ROLE name [AUTHORIZATION owner]."""

    name: Identifier
    owner: Identifier | None
    server: bool = False


@node
class AlterRole(Statement):
    """ALTER [SERVER] ROLE. action: ADD MEMBER, DROP MEMBER, NAME; argument: the member or name."""

    name: Identifier
    action: str
    argument: Identifier
    server: bool = False


@node
class CreateMasterKey(Statement):
    """CREATE MASTER KEY [ENCRYPTION BY PASSWORD = password]."""

    password: Literal | None


@node
class AlterMasterKey(Statement):
    """OPEN, CLOSE, ALTER or BACKUP MASTER KEY.

    verb: OPEN, CLOSE, BACKUP, RESTORE, REGENERATE, FORCE REGENERATE, ADD ENCRYPTION,
    DROP ENCRYPTION; service: it is the SERVICE MASTER KEY; options: passwords, files.
    """

    verb: str
    options: list[Option]
    service: bool = False


@node
class CreateCertificate(Statement):
    """CREATE CERTIFICATE.

    options: ENCRYPTION BY PASSWORD, SUBJECT, START_DATE, EXPIRY_DATE, FILE, ASSEMBLY, BINARY,
    EXECUTABLE FILE, PRIVATE KEY (list), ACTIVE FOR BEGIN_DIALOG.
    """

    name: Identifier
    owner: Identifier | None
    options: list[Option]


@node
class AlterCertificate(Statement):
    """ALTER CERTIFICATE. options as of CreateCertificate, or REMOVE PRIVATE KEY."""

    name: Identifier
    options: list[Option]


@node
class BackupCertificate(Statement):
    """BACKUP CERTIFICATE name TO FILE = file. options: PRIVATE KEY."""

    name: Identifier
    file: Expression
    options: list[Option]


@node
class CreateKey(Statement):
    """CREATE SYMMETRIC KEY or ASYMMETRIC KEY. symmetric: which."""

    symmetric: bool
    name: Identifier
    owner: Identifier | None
    options: list[Option]


@node
class OpenKey(Statement):
    """OPEN or CLOSE SYMMETRIC KEY. opens: which; name: None for CLOSE ALL SYMMETRIC KEYS."""

    opens: bool
    name: Identifier | None
    options: list[Option]


@node
class AddSignature(Statement):
    """ADD or DROP [COUNTER] SIGNATURE. verb: ADD or DROP; signers: CERTIFICATE name, with password
    or signature in value as options.
    """

    verb: str
    counter: bool
    module: Securable
    signers: list[Signer]


@node
class Signer(Node):
    """BY kind name. kind: CERTIFICATE or ASYMMETRIC KEY; option: WITH PASSWORD or SIGNATURE."""

    kind: str
    name: Identifier
    option: Option | None


@node
class CreateCredential(Statement):
    """CREATE or ALTER CREDENTIAL. options: IDENTITY, SECRET."""

    verb: str
    name: Identifier
    options: list[Option]
