"""Activated tasks: background sessions that run a queue's procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.types import Message
from harness.broker.exec.execute import Argument, call_named, parse_name
from harness.broker.exec.flow import end_of_program
from harness.broker.exec.impersonation import become_user
from harness.broker.exec.program import Program, StatementInfo
from harness.broker.exec.switches import value
from harness.tsql.ast.base import Source

if TYPE_CHECKING:
    from harness.broker.instance.instance import Instance
    from harness.broker.instance.session import Session


class ActivatedSink:
    """Where an activated procedure's output goes: results nowhere, messages to the ERRORLOG (9724).

    Source: internal-activation-context page and message 9724.
    """

    def __init__(self, instance: Instance, session: Session, procedure: str, queue: str) -> None:
        self._instance = instance
        self._session = session
        self._procedure = procedure
        self._queue = queue

    def message(self, message: Message) -> None:
        """PRINT, RAISERROR and unhandled errors."""
        self._instance.error_log.write(
            f"spid{self._session.id}s",
            f"The activated proc '{self._procedure}' running on queue '{self._queue}' output the "
            f"following:  '{message.text}'",
        )

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Result sets and ends of statements are discarded."""

    columns = row = done = env = return_status = return_value = proc_done = finish = _nothing


class Activation:
    """Starts and ends the tasks a queue monitor asks for."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def start(self, queue: Any) -> None:
        """Launch one more reader for ``queue``: a session that calls its procedure."""
        instance = self.instance
        database = queue.broker.database
        number = queue.started
        session = instance.background_session(f"activated/{database.name}/{queue.name}/{number}")
        shown = f"[{database.name}].[{queue.schema}].[{queue.name}]"
        procedure = queue.activation.procedure
        session.sink = ActivatedSink(instance, session, procedure, shown)
        session.queue = queue
        session.database = database
        session.app_name = ""
        if value(instance.engine, "activated_set_options") == "database defaults":
            session.options = session.options.changed(
                ansi_padding=False, ansi_warnings=False, concat_null_yields_null=False)
        session.original_login = "sa"
        become_user(session, database, self._principal(database, queue))

        def ended(s: Session) -> None:
            self._ended(s, queue, shown)

        session.when_finished = ended
        name = parse_name(procedure)
        arguments: list[Argument] = []

        def step(s: Session, _: list) -> int | None:
            return call_named(s, name, arguments, None, 1)

        program = Program("", "", database, Source(""))
        program.code = [step, end_of_program]
        program.infos = [StatementInfo(None, 1, False, 1), StatementInfo(None, 1, False, 2)]
        instance.machine.call(session, program, [])
        instance.ready(session)

    def _principal(self, database: Any, queue: Any) -> Any:
        number = queue.activation.execute_as
        if number in {None, -2}:
            number = database.owner_of(queue)
        principal = database.principal(number)
        if principal is None:
            raise SqlError(15517, number)
        return principal

    def _ended(self, session: Session, queue: Any, shown: str) -> None:
        """The procedure has returned. An open transaction is aborted (8415)."""
        instance = self.instance
        if session.transaction is not None:
            session.rollback()
            instance.error_log.write(
                f"spid{session.id}s",
                f"The activated task was aborted because the invoked stored procedure "
                f"'{queue.activation.procedure}' did not issue COMMIT or ROLLBACK on one or more "
                f"transactions that it begun.",
            )
        instance.forget(session)
        queue.broker.task_ended(queue, session)
