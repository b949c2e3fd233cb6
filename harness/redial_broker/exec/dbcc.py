"""DBCC INPUTBUFFER, OPENTRAN and USEROPTIONS (their pages); commands for tables: ``ddl.dbcc``;
every other one is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.clock import EPOCH
from redial_broker.engine.errors import SqlError
from redial_broker.engine.types import SELECT_DONE, SMALLINT, ResultColumn, nvarchar
from redial_broker.exec.context import Context
from redial_broker.exec.registry import Run, compiles
from redial_broker.exec.security import check_server, is_db_owner

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

COMPLETED = (
    "DBCC execution completed. If DBCC printed error messages, contact your system administrator."
)

_INPUT = [
    ResultColumn("EventType", nvarchar(30), True),
    ResultColumn("Parameters", SMALLINT, True),
    ResultColumn("EventInfo", nvarchar(4000), True),
]
_PAIRS = [ResultColumn("REPL_ID", nvarchar(50), True), ResultColumn("VALUE", nvarchar(50), True)]
_OPTIONS = [
    ResultColumn("Set Option", nvarchar(128), True),
    ResultColumn("Value", nvarchar(128), True),
]


@compiles(ast.Dbcc)
def compile_dbcc(node: ast.Dbcc, context: Context) -> Run:
    """DBCC command (arguments) [WITH NO_INFOMSGS | TABLERESULTS]."""
    command = COMMANDS.get(node.command)
    if command is None:
        raise context.not_supported(node, f"DBCC {node.command}")
    options = {option.name for option in node.options}
    if options - {"NO_INFOMSGS", "TABLERESULTS"}:
        raise context.not_supported(node, f"DBCC {node.command} WITH {sorted(options)[0]}")
    arguments = [
        argument.text if isinstance(argument, ast.Identifier) else context.expression(argument).fn
        for argument in node.arguments
    ]

    def run(session: SessionState, variables: Values) -> None:
        given = [
            part if isinstance(part, str) else part(session, variables, ()) for part in arguments
        ]
        command(session, given, options)
        if "NO_INFOMSGS" not in options:
            session.info(COMPLETED, 10, 2528)

    return run


def _answer(
    session: SessionState, columns: list[ResultColumn], rows: list[tuple[Any, ...]]
) -> None:
    session.result(columns, rows)
    session.done(SELECT_DONE, len(rows))


def _input_buffer(session: SessionState, given: list[Any], options: set[str]) -> None:
    """The last statement a client sent; another session's needs VIEW SERVER STATE.

    Raises SqlError 7955 for an unknown session, 300.
    """
    number = given[0] if given else None
    found = next(
        (x for x in session.database.server.sessions() if x.id == number and not x.background), None
    )
    if found is None:
        raise SqlError(7955, number if isinstance(number, int) else 0)
    if found is not session:
        check_server(session, "VIEW SERVER STATE")
    kind = "No Event" if not found.input_buffer else "RPC Event" if found.rpc else "Language Event"
    _answer(
        session, _INPUT, [(kind, 0, (found.input_buffer or None) and found.input_buffer[:4000])]
    )


def _open_transaction(session: SessionState, given: list[Any], options: set[str]) -> None:
    """The oldest open transaction that has written in a database; sysadmin or db_owner.

    There is no log to point into: LSN is always (0:0:0).
    """
    database = session.database
    if given and given[0] not in {0, "0"}:
        wanted = given[0]
        other = (
            database.server.database_by_id(wanted)
            if isinstance(wanted, int)
            else database.server.databases.get(str(wanted).lower())
        )
        if other is None:
            raise SqlError(911, wanted)
        database = other
    if not is_db_owner(session, database):
        raise SqlError(2571, session.user_name, "OPENTRAN")
    found = [
        x
        for x in database.server.sessions()
        if x.transaction is not None
        and x.transaction.user
        and x.transaction.log_used
        and x.database is database
    ]
    if not found:
        session.info("No active open transactions.", 10, 7969)
        return
    oldest = min(found, key=lambda x: (x.transaction.begun, x.id))
    moment = EPOCH + timedelta(seconds=oldest.transaction.begun)
    shown = (
        f"{moment:%b} {moment.day:2d} {moment:%Y} {moment.hour % 12 or 12:2d}:{moment:%M:%S}:"
        f"{moment.microsecond // 1000:03d}{moment:%p}"
    )
    login = database.server.logins.get(oldest.login_name.lower())
    sid = "0x" + (login.sid.hex() if login is not None else "")
    facts = [
        ("SPID", "SPID (server process ID): ", str(oldest.id)),
        ("UID", "UID (user ID) : ", "-1"),
        ("NAME", "Name          : ", oldest.transaction.name),
        ("LSN", "LSN           : ", "(0:0:0)"),
        ("STARTTIME", "Start time    : ", shown),
        ("SID", "SID           : ", sid),
    ]
    if "TABLERESULTS" in options:
        _answer(session, _PAIRS, [(f"OLDACT_{name}", value) for name, _, value in facts])
        return
    session.info(f"Transaction information for database '{database.name}'.", 10, 7968)
    session.info(
        "\n".join(
            ["Oldest active transaction:", *(f"    {label}{value}" for _, label, value in facts)]
        ),
        10,
        7967,
    )


def _user_options(session: SessionState, given: list[Any], options: set[str]) -> None:
    """The SET options of the session."""
    o = session.options
    rows = [
        ("textsize", str(o.textsize)),
        ("language", o.language),
        ("dateformat", o.dateformat),
        ("datefirst", str(o.datefirst)),
        ("lock_timeout", str(o.lock_timeout)),
    ]
    rows += [
        (name, "SET")
        for name in (
            "quoted_identifier",
            "arithabort",
            "ansi_null_dflt_on",
            "ansi_warnings",
            "ansi_padding",
            "ansi_nulls",
            "concat_null_yields_null",
        )
        if getattr(o, name)
    ]
    level = session.isolation
    if level == "read committed" and session.database.rcsi:
        level = "read committed snapshot"
    _answer(session, _OPTIONS, [*rows, ("isolation level", level)])


COMMANDS: dict[str, Callable[[Any, list[Any], set[str]], None]] = {
    "INPUTBUFFER": _input_buffer,
    "OPENTRAN": _open_transaction,
    "USEROPTIONS": _user_options,
}
