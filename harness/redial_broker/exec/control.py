"""Transactions, SET options, USE, EXECUTE AS and KILL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.types import SYSNAME
from redial_broker.exec import impersonation
from redial_broker.exec.context import Context
from redial_broker.exec.expressions.operands import converted
from redial_broker.exec.options import (
    ANSI_DEFAULTS,
    DEADLOCK_PRIORITIES,
    OFF_ALREADY,
    ON_OFF,
    ONLY_ON,
    OPPOSITES,
)
from redial_broker.exec.program import SWITCH
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import has_server_permission
from redial_broker.exec.switches import value
from redial_broker.ssb.savepoints import before_verbs

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

ISOLATION_LEVELS = frozenset(
    {"read uncommitted", "read committed", "repeatable read", "serializable", "snapshot"}
)


IMAGES = 2
"""The first variables of a trigger: inserted and deleted."""

DATE_ORDERS = frozenset({"mdy", "dmy", "ymd", "ydm", "myd", "dym"})
"""SET DATEFORMAT page."""

LANGUAGES = frozenset(
    {
        "us_english",
        "english",
        "deutsch",
        "german",
        "français",
        "french",
        "日本語",
        "japanese",
        "dansk",
        "danish",
        "español",
        "spanish",
        "italiano",
        "italian",
        "nederlands",
        "dutch",
        "norsk",
        "norwegian",
        "português",
        "portuguese",
        "suomi",
        "finnish",
        "svenska",
        "swedish",
        "čeština",
        "czech",
        "magyar",
        "hungarian",
        "polski",
        "polish",
        "română",
        "romanian",
        "hrvatski",
        "croatian",
        "slovenčina",
        "slovak",
        "slovenski",
        "slovenian",
        "ελληνικά",
        "greek",
        "български",
        "bulgarian",
        "русский",
        "russian",
        "türkçe",
        "turkish",
        "british",
        "british english",
        "eesti",
        "estonian",
        "latviešu",
        "latvian",
        "lietuvių",
        "lithuanian",
        "português (brasil)",
        "brazilian",
        "繁體中文",
        "traditional chinese",
        "한국어",
        "korean",
        "简体中文",
        "simplified chinese",
        "arabic",
        "ไทย",
        "thai",
        "norwegian (bokmål)",
        "bokmål",
    }
)
"""Names and aliases of sys.syslanguages: what a server knows."""


def transaction_name(
    node: ast.Identifier | ast.Variable | None, context: Context
) -> Callable[[SessionState, Values], str | None]:
    """A transaction or savepoint name: a word, or the value of a variable (first 32 characters)."""
    if node is None:
        return lambda session, variables: None
    if isinstance(node, ast.Identifier):
        text = node.text[:32]
        return lambda session, variables: text
    value = context.expression(node)
    return lambda session, variables: str(value.fn(session, variables, ()) or "")[:32]


@compiles(ast.BeginTransaction, shared=False)
def begin(node: ast.BeginTransaction, context: Context) -> Run:
    """BEGIN TRANSACTION: counts up; only the outermost name is remembered."""
    if node.distributed:
        raise context.not_supported(node, "BEGIN DISTRIBUTED TRANSACTION")
    name = transaction_name(node.name, context)

    def run(session: SessionState, variables: Values) -> None:
        begin_transaction(session, name(session, variables))
        session.rowcount = 0

    return run


def begin_transaction(session: SessionState, name: str | None) -> None:
    """One BEGIN TRANSACTION. With IMPLICIT_TRANSACTIONS ON the first one counts 2."""
    if session.trancount == 0:
        session.begin(user=True)
        if name and session.transaction is not None:
            session.transaction.name = name
        if session.options.implicit_transactions:
            session.trancount = 2
        return
    assert session.transaction is not None
    if session.transaction.doomed:
        raise SqlError(3930)
    session.trancount += 1


@compiles(ast.Commit, work=False, lazy=False)
def commit(node: ast.Commit, context: Context) -> Run:
    """COMMIT: counts down, commits when it reaches 0."""

    def run(session: SessionState, _: Values) -> None:
        commit_transaction(session)
        session.rowcount = 0

    return run


def commit_transaction(session: SessionState) -> None:
    """One COMMIT; 3902 without a transaction, 3930 in a doomed one."""
    if session.trancount == 0:
        raise SqlError(3902)
    assert session.transaction is not None
    if session.transaction.doomed:
        raise SqlError(3930)
    capture = session.insert_exec
    if capture is not None and capture.active(session) and session.trancount <= capture.trancount:
        raise SqlError(3916)
    if session.trancount > 1:
        session.trancount -= 1
    else:
        session.commit()


@compiles(ast.Rollback, work=False, lazy=False)
def rollback(node: ast.Rollback, context: Context) -> Run:
    """ROLLBACK: everything, whatever the count; or back to a savepoint."""
    name = transaction_name(node.name, context)

    def run(session: SessionState, variables: Values) -> None:
        rollback_transaction(session, name(session, variables))
        session.rowcount = 0

    return run


def rollback_transaction(session: SessionState, name: str | None) -> None:
    """ROLLBACK [name]: a savepoint's name, or the outermost transaction's (case-sensitive)."""
    if session.trancount == 0:
        raise SqlError(3903)
    if session.insert_exec is not None and session.insert_exec.active(session) and not name:
        raise SqlError(3915)
    transaction = session.transaction
    assert transaction is not None
    if name and transaction.name != name:
        if any(saved[0] == name for saved in transaction.savepoints):
            if transaction.doomed:
                raise SqlError(3931)
            if value(session.engine, "savepoint_over_verbs") == "refused" and before_verbs(
                transaction, name
            ):
                session.engine.journal.save(transaction)
                transaction.doomed = True
                raise SqlError(3931)
            session.engine.transactions.rollback_to(transaction, name)
            return
        raise SqlError(6401, name)
    session.rollback()
    for frame in session.frames:
        if frame.firing is not None and frame.firing.transaction is transaction:
            frame.variables[:IMAGES] = frame.firing.nothing(session)  # F-529


@compiles(ast.SaveTransaction, shared=False)
def save(node: ast.SaveTransaction, context: Context) -> Run:
    """SAVE TRANSACTION name."""
    name = transaction_name(node.name, context)

    def run(session: SessionState, variables: Values) -> None:
        save_transaction(session, name(session, variables) or "")
        session.rowcount = 0

    return run


def save_transaction(session: SessionState, name: str) -> None:
    """One SAVE TRANSACTION; 628, which ends the batch, without one; 3930 in a doomed one."""
    if session.trancount == 0:
        raise SqlError(628)
    assert session.transaction is not None
    if session.transaction.doomed:
        raise SqlError(3930)
    session.engine.transactions.save(session.transaction, name)


# ---------------------------------------------------------------------- SET
@compiles(ast.SetOption, shared=False)
def set_option(node: ast.SetOption, context: Context) -> Run:
    """SET name ON|OFF for each name; what we cannot honour is refused by name."""
    changes: dict[str, bool] = {}
    for name in node.names:
        if name == "ANSI_DEFAULTS" and node.on:
            changes.update(ANSI_DEFAULTS)
            continue
        if name in OFF_ALREADY and not node.on:
            continue
        if name not in ON_OFF:
            raise context.not_supported(node, f"SET {name} {'ON' if node.on else 'OFF'}")
        in_module = bool(context.program.object_id)
        if in_module and name in {"ANSI_NULLS", "QUOTED_IDENTIFIER"}:
            continue  # frozen when the module was created (SET statements page)
        if name in ONLY_ON and not node.on:
            raise context.not_supported(node, f"SET {name} OFF")
        if name in {"NUMERIC_ROUNDABORT", "PARSEONLY"} and node.on:
            raise context.not_supported(node, f"SET {name} ON")
        changes[ON_OFF[name]] = node.on
        if name in OPPOSITES and node.on:
            changes[ON_OFF[OPPOSITES[name]]] = False
    pairs = tuple(changes.items())

    def run(session: SessionState, _: Values) -> int | None:
        was = session.options.implicit_transactions
        session.options = session.options.changed_by(pairs)
        session.rowcount = 0
        if was and not session.options.implicit_transactions and session.auto:
            session.commit()
        if session.options.noexec:
            session.frames[-1].pc += 1
            return SWITCH  # the machine goes on without running anything
        return None

    return run


@compiles(ast.SetValue, shared=False)
def set_value(node: ast.SetValue, context: Context) -> Run:
    """SET LOCK_TIMEOUT, DEADLOCK_PRIORITY, TEXTSIZE, DATEFIRST, CONTEXT_INFO ..."""
    name = node.name.upper()
    value = node.value
    if isinstance(value, ast.Identifier):
        word = value.text.upper()
        constant: Any = DEADLOCK_PRIORITIES.get(word, value.text)
        evaluate: Any = lambda session, variables, row: constant  # noqa: E731
    else:
        evaluate = context.expression(value).fn
    setter = _SETTERS.get(name)
    if setter is None:
        raise context.not_supported(node, f"SET {name}")

    def run(session: SessionState, variables: Values) -> None:
        setter(session, evaluate(session, variables, ()))
        session.rowcount = 0

    return run


def _set_lock_timeout(session: SessionState, value: Any) -> None:
    if not isinstance(value, int) or value < -1:
        raise SqlError(102, value)
    session.options = session.options.changed(lock_timeout=value)


def _set_deadlock_priority(session: SessionState, value: Any) -> None:
    if isinstance(value, str):
        value = DEADLOCK_PRIORITIES.get(value.strip().upper())
    if not isinstance(value, int) or not -10 <= value <= 10:
        raise SqlError(102, "DEADLOCK_PRIORITY")
    session.options = session.options.changed(deadlock_priority=value)


def _set_textsize(session: SessionState, value: Any) -> None:
    if not isinstance(value, int):
        raise SqlError(102, value)
    if value not in {-1, 0, 2147483647}:
        raise NotSupported(f"SET TEXTSIZE {value}: only -1, 0 and 2147483647, no limit")
    session.options = session.options.changed(textsize=-1 if value == 0 else value)


def _set_datefirst(session: SessionState, value: Any) -> None:
    if not isinstance(value, int) or value not in range(1, 8):
        raise SqlError(2742, value)
    session.options = session.options.changed(datefirst=value)


def _set_dateformat(session: SessionState, value: Any) -> None:
    if str(value).lower() not in DATE_ORDERS:
        raise SqlError(2741, value)
    if str(value).lower() not in {"mdy", "ymd"}:
        raise NotSupported(f"SET DATEFORMAT {value}")
    session.options = session.options.changed(dateformat=str(value).lower())


def _set_language(session: SessionState, value: Any) -> None:
    if str(value).lower() not in LANGUAGES:
        raise SqlError(2740, value)
    if str(value).lower() not in {"us_english", "english"}:
        raise NotSupported(f"SET LANGUAGE {value}")
    session.options = session.options.changed(language="us_english")


def _set_context_info(session: SessionState, value: Any) -> None:
    if not isinstance(value, bytes):
        raise SqlError(102, "CONTEXT_INFO")
    session.context_info = value[:128].ljust(128, b"\0")


def _set_rowcount(session: SessionState, value: Any) -> None:
    if value is not None and not isinstance(value, int):
        raise SqlError(102, value)
    if value is None or value < 0:
        raise SqlError(507)
    session.options = session.options.changed(rowcount=value)


def _only(allowed: Any, name: str) -> Callable[[Any, Any], None]:
    """An option whose only value here is that of a fresh connection."""

    def check(session: SessionState, value: Any) -> None:
        if value != allowed:
            raise NotSupported(f"SET {name} {value}")

    return check


_SETTERS: dict[str, Callable[[Any, Any], None]] = {
    "LOCK_TIMEOUT": _set_lock_timeout,
    "DEADLOCK_PRIORITY": _set_deadlock_priority,
    "TEXTSIZE": _set_textsize,
    "DATEFIRST": _set_datefirst,
    "DATEFORMAT": _set_dateformat,
    "LANGUAGE": _set_language,
    "CONTEXT_INFO": _set_context_info,
    "ROWCOUNT": _set_rowcount,
    "QUERY_GOVERNOR_COST_LIMIT": _only(0, "QUERY_GOVERNOR_COST_LIMIT"),
    "FIPS_FLAGGER": _only("OFF", "FIPS_FLAGGER"),
}


@compiles(ast.SetIsolationLevel, shared=False)
def set_isolation(node: ast.SetIsolationLevel, context: Context) -> Run:
    """SET TRANSACTION ISOLATION LEVEL."""
    level = node.level.lower()
    if level not in ISOLATION_LEVELS:
        raise context.not_supported(node, f"SET TRANSACTION ISOLATION LEVEL {node.level}")

    change = (("isolation", level),)

    def run(session: SessionState, _: Values) -> None:
        session.options = session.options.changed_by(change)
        session.rowcount = 0

    return run


# ---------------------------------------------------------------------- where and who
@compiles(ast.Use, shared=False)
def use(node: ast.Use, context: Context) -> Run:
    """USE database; not allowed in a module (the parser's and server's 154 rule)."""

    def run(session: SessionState, _: Values) -> None:
        session.instance.use_database(session, node.database)
        session.rowcount = 0

    return run


@compiles(ast.ExecuteAs, shared=False)
def execute_as(node: ast.ExecuteAs, context: Context) -> Run:
    """EXECUTE AS USER | LOGIN | CALLER: pushes the current principal; REVERT brings it back."""
    name = None
    if node.name is not None:
        name = converted(context.expression(node.name), SYSNAME)
    slot = None
    if node.cookie is not None:
        slot, _ = _cookie(node.cookie, context, "Execute As")

    def run(session: SessionState, variables: Values) -> None:
        cookie = impersonation.push(
            session,
            node.kind,
            name.fn(session, variables, ()) if name else None,
            revertible=not node.no_revert,
            cookie=slot is not None,
        )
        if slot is not None:
            variables[slot] = cookie

    return run


def _cookie(node: ast.Variable, context: Context, statement: str) -> tuple[int, Any]:
    """Slot and type of a cookie's variable. Raises SqlError 15533 when it is not varbinary."""
    slot, type_ = context.scope.variables[node.name.lower()]
    if type_.name != "varbinary":
        raise context.fail(node, SqlError(15533, statement, state=2))
    return slot, type_


