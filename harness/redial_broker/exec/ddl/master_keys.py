"""CREATE, ALTER, OPEN, CLOSE, BACKUP and DROP MASTER KEY (their pages).

The master key protects nothing here: what is kept is that it exists, which passwords open it, and
whether the service master key does. That decides what works: signing without a password, secured
dialogs between databases (28050, 28051).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.files import write_file
from redial_broker.exec.ddl.logins import check_password
from redial_broker.exec.ddl.options import word
from redial_broker.exec.keys import BY_MASTER_KEY, MasterKey, digest, need_master_key
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_permission
from redial_broker.ssb.options import session_keys_lost

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

KEY_NAME = "##MS_DatabaseMasterKey##"


@compiles(ast.CreateMasterKey)
def create_master_key(node: ast.CreateMasterKey, context: Context) -> Run:
    """CREATE MASTER KEY ENCRYPTION BY PASSWORD = '...'. Raises SqlError 15578, 15247, 15118."""
    if node.password is None:
        raise context.not_supported(node, "CREATE MASTER KEY without a password (Azure only)")
    password = str(node.password.value)

    def run(session: SessionState, variables: Values) -> None:
        may_control(session)
        if session.database.master_key is not None:
            raise SqlError(15578)
        check_password("", password)
        put_master_key(session, MasterKey(frozenset({digest(password)})))

    return run


def may_control(session: SessionState) -> None:
    """Raise SqlError 15247 without CONTROL on the database."""
    if not has_permission(session, "CONTROL", session.database):
        raise SqlError(15247)


def put_master_key(session: SessionState, key: MasterKey | None) -> None:
    """Write the key, and tell the broker: secured dialogs wait for it."""
    database: Database = session.database
    journal, transaction = session.engine.journal, session.work()
    journal.assign(transaction, database, "master_key", key)
    broker = database.broker
    if broker is not None:
        journal.assign(transaction, broker, "has_master_key", key is not None and key.by_service)
        broker.note(transaction, ("ssb.altered", broker))


@compiles(ast.AlterMasterKey)
def alter_master_key(node: ast.AlterMasterKey, context: Context) -> Run:
    """OPEN | CLOSE | BACKUP MASTER KEY and ALTER MASTER KEY REGENERATE | ADD | DROP ENCRYPTION."""
    if node.service:
        raise context.not_supported(node, "the service master key")
    action = _ACTIONS.get(node.verb)
    if action is None:
        raise context.not_supported(node, f"{node.verb} MASTER KEY")
    options = {option.name: word(option.value) for option in node.options}

    def run(session: SessionState, variables: Values) -> None:
        may_control(session)
        if session.database.master_key is None:
            raise SqlError(15151, "find", "symmetric key", KEY_NAME)
        action(session, options)

    return run


def _open(session: SessionState, options: dict[str, str]) -> None:
    """OPEN MASTER KEY DECRYPTION BY PASSWORD. Raises SqlError 15313."""
    if digest(options["DECRYPTION BY PASSWORD"]) not in session.database.master_key.passwords:
        raise SqlError(15313)
    session.open_keys |= {session.database.id}


def _close(session: SessionState, options: dict[str, str]) -> None:
    """CLOSE MASTER KEY. Raises SqlError 15315 when this session has not opened it."""
    if session.database.id not in session.open_keys:
        raise SqlError(15315, KEY_NAME)
    session.open_keys -= {session.database.id}


def _regenerate(session: SessionState, options: dict[str, str]) -> None:
    """ALTER MASTER KEY REGENERATE: one password, the new one. Raises SqlError 15581."""
    need_master_key(session, session.database)
    password = options.get("ENCRYPTION BY PASSWORD", "")
    check_password("", password)
    put_master_key(
        session, replace(session.database.master_key, passwords=frozenset({digest(password)}))
    )


def _force_regenerate(session: SessionState, options: dict[str, str]) -> None:
    """ALTER MASTER KEY FORCE REGENERATE: goes on when the key cannot be opened.

    What it protected is lost then; secured dialogs are told by Error -28052.
    """
    lost = False
    try:
        need_master_key(session, session.database)
    except SqlError as error:
        if error.number != 15581:
            raise
        lost = True
    password = options.get("ENCRYPTION BY PASSWORD", "")
    check_password("", password)
    put_master_key(
        session, replace(session.database.master_key, passwords=frozenset({digest(password)}))
    )
    if lost and session.database.broker is not None:
        session_keys_lost(session.database.broker, session.work())


def _change(add: bool) -> Callable[[Any, dict[str, str]], None]:
    """ADD | DROP ENCRYPTION BY SERVICE MASTER KEY | PASSWORD."""

    def change(session: SessionState, options: dict[str, str]) -> None:
        need_master_key(session, session.database)
        key: MasterKey = session.database.master_key
        if "ENCRYPTION BY SERVICE MASTER KEY" in options:
            put_master_key(session, replace(key, by_service=add))
            return
        password = digest(options["ENCRYPTION BY PASSWORD"])
        if add:
            check_password("", options["ENCRYPTION BY PASSWORD"])
        elif password not in key.passwords:
            raise SqlError(15313)
        passwords = key.passwords | {password} if add else key.passwords - {password}
        put_master_key(session, replace(key, passwords=passwords))

    return change


def _backup(session: SessionState, options: dict[str, str]) -> None:
    """BACKUP MASTER KEY TO FILE: a file of the instance that only says it is one."""
    need_master_key(session, session.database)
    write_file(session, options["FILE"], b"REDIAL MASTER KEY " + session.database.name.encode())


_ACTIONS: dict[str, Callable[[Any, dict[str, str]], None]] = {
    "OPEN": _open,
    "CLOSE": _close,
    "REGENERATE": _regenerate,
    "FORCE REGENERATE": _force_regenerate,
    "ADD ENCRYPTION": _change(True),
    "DROP ENCRYPTION": _change(False),
    "BACKUP": _backup,
}


@drops("MASTER KEY")
def drop_master_key(session: SessionState, name: ast.ObjectName | None, if_exists: bool) -> None:
    """DROP MASTER KEY. Raises SqlError 15580 while it protects a private key."""
    may_control(session)
    if session.database.master_key is None:
        raise SqlError(15151, "drop", "symmetric key", KEY_NAME)
    for (kind, _), key in sorted(session.database.keys.items()):
        if key.protection == BY_MASTER_KEY:
            raise SqlError(15580, "master key", kind.lower(), key.name)
    put_master_key(session, None)
