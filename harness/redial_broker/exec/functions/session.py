"""What the session knows: @@ globals, ERROR_*(), identities, names, context."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import (
    BIGINT,
    INT,
    SMALLINT,
    SQL_VARIANT,
    SYSNAME,
    TINYINT,
    UNIQUEIDENTIFIER,
    SqlType,
    Variant,
    nvarchar,
    sql_type,
    varbinary,
)
from redial_broker.exec import documented
from redial_broker.exec.expressions.expr import Expr, constant, session_attribute
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.expressions.registry import compiles
from redial_broker.exec.expressions.scope import Scope
from redial_broker.exec.functions.registry import Call, function

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

_IDENTITY_TYPE = sql_type("numeric", 0, 38, 0)

GLOBALS: dict[str, tuple[SqlType, str]] = {
    "@@ROWCOUNT": (INT, "rowcount"),
    "@@ERROR": (INT, "error"),
    "@@TRANCOUNT": (INT, "trancount"),
    "@@SPID": (SMALLINT, "id"),
    "@@VERSION": (nvarchar(300), "version_text"),
    "@@SERVERNAME": (SYSNAME, "server_name"),
    "@@NESTLEVEL": (INT, "nest_level"),
    "@@PROCID": (INT, "proc_id"),
    "@@FETCH_STATUS": (INT, "fetch_status"),
    "@@CURSOR_ROWS": (INT, "cursor_rows"),
    "@@IDENTITY": (_IDENTITY_TYPE, "last_identity"),
    "@@LOCK_TIMEOUT": (INT, "lock_timeout"),
    "@@LANGUAGE": (SYSNAME, "language"),
    "@@DATEFIRST": (TINYINT, "options.datefirst"),
    "@@TEXTSIZE": (INT, "textsize"),
    "@@OPTIONS": (INT, "options.mask"),
}
"""Name -> type and the session attribute that holds it."""

NEVER_NULL = frozenset({"@@ROWCOUNT", "@@ERROR", "@@TRANCOUNT"})
"""As the metadata say (F-537)."""

CONSTANTS: dict[str, tuple[SqlType, Any]] = {
    "@@SERVICENAME": (SYSNAME, "MSSQLSERVER"),
    "@@LANGID": (SMALLINT, 0),
    "@@MAX_PRECISION": (TINYINT, 38),
    "@@MAX_CONNECTIONS": (INT, 32767),
    "@@REMSERVER": (SYSNAME, None),
    "@@TIMETICKS": (INT, 31250),
}


@compiles(ast.GlobalVariable)
def _global(node: ast.GlobalVariable, scope: Scope) -> Expr:
    name = node.name.upper()
    if name == "@@TRANCOUNT" and scope.changing:
        return Expr(lambda session, variables, row: session.count_in_change(), INT, False)
    if name in GLOBALS:
        of, attribute = GLOBALS[name]
        return replace(session_attribute(attribute, of), nullable=name not in NEVER_NULL)
    if name in CONSTANTS:
        of, value = CONSTANTS[name]
        return constant(value, of)
    if name == "@@DBTS":
        return Expr(
            lambda session, variables, row: session.catalog_function(name, ()), varbinary(8)
        )
    if name not in documented.names("functions"):
        raise SqlError(137, node.name, aborts="batch")
    raise scope.refuse(f"global variable {node.name}", node)


_ERROR_PARTS = {
    "ERROR_NUMBER": (INT, "number"),
    "ERROR_SEVERITY": (INT, "severity"),
    "ERROR_STATE": (INT, "state"),
    "ERROR_LINE": (INT, "line"),
    "ERROR_PROCEDURE": (SYSNAME, "procedure"),
    "ERROR_MESSAGE": (nvarchar(4000), "message"),
}


@function("ERROR_NUMBER", 0)
@function("ERROR_SEVERITY", 0)
@function("ERROR_STATE", 0)
@function("ERROR_LINE", 0)
@function("ERROR_PROCEDURE", 0)
@function("ERROR_MESSAGE", 0)
def _error_part(call: Call) -> Expr:
    of, name = _ERROR_PARTS[call.name]

    def run(session: SessionState, variables: Values, row: RowValues) -> Any:
        info = session.error_info
        if info is None:
            return None
        value = getattr(info, name)
        # Outside a module ERROR_PROCEDURE() is NULL, not an empty name.
        return None if name == "procedure" and not value else value

    return Expr(run, of)


@function("XACT_STATE", 0)
def _xact_state(call: Call) -> Expr:
    return Expr(lambda session, variables, row: session.xact_state(), SMALLINT)


@function("ROWCOUNT_BIG", 0)
def _rowcount_big(call: Call) -> Expr:
    return session_attribute("rowcount", BIGINT)


@function("SCOPE_IDENTITY", 0)
def _scope_identity(call: Call) -> Expr:
    return session_attribute("scope_identity", _IDENTITY_TYPE)


@function("NEWID", 0)
def _newid(call: Call) -> Expr:
    return Expr(lambda session, variables, row: session.new_guid(), UNIQUEIDENTIFIER, False)


@function("NEWSEQUENTIALID", 0)
def _newsequentialid(call: Call) -> Expr:
    """Only inside a DEFAULT; the table's code asks the session for it."""
    raise SqlError(302, aborts="scope")


