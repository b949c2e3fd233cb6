"""Activated tasks: background sessions that run a queue's procedure.

What a task says goes to the ERRORLOG (9724); how it ended to ``Activation.trace``, which holds what
the trace event Broker:Activation would (its subclasses: started, ended, aborted).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from redial.tsql.ast.base import Source
from redial_broker.engine.broker_messages import text
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import Part
from redial_broker.engine.state import SAME, made, saved, state
from redial_broker.engine.types import Message
from redial_broker.exec.calls import Argument
from redial_broker.exec.database import Database
from redial_broker.exec.execute import call_named, parse_name
from redial_broker.exec.impersonation import become_user
from redial_broker.exec.objects import Procedure
from redial_broker.exec.program import Program, StatementInfo
from redial_broker.exec.security import permitted, securable
from redial_broker.exec.steps import end_of_program
from redial_broker.exec.switches import value
from redial_broker.instance.defects import INTERNAL_ERROR, defect_message, described
from redial_broker.instance.errorlog import ErrorLog
from redial_broker.ssb import counters

if TYPE_CHECKING:
    from typing import Any  # of locals: a variable of T-SQL holds anything

    from redial.tsql import ast
    from redial_broker.exec.principals import Principal
    from redial_broker.exec.program import Step
    from redial_broker.exec.session import SessionState
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.session import Session
    from redial_broker.ssb import queue as queues
    from redial_broker.ssb.queue import Queue

TASK_STARTED, TASK_ENDED, TASK_ABORTED = "started", "ended", "aborted"
"""Subclasses of Broker:Activation."""
COMPLETED = 0
"""``Session.status`` of a task whose procedure has returned, whatever its return value."""


differs(
    "background sessions",
    "Activated tasks have session ids from 21 on and run in turn with the others; a "
    "server gives them threads of their own.",
)


class ActivatedSink(Part):
    """The ``Sink`` of an activated procedure: results nowhere, messages to the ERRORLOG (9724).

    Source: internal-activation-context page and message 9724. last_error: number and state of the
    last error sent.
    """

    streams = False
    __slots__ = ("_instance", "_procedure", "_queue", "_session", "last_error")
    STATE = state(
        saved("last_error"),
        made("_procedure", "_queue"),
        made("_instance", "_session", hidden=SAME),
    )

    def __init__(self, instance: Instance, session: Session, procedure: str, queue: str) -> None:
        super().__init__()
        self._instance = instance
        self._session = session
        self._procedure = procedure
        self._queue = queue
        self.last_error = (0, 0)

    def message(self, message: Message) -> None:
        """PRINT, RAISERROR and unhandled errors."""
        if message.severity > 10:
            self._instance.engine.journal.save(self)
            self.last_error = (message.number, message.state)
        self._instance.error_log.write(
            f"spid{self._session.id}s", text(9724, self._procedure, self._queue, message.text)
        )

    def _nothing(self, *_: object, **__: object) -> None:
        """Result sets and ends of statements are discarded."""

    columns = row = done = told = call_status = call_over = env = _nothing
    return_status = return_value = proc_done = finish = _nothing


def _completed(session: Session, _: list[Any]) -> None:
    """The procedure has come back, not an error that ended it."""
    session.engine.journal.save(session)
    session.status = COMPLETED


class Activation:
    """Starts and ends the tasks a queue monitor asks for."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.trace = ErrorLog(instance.engine)

    def start(self, queue: Queue) -> None:
        """Launch one more reader for ``queue``: a session that calls its procedure.

        Raises SqlError 15517 (activation user), 2812 (procedure) or 229 (EXECUTE), and 60999 for a
        defect, which is not the doing of who has just committed: the monitor tries again later.
        """
        try:
            self._start(queue)
        except SqlError:
            raise
        except Exception as error:
            self.instance.defects.note(f"activation of {queue}", error)
            raise SqlError(INTERNAL_ERROR, text=defect_message(described(error)).text) from error

    def _start(self, queue: Queue) -> None:
        instance = self.instance
        database = cast(Database, queue.broker.database)
        procedure = cast("queues.Activation", queue.activation).procedure
        user = self._principal(database, queue)
        name = parse_name(procedure)
        self._check(database, name, user)
        number = queue.started
        session = instance.background_session(f"activated/{database.name}/{queue.name}/{number}")
        session.sink = ActivatedSink(instance, session, procedure, str(queue))
        session.queue = queue
        session.database = database
        session.app_name = ""
        if value(instance.engine, "activated_set_options") == "database defaults":
            session.options = session.options.changed(
                ansi_padding=False, ansi_warnings=False, concat_null_yields_null=False
            )
        session.original_login = "sa"
        become_user(session, database, user)

        def ended(session: Session) -> None:
            self._ended(session, queue, procedure)

        session.when_finished = ended
        arguments: list[Argument] = []

        def step(session: SessionState, _: list[Any]) -> int | None:
            return call_named(session, name, arguments, None, 1)

        program = Program("", "", database, Source(""))
        program.code = [step, cast("Step", _completed), end_of_program]
        program.infos = [StatementInfo(None, 1, False, place) for place in (1, 2, 3)]
        program.infos[-1].ends = True
        instance.machine.call(session, program, [])
        self.trace.write(f"spid{session.id}s", f"{TASK_STARTED}: {queue}")
        queue.broker.counters.add(instance.engine.journal, counters.STARTED)
        instance.ready(session)

    def _principal(self, database: Database, queue: Queue) -> Principal:
        number = cast("queues.Activation", queue.activation).execute_as
        if number in {None, -2}:
            number = database.owner_of(queue)
        principal = database.principal(number)
        if principal is None:
            raise SqlError(15517, number)
        return principal

    def _check(self, database: Database, name: ast.ObjectName, user: Principal) -> None:
        """EXECUTE is looked at when activation starts (CREATE QUEUE page)."""
        home = self.instance.database(name.database) if name.database else database
        found = home.resolve(name.schema, name.name)
        if not isinstance(found, Procedure):
            raise SqlError(2812, ".".join(part for part in name.parts if part), state=62)
        target = securable(found, home)
        if home is database and not permitted(target, user, "EXECUTE"):
            raise SqlError(229, "EXECUTE", found.name, home.name, found.schema, state=5)

    def _ended(self, session: Session, queue: Queue, procedure: str) -> None:
        """The procedure has returned or was ended. An open transaction is aborted (8415)."""
        open_transaction = session.transaction is not None
        if open_transaction:
            session.rollback()
        how = self._how(session, queue, procedure, open_transaction)
        self.trace.write(f"spid{session.id}s", how)
        if how.startswith(TASK_ABORTED):
            queue.broker.counters.add(self.instance.engine.journal, counters.ABORTED)
            if session.status != COMPLETED:
                queue.broker.counters.add(self.instance.engine.journal, counters.ERRORS)
        self.instance.forget(session)
        queue.broker.task_ended(
            queue,
            session,
            killed=session.status is None and not session.sink.last_error[0],
        )

    def _how(self, session: Session, queue: Queue, procedure: str, open_transaction: bool) -> str:
        """Subclass and text of the trace event (messages 8415, 28085 to 28088)."""
        database = cast(Database, queue.broker.database)
        if open_transaction and session.status == COMPLETED:
            return f"{TASK_ABORTED}: {text(8415, procedure)}"
        if database.objects.get((queue.schema.lower(), queue.name.lower())) is not queue:
            return f"{TASK_ENDED}: {text(28085)}"
        if session.status != COMPLETED:
            return f"{TASK_ABORTED}: {text(28088, *session.sink.last_error)}"
        if not queue.monitor.exists:
            return f"{TASK_ENDED}: {text(28086)}"
        if session.id not in queue.monitor.receivers:
            return f"{TASK_ABORTED}: {text(28087, procedure)}"
        return f"{TASK_ENDED}: {queue}"
