"""Principals, permissions, databases, messages, properties: the rest of the catalog views."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.views import view
from redial_broker.catalog.visibility import (
    sees_definitions,
    visible_logins,
    visible_principals,
)
from redial_broker.engine.messages import MESSAGES
from redial_broker.engine.types import INT, Variant, nvarchar
from redial_broker.exec.configuration import SETTINGS, values_of
from redial_broker.exec.database import Database
from redial_broker.exec.permission_table import code_of
from redial_broker.exec.principals import LOGIN_TYPES, TYPE_NAMES
from redial_broker.exec.security import (
    CLASS_NAMES,
    has_server_permission,
    identities,
)
from redial_broker.exec.tokens import SERVER_PRINCIPAL, server_identity

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

STATE_NAMES = {"G": "GRANT", "D": "DENY", "W": "GRANT_WITH_GRANT_OPTION"}

SERVER_CLASSES = {100: "SERVER", 101: "SERVER_PRINCIPAL", 105: "ENDPOINT"}
CLASS_KINDS = {
    0: "DATABASE",
    1: "OBJECT",
    3: "SCHEMA",
    4: "USER",
    6: "TYPE",
    10: "XML SCHEMA COLLECTION",
    15: "MESSAGE TYPE",
    16: "CONTRACT",
    17: "SERVICE",
    18: "REMOTE SERVICE BINDING",
    19: "ROUTE",
    24: "SYMMETRIC KEY",
    25: "CERTIFICATE",
    26: "ASYMMETRIC KEY",
}
"""class of a permission -> kind of securable; a role's permissions have a user's codes."""


@view(
    "sys.database_principals",
    """
name sysname
principal_id int
type char(1)
type_desc nvarchar(60)?
default_schema_name sysname?
create_date datetime
modify_date datetime
owning_principal_id int?
sid varbinary(85)?
is_fixed_role bit
authentication_type int
authentication_type_desc nvarchar(60)?
default_language_name sysname = None
default_language_lcid int = None
allow_encrypted_value_modifications bit = 0""",
)
def database_principals(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Users and roles: those with fixed ids and oneself, others by any permission on them."""
    seen = visible_principals(session, db)
    for p in sorted(db.principals.values(), key=lambda p: p.id):
        if not seen(p):
            continue
        authentication = (1, "INSTANCE") if p.type == "S" and p.login else (0, "NONE")
        yield (
            p.name,
            p.id,
            p.type,
            TYPE_NAMES[p.type],
            p.default_schema,
            db.created,
            db.created,
            p.owner if p.type == "R" else None,
            p.sid,
            int(p.fixed),
            *authentication,
        )


