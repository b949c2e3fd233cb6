"""INSERT ... EXECUTE: three steps, because a call pushes a frame and returns later.

The first step starts a capture, the second is the EXECUTE itself, the third writes what was
captured. Outside a transaction the three are one autocommit transaction, which counts 1 inside: so
all that the called module does stands or falls with the INSERT ("INSERT" page: one statement;
3915 and 3916 for a ROLLBACK and a COMMIT of it).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.engine.state import definition
from redial_broker.engine.types import ResultColumn
from redial_broker.exec.compiler import ProgramCompiler
from redial_broker.exec.context import Context
from redial_broker.exec.dml.insert import insert_hints, insert_target, insert_writer, maker_of
from redial_broker.exec.dml.rows import insert_columns
from redial_broker.exec.query.ordering import row_limit
from redial_broker.exec.query.query_hints import query_hints
from redial_broker.exec.query.rowset import QueryColumn
from redial_broker.exec.registry import Run, flow
from redial_broker.exec.steps import lazy_step

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.engine.storage import Table
    from redial_broker.exec.closures import Values
    from redial_broker.exec.program import Frame
    from redial_broker.exec.session import SessionState


@definition(frame="shown by its depth", transaction="the session's")
@dataclass(frozen=True, slots=True)
class Capture:
    """Result sets on their way into a table instead of to the client."""

    frame: Frame
    depth: int
    """frame, depth: of the INSERT."""
    pc: int
    """The step that calls. It is over as soon as that step is left, however it is left."""
    transaction: Any = None
    """The autocommit one it began."""
    trancount: int = 0
    """As it was when the call began."""
    sets: tuple[tuple[list[ResultColumn], list[RowValues]], ...] = ()
    """(columns, rows) per result set. Never changed, only replaced: what a step has caught is taken
    back with it."""

    def active(self, session: SessionState) -> bool:
        """Whether what the session now produces belongs to the INSERT."""
        frames, depth = session.frames, self.depth
        if len(frames) < depth or frames[depth - 1] is not self.frame:
            return False
        # While a called module runs, its caller already points behind the call.
        return self.frame.pc == (self.pc if len(frames) == depth else self.pc + 1)

    def running(self, session: SessionState) -> bool:
        """Whether the INSERT is not over yet: calling, or writing."""
        frames, depth = session.frames, self.depth
        return (
            len(frames) >= depth
            and frames[depth - 1] is self.frame
            and self.pc <= self.frame.pc <= self.pc + 1
        )

    def failed(self, session: SessionState) -> None:
        """An error was dealt with: when it ended the INSERT, all the call did is undone."""
        if self.running(session):
            return
        session.insert_exec = None
        if self.transaction is not None and session.transaction is self.transaction:
            session.rollback()

    def add(
        self, session: SessionState, columns: list[ResultColumn], rows: list[RowValues]
    ) -> None:
        """Take one result set."""
        session.insert_exec = replace(self, sets=(*self.sets, (columns, list(rows))))


@flow(ast.Insert)
def insert_flow(compiler: ProgramCompiler, node: ast.Insert) -> None:
    """Lay an INSERT out: one step, or three around an EXECUTE."""
    if not isinstance(node.source, (ast.ExecuteProcedure, ast.ExecuteString)):
        compiler.registered(node)
        return
    if node.outputs:
        raise compiler.context.fail(node, SqlError(483, aborts="scope"))
    first = compiler.here()

    def begin(session: SessionState, variables: Values) -> None:
        if session.insert_exec is not None and session.insert_exec.active(session):
            raise SqlError(8164)
        transaction = None
        if session.transaction is None:
            transaction = session.work()
            if session.auto:  # not when IMPLICIT_TRANSACTIONS has begun one that stays
                session.auto, session.trancount = False, 1
            else:
                transaction = None
        session.insert_exec = Capture(
            session.frames[-1], len(session.frames), first + 1, transaction, session.trancount
        )

    compiler.emit(node, begin)
    compiler.statement(node.source)
    last = compiler.here()
    step = lazy_step(compiler.program, last, node, _compile_store, compiler.context, True)
    compiler.emit(node, step, True)
    for pc in (first, first + 1):
        compiler.program.infos[pc].resume = last + 1


def _compile_store(node: ast.Insert, context: Context) -> Run:
    target = insert_target(node, context)
    query_hints(node.options, context)
    chosen = insert_columns(target, node.columns, context, node)
    write, _ = insert_writer(node, target, chosen, insert_hints(node, context), context)
    makers: dict[tuple[Any, ...], Any] = {}
    top = row_limit(node.top, context.scope) if node.top else None

    def maker(columns: list[ResultColumn]) -> Any:
        key = tuple(column.type for column in columns)
        if key not in makers:
            if len(columns) != len(chosen.ordinals):
                raise context.fail(node, SqlError(213))
            made = [QueryColumn(c.name, c.type, c.nullable) for c in columns]
            makers[key] = maker_of(made, target, chosen, node, context)
        return makers[key]

    def rows_of(session: SessionState, variables: Values, table: Table) -> list[RowValues]:
        captured = [
            (maker(columns), row) for columns, rows in session.insert_exec.sets for row in rows
        ]
        if top is not None:
            captured = captured[: top(session, variables, (), len(captured))]
        return [make(session, variables, row, table) for make, row in captured]

    def run(session: SessionState, variables: Values) -> int | None:
        owned = session.insert_exec.transaction
        if owned is not None and session.transaction is owned:
            session.auto, session.trancount = True, 0  # this step ends the statement, and commits
        result = write(session, variables, rows_of)
        session.insert_exec = None
        return result

    return run
