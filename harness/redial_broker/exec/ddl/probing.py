"""What CREATE of a module finds out about its statements before any of them runs.

Names of missing tables are left for the first run (deferred name resolution, CREATE PROCEDURE page:
only objects that do not exist are deferred; columns of tables that do exist are checked). What the
embedded broker does not support is refused here, by name and position.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.context import Context
from redial_broker.exec.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redial_broker.exec.database import Database
    from redial_broker.exec.objects import Module
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState

FOUND_AT_CREATE = frozenset(
    {
        109,
        110,
        120,
        121,
        207,
        209,
        213,
        264,
        271,
        272,
        273,
        402,
        4104,
        8102,
        8120,
        8121,
        8127,
        10700,
    }
)
"""Errors about the columns of tables that exist. Any other compile error waits for the run: the
objects it is about may be other ones by then."""


PROBED = 5_000
"""Texts a process remembers for ``unprobed``."""

_PROBED: set[str] = set()


@contextmanager
def unprobed(server: Server) -> Iterator[None]:
    """Inside, CREATE compiles no module whose text this process has compiled inside before.

    For those who install the same scripts in many instances: half the time of an installation goes
    into finding out again that its procedures, functions and triggers can be compiled. They are
    compiled at their first call then; what CREATE would have found is found there.
    """
    if len(_PROBED) > PROBED:
        _PROBED.clear()
    server.probed = _PROBED
    try:
        yield
    finally:
        server.probed = None


def probe_module(
    session: SessionState, module: Module, database: Database, program: Callable[[], Program]
) -> None:
    """``probe``, but for a text that is known (``unprobed``).

    program: compiles the module's, where it has to be looked at.
    """
    known = database.server.probed if database.server is not None else None
    text = module.source.text
    if known is not None and text in known:
        return
    probe(session, program())
    if known is not None:
        known.add(text)


def probe(session: SessionState, program: Program) -> None:
    """Compile every statement of a new module once.

    Raises NotSupported, and the errors of ``FOUND_AT_CREATE`` for tables that exist already.
    """
    for node, compile_node, context in program.deferred:
        fresh = Context(program, context.scope, session)
        fresh.table_variables = context.table_variables
        fresh.statement = node
        fresh.checking = True
        try:
            compile_node(node, fresh)
        except NotSupported as error:
            error.place(program.source.line_column(node.pos))
            error.procedure = program.name
            raise
        except SqlError as error:
            # A #temp table may be another one when the module runs.
            if error.number in FOUND_AT_CREATE and not fresh.uses_temp:
                error.line = error.line or program.source.line(node.pos)
                error.procedure = program.name
                raise
