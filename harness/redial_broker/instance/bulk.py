"""The rows of a bulk load as a request of their own (MS-TDS 2.2.6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.errors import SqlError
from redial_broker.exec.program import Program, StatementInfo
from redial_broker.exec.steps import end_of_program, working_step
from redial_broker.instance.requests import BulkLoad

if TYPE_CHECKING:
    from typing import Any  # of locals: a variable of T-SQL holds anything

    from redial_broker.exec.dml.bulk import PendingBulk
    from redial_broker.exec.session import SessionState
    from redial_broker.instance.session import Session

_NOT_ANNOUNCED = "The bulk load has no INSERT BULK statement right before it."


def start_load(session: Session, pending: PendingBulk | None, request: BulkLoad) -> None:
    """Push a program of one step that writes the rows. Raises SqlError 4002 without INSERT BULK."""
    if pending is None:
        raise SqlError(4002, text=_NOT_ANNOUNCED)

    def load(running: SessionState, variables: list[Any]) -> int | None:
        return pending.load(running, variables, request.columns, request.rows)

    program = Program("", "", session.database, pending.source)
    program.code = [working_step(load), end_of_program]
    node, line = pending.node, pending.source.line(pending.node.pos)
    program.infos = [StatementInfo(node, line, True, 1), StatementInfo(None, line, False, 2)]
    session.instance.machine.call(session, program, [])
