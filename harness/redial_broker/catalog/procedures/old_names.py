"""Old procedures of principals that today are a statement: each runs that statement.

sp_addlogin, sp_password, sp_defaultdb, sp_grantdbaccess, sp_adduser, sp_addrole, sp_changedbowner
and sp_change_users_login; their pages say which statement took their place. Errors are those of the
statement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.procedures.arguments import REQUIRED, bind
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.calls import call_program
from redial_broker.exec.execute import DYNAMIC_PROCEDURES, text_program
from redial_broker.exec.program import SWITCH

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

Values = dict[str, Any]


def name(value: Any) -> str:
    """A name in brackets."""
    return "[" + str(value).replace("]", "]]") + "]"


def text(value: Any) -> str:
    """A string literal."""
    return "N'" + ("" if value is None else str(value)).replace("'", "''") + "'"


def statement(own: str, **parameters: Any) -> Callable[[Callable[[Values], str]], Any]:
    """Register a procedure by the function that makes its statement of its arguments."""
    order = list(parameters)
    lowered = {parameter.lower(): parameter for parameter in order}

    def register(make: Callable[[Values], str]) -> Any:
        def call(
            session: SessionState, arguments: list[Any], on_return: Any, next_pc: int | None
        ) -> int:
            values, _ = bind(own, session, arguments, order, lowered, parameters)
            frame = call_program(session, text_program(session, make(values), ""), [], next_pc)
            frame.on_return = on_return
            return SWITCH

        DYNAMIC_PROCEDURES[own] = call
        return make

    return register


@statement(
    "sp_addlogin",
    loginame=REQUIRED,
    passwd=None,
    defdb="master",
    deflanguage=None,
    sid=None,
    encryptopt=None,
)
def add_login(values: Values) -> str:
    """CREATE LOGIN without a policy; a sid or a hashed password is refused."""
    if values["sid"] is not None or values["encryptopt"] is not None:
        raise NotSupported("sp_addlogin with @sid or @encryptopt")
    return (
        f"CREATE LOGIN {name(values['loginame'])} WITH PASSWORD = {text(values['passwd'])}, "
        f"DEFAULT_DATABASE = {name(values['defdb'] or 'master')}, CHECK_POLICY = OFF"
    )


@statement("sp_password", old=None, new=REQUIRED, loginame=None)
def password(values: Values) -> str:
    """ALTER LOGIN ... WITH PASSWORD; without @loginame one's own."""
    if values["loginame"] is None:
        raise NotSupported("sp_password without @loginame")
    old = f" OLD_PASSWORD = {text(values['old'])}" if values["old"] is not None else ""
    return f"ALTER LOGIN {name(values['loginame'])} WITH PASSWORD = {text(values['new'])}{old}"


@statement("sp_defaultdb", loginame=REQUIRED, defdb=REQUIRED)
def default_database(values: Values) -> str:
    """ALTER LOGIN ... WITH DEFAULT_DATABASE."""
    return f"ALTER LOGIN {name(values['loginame'])} WITH DEFAULT_DATABASE = {name(values['defdb'])}"


def _user(values: Values) -> str:
    own = values["name_in_db"] or values["loginame"]
    made = f"CREATE USER {name(own)} FOR LOGIN {name(values['loginame'])} WITH DEFAULT_SCHEMA = {name(own)}"
    group = values.get("grpname")
    return made + (f"; ALTER ROLE {name(group)} ADD MEMBER {name(own)}" if group else "")


statement("sp_grantdbaccess", loginame=REQUIRED, name_in_db=None)(_user)
statement("sp_adduser", loginame=REQUIRED, name_in_db=None, grpname=None)(_user)


@statement("sp_addrole", rolename=REQUIRED, ownername=None)
def add_role(values: Values) -> str:
    """CREATE ROLE; dbo owns what names no owner."""
    return (
        f"CREATE ROLE {name(values['rolename'])} AUTHORIZATION {name(values['ownername'] or 'dbo')}"
    )


@statement("sp_changedbowner", loginame=REQUIRED, map="true")
def change_owner(values: Values) -> str:
    """ALTER AUTHORIZATION ON the current DATABASE."""
    return (
        "DECLARE @s nvarchar(max) = N'ALTER AUTHORIZATION ON DATABASE::' + QUOTENAME(DB_NAME())"
        f" + N' TO ' + QUOTENAME({text(values['loginame'])}); EXEC (@s)"
    )


# ---------------------------------------------------------------------- orphans
REPORT = (
    "SELECT name AS UserName, sid AS UserSID FROM sys.database_principals WHERE type = 'S' "
    "AND authentication_type = 1 AND SUSER_SNAME(sid) IS NULL ORDER BY principal_id"
)


@statement(
    "sp_change_users_login", action=REQUIRED, usernamepattern=None, loginname=None, password=None
)
def change_users_login(values: Values) -> str:
    """REPORT lists orphans, UPDATE_ONE links one to a login, AUTO_FIX to the one of its name.

    Raises SqlError 15286 for another action, 15291 without a user.
    """
    action = str(values["action"]).upper()
    if action == "REPORT":
        return REPORT
    if action not in {"UPDATE_ONE", "AUTO_FIX"}:
        raise SqlError(15286, values["action"])
    user = values["usernamepattern"]
    if not user:
        raise SqlError(15291, "User", "(null)")
    login = values["loginname"] if action == "UPDATE_ONE" else user
    if not login:
        raise SqlError(15291, "Login", "(null)")
    return f"ALTER USER {name(user)} WITH LOGIN = {name(login)}"