@view(
    "sys.database_role_members",
    """
role_principal_id int
member_principal_id int""",
)
def database_role_members(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Who is in which role: one's own memberships, others with VIEW DEFINITION on the role."""
    mine = identities(session, db) or frozenset()
    seen = visible_principals(session, db)
    for role, member in sorted(db.members):
        found = db.principal(role)
        if (
            member in mine
            or (found is not None and not found.fixed and seen(found))
            or sees_definitions(session, db)
        ):
            yield role, member


@view(
    "sys.database_permissions",
    """
class tinyint
class_desc nvarchar(60)?
major_id int
minor_id int
grantee_principal_id int
grantor_principal_id int
type char(4)
permission_name nvarchar(128)?
state char(1)
state_desc nvarchar(60)?""",
)
def database_permissions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Every permission stated; a user sees its own, VIEW DEFINITION all."""
    mine, everything = identities(session, db) or frozenset(), sees_definitions(session, db)
    for (class_, major, minor, name, grantee), stated in sorted(db.permissions.items()):
        if not everything and grantee not in mine:
            continue
        kind = CLASS_KINDS[class_]
        for state, grantor in stated:
            yield (
                class_,
                CLASS_NAMES[class_],
                major,
                minor,
                grantee,
                grantor,
                code_of(kind, name),
                name,
                state,
                STATE_NAMES[state],
            )


@view(
    "sys.server_principals",
    """
name sysname
principal_id int
sid varbinary(85)?
type char(1)
type_desc nvarchar(60)?
is_disabled bit?
create_date datetime
modify_date datetime
default_database_name sysname?
default_language_name sysname? = 'us_english'
credential_id int = None
owning_principal_id int?
is_fixed_role bit""",
)
def server_principals_view(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Logins and server roles; a login sees itself, sa and the fixed roles."""
    server = db.server
    born = server.databases["master"].created
    for login in visible_logins(session, server):
        role = login.type == "R"
        yield (
            login.name,
            login.id,
            login.sid,
            login.type,
            LOGIN_TYPES[login.type],
            int(login.disabled),
            born,
            born,
            None if role else login.default_database,
            login.owner if role else None,
            int(login.fixed),
        )


@view(
    "sys.sql_logins",
    """
name sysname
principal_id int
sid varbinary(85)?
type char(1)
type_desc nvarchar(60)?
is_disabled bit?
default_database_name sysname?
is_policy_checked bit?
is_expiration_checked bit? = 0
- password_hash varbinary(256)?""",
)
def sql_logins(session: SessionState, db: Database) -> Iterable[RowValues]:
    """SQL logins, as far as the reader may see them."""
    for login in visible_logins(session, db.server):
        if login.type == "S":
            yield (
                login.name,
                login.id,
                login.sid,
                "S",
                "SQL_LOGIN",
                int(login.disabled),
                login.default_database,
                int(login.policy),
            )


@view(
    "sys.server_role_members",
    """
role_principal_id int
member_principal_id int""",
)
def server_role_members(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Who is in which server role: one's own memberships, others by VIEW ANY DEFINITION."""
    ids = server_identity(session)
    everything = has_server_permission(session, "VIEW ANY DEFINITION")
    return [pair for pair in sorted(db.server.members) if everything or pair[1] in ids]


@view(
    "sys.server_permissions",
    """
class tinyint
class_desc nvarchar(60)?
major_id int
minor_id int = 0
grantee_principal_id int
grantor_principal_id int
type char(4)
permission_name nvarchar(128)?
state char(1)
state_desc nvarchar(60)?""",
)
def server_permissions(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Server permissions stated; a login sees its own, VIEW ANY DEFINITION all."""
    server, ids = db.server, server_identity(session)
    everything = has_server_permission(session, "VIEW ANY DEFINITION")
    for (class_, major, name, grantee), stated in sorted(server.permissions.items()):
        if not everything and grantee not in ids:
            continue
        kind = server_kind(server, class_, major)
        for state, grantor in stated:
            yield (
                class_,
                SERVER_CLASSES[class_],
                major,
                grantee,
                grantor,
                code_of(kind, name),
                name,
                state,
                STATE_NAMES[state],
            )


def server_kind(server: Server, class_: int, major: int) -> str:
    """The permission table's name for a securable of the server."""
    if class_ != SERVER_PRINCIPAL:
        return SERVER_CLASSES[class_]
    login = server.login_by_id(major)
    return "SERVER ROLE" if login is not None and login.type == "R" else "LOGIN"


# ---------------------------------------------------------------------- tokens
_TOKEN = """
principal_id int?
sid varbinary(85)?
name nvarchar(128)?
type nvarchar(128)?
usage nvarchar(128)?"""


@view("sys.login_token", _TOKEN)
def login_token(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The server principals of the running context: the login, its roles, signers."""
    server = db.server
    names = {"S": "SQL LOGIN", "R": "SERVER ROLE", "C": "CERTIFICATE", "K": "ASYMMETRIC KEY"}
    for number in sorted(server_identity(session), reverse=True):
        login = server.login_by_id(number)
        if login is not None:
            yield login.id, login.sid, login.name, names[login.type], "GRANT OR DENY"


@view("sys.user_token", _TOKEN)
def user_token(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The database principals of the running context: the user, its roles, signers."""
    names = {"S": "SQL USER", "R": "ROLE", "C": "CERTIFICATE", "K": "ASYMMETRIC KEY"}
    for number in sorted(identities(session, db) or ()):
        p = db.principal(number)
        if p is not None:
            yield p.id, p.sid, p.name, names[p.type], "GRANT OR DENY"


@view(
    "sys.configurations",
    """
configuration_id int
name nvarchar(35)
value sql_variant?
minimum sql_variant?
maximum sql_variant?
value_in_use sql_variant?
description nvarchar(255)
is_dynamic bit = 1
is_advanced bit""",
)
def configurations(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Options of the server that are known here (``exec.configuration``)."""
    for item in SETTINGS:
        value, used = values_of(db.server, item)
        given = [Variant(INT, part) for part in (value, item.low, item.high, used)]
        yield item.number, item.name, *given, item.text, int(item.advanced)


@view(
    "sys.messages",
    """
message_id int
language_id smallint = 1033
severity tinyint?
is_event_logged bit
text nvarchar(2048)""",
)
def messages(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The messages the embedded broker can raise, then those of sp_addmessage."""
    for number, (severity, text) in sorted(MESSAGES.items()):
        yield number, severity, 0, text
    for (number, _), own in sorted(db.server.messages.items(), key=lambda item: item[0]):
        yield number, own.severity, int(own.logged), own.text


@view(
    "sys.extended_properties",
    """
class tinyint
class_desc nvarchar(60)?
major_id int
minor_id int
name sysname
value sql_variant?""",
)
def extended_properties(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Extended properties of what the reader may see."""
    for (class_, major, minor, name), value in sorted(
        db.properties.items(), key=lambda item: (*item[0][:3], item[0][3].lower())
    ):
        yield (class_, CLASS_NAMES.get(class_, "DATABASE"), major, minor, name, variant(value))


def variant(value: Any) -> Variant | None:
    """A property's value as sql_variant."""
    if value is None or isinstance(value, Variant):
        return value
    return Variant(nvarchar(4000), str(value))


@view(
    "sys.syslanguages",
    """
langid smallint = 0
dateformat nchar(3) = 'mdy'
datefirst tinyint = 7
upgrade int = 0
name sysname = 'us_english'
alias sysname = 'English'
lcid int = 1033
msglangid smallint = 1033""",
)
def syslanguages(session: SessionState, db: Database) -> Iterable[RowValues]:
    """One language."""
    return ((),)


@view(
    "sys.security_predicates",
    """
object_id int
security_predicate_id int
target_object_id int
predicate_definition nvarchar(max)?
predicate_type int?
predicate_type_desc nvarchar(60)?
operation int?
operation_desc nvarchar(60)?""",
)
def security_predicates(session: SessionState, db: Database) -> Iterable[RowValues]:
    """None: CREATE SECURITY POLICY is refused by name. Verification asks for those on our tables."""
    return ()