_NAMES = {
    "ORIGINAL_LOGIN": "original_login",
    "SYSTEM_USER": "login_name",
    "CURRENT_USER": "user_name",
    "SESSION_USER": "user_name",
    "USER": "user_name",
    "HOST_NAME": "host_name",
    "APP_NAME": "app_name",
}


@function("ORIGINAL_LOGIN", 0)
@function("SYSTEM_USER", 0)
@function("CURRENT_USER", 0)
@function("SESSION_USER", 0)
@function("USER", 0)
@function("HOST_NAME", 0)
@function("APP_NAME", 0)
def _name(call: Call) -> Expr:
    return session_attribute(_NAMES[call.name], SYSNAME)


@function("SUSER_SNAME", 0, 1)
@function("SUSER_NAME", 0, 1)
def _suser_name(call: Call) -> Expr:
    if not call.count:
        return session_attribute("login_name", SYSNAME)
    argument, name = call.arg(0).fn, call.name
    return Expr(
        lambda session, variables, row: session.catalog_function(
            name, (argument(session, variables, row),)
        ),
        SYSNAME,
    )


@function("USER_NAME", 0, 1)
def _user_name(call: Call) -> Expr:
    if not call.count:
        return session_attribute("user_name", SYSNAME)
    argument = call.arg(0).fn
    return Expr(
        lambda session, variables, row: session.catalog_function(
            "USER_NAME", (argument(session, variables, row),)
        ),
        SYSNAME,
    )


@function("CONTEXT_INFO", 0)
def _context_info(call: Call) -> Expr:
    return session_attribute("context_info", varbinary(128))


@function("SESSION_CONTEXT", 1)
def _session_context(call: Call) -> Expr:
    key = converted(call.arg(0), nvarchar(128)).fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Variant | None:
        name = key(session, variables, row)
        if name is None:
            return None
        held = session.session_context.get(name)
        # A read-only key is kept with a mark beside its value.
        value = held[0] if isinstance(held, tuple) else held
        if value is None or isinstance(value, Variant):
            return value
        return Variant(_type_of(value), value)

    return Expr(run, SQL_VARIANT)


def _type_of(value: Any) -> SqlType:
    if isinstance(value, str):
        return nvarchar(4000)
    if isinstance(value, bytes):
        return sql_type("varbinary", 8000)
    return INT if isinstance(value, int) and abs(value) < 1 << 31 else BIGINT


_CONNECTION_PROPERTIES = {
    "net_transport": "TCP",
    "protocol_type": "TSQL",
    "auth_scheme": "SQL",
    "local_net_address": "127.0.0.1",
    "client_net_address": "127.0.0.1",
    "physical_net_transport": "TCP",
}


@function("CONNECTIONPROPERTY", 1)
def _connectionproperty(call: Call) -> Expr:
    name = call.text(0).fn

    def run(session: SessionState, variables: Values, row: RowValues) -> Variant | None:
        wanted = name(session, variables, row)
        value = _CONNECTION_PROPERTIES.get(wanted.lower()) if wanted else None
        return None if value is None else Variant(nvarchar(48), value)

    return Expr(run, SQL_VARIANT)
