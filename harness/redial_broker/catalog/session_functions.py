"""sys.dm_exec_sql_text and sys.dm_exec_input_buffer: what sessions run (their pages)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from redial_broker.catalog.deadlock_xml import sql_handle
from redial_broker.catalog.procedures.arguments import result_columns
from redial_broker.catalog.runtime_views import sessions
from redial_broker.catalog.views import VIEW_SERVER_STATE
from redial_broker.engine.types import INT, SMALLINT, varbinary
from redial_broker.exec.objects import TABLE_FUNCTIONS, Module
from redial_broker.exec.security import has_server_permission

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_TEXT = result_columns("""
dbid smallint?
objectid int?
number smallint?
encrypted bit
text nvarchar(max)?""")

_BUFFER = result_columns("""
event_type nvarchar(256)?
parameters smallint?
event_info nvarchar(max)?""")


def _programs(session: SessionState) -> Iterator[Any]:
    for x in sessions(session.database):
        for frame in x.frames:
            yield frame.program
    yield from session.instance.programs.values()


def sql_text(session: SessionState, arguments: list[Any]) -> Iterable[RowValues]:
    """The text behind a sql_handle: of a module, a running batch, or one that is still kept."""
    session.check_server_permission(VIEW_SERVER_STATE)
    handle = arguments[0] if arguments else None
    if isinstance(handle, int):  # int becomes varbinary
        handle = (handle & 0xFFFFFFFF).to_bytes(4, "big")
    if not handle or not isinstance(handle, bytes):
        return []
    if handle[:1] == b"\x03":
        database = session.database.server.database_by_id(int.from_bytes(handle[2:4], "little"))
        number = int.from_bytes(handle[4:8], "little")
        module = database.object_by_id(number) if database is not None else None
        if database is not None and isinstance(module, Module):
            return [(database.id, number, None, 0, module.text)]
        return []
    for program in _programs(session):
        if not program.object_id and bytes.fromhex(sql_handle(program)[2:]) == handle:
            return [(None, None, None, 0, program.source.text)]
    return []


def event_of(x: Any) -> tuple[str, int, str | None]:
    """(event type, parameters, text) of what a session's client sent last."""
    if not x.input_buffer:
        return "No Event", 0, None
    return ("RPC Event" if x.rpc else "Language Event"), 0, x.input_buffer


def input_buffer(session: SessionState, arguments: list[Any]) -> Iterable[RowValues]:
    """The last statement of a session; another's needs VIEW SERVER STATE."""
    number = arguments[0] if arguments else None
    for x in sessions(session.database):
        if x.id == number and not x.background:
            if x is not session and not has_server_permission(session, VIEW_SERVER_STATE):
                session.check_server_permission(VIEW_SERVER_STATE)
            return [event_of(x)]
    return []


TABLE_FUNCTIONS["dm_exec_sql_text"] = (_TEXT, sql_text, (varbinary(64),))
TABLE_FUNCTIONS["fn_get_sql"] = (_TEXT, sql_text, (varbinary(64),))
TABLE_FUNCTIONS["dm_exec_input_buffer"] = (_BUFFER, input_buffer, (SMALLINT, INT))