@compiles(ast.Revert, shared=False)
def revert(node: ast.Revert, context: Context) -> Run:
    """REVERT: nothing happens when nothing was impersonated (REVERT page)."""
    slot = None
    if node.cookie is not None:
        slot, _ = _cookie(node.cookie, context, "Revert")

    def run(session: SessionState, variables: Values) -> None:
        impersonation.revert(
            session, variables[slot] if slot is not None else None, slot is not None
        )

    return run


_UNIT_OF_WORK = re.compile(r"[{]?[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}[}]?")


@compiles(ast.Kill, work=False, lazy=False)
def kill(node: ast.Kill, context: Context) -> Run:
    """KILL session_id. A unit of work is one of a distributed transaction: none is known (6110)."""
    if node.kind != "SESSION" or node.status_only or node.target is None:
        raise context.not_supported(node, f"KILL {node.kind}")
    target = context.expression(node.target)

    def run(session: SessionState, variables: Values) -> None:
        number = target.fn(session, variables, ())
        if isinstance(number, str) and _UNIT_OF_WORK.fullmatch(number) is None:
            raise context.not_supported(node, f"KILL '{number}'")
        if not has_server_permission(session, "ALTER ANY CONNECTION"):
            raise SqlError(6102)
        if number == session.id:
            raise SqlError(6104)
        if session.trancount:
            raise SqlError(6115)
        if isinstance(number, str):
            raise SqlError(6110, number)
        session.instance.kill(number)

    return run
