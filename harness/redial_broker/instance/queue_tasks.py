"""Background tasks that switch a poisoned queue off (F-485).

The fifth rollback in a row does not switch the queue off by itself: a task of the server's own asks
for Sch-M on it, waits behind everybody who has received from it or sent into it, and only then
changes it. Until then the queue is on, and whoever comes later waits behind the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql.ast.base import Source
from redial_broker.exec.database import Database
from redial_broker.exec.program import Program, StatementInfo
from redial_broker.exec.steps import end_of_program, working_step
from redial_broker.ssb.ends import switch_off_at_once
from redial_broker.ssb.queue_locks import switch_off
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.engine.types import Message
    from redial_broker.exec.program import Step
    from redial_broker.exec.session import SessionState
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.session import Session
    from redial_broker.ssb.queue import Queue

PRIORITY = 11
"""DEADLOCK_PRIORITY of a task: above every session's (-10 to 10), so that it is never the victim."""


class TaskSink:
    """The ``Sink`` of a task: it has no client; an error would go to the ERRORLOG."""

    streams = False

    def __init__(self, instance: Instance, session: Session) -> None:
        self._instance = instance
        self._session = session

    def message(self, message: Message) -> None:
        """An error of the task."""
        self._instance.error_log.write(
            f"spid{self._session.id}s", f"Error: {message.number}. {message.text}"
        )

    def _nothing(self, *_: object, **__: object) -> None:
        """A task has no results."""

    columns = row = done = told = call_status = call_over = env = _nothing
    return_status = return_value = proc_done = finish = _nothing


class QueueTasks:
    """Starts the task that a poisoned queue needs."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def start(self, queue: Queue) -> None:
        """Five rollbacks in a row: have the queue switched off."""
        instance = self.instance
        if value(instance.engine, "poisoned_queue_goes_off") == "at once":
            switch_off_at_once(queue)
            return
        instance.engine.journal.assign(None, queue, "going_off", True)
        database = cast(Database, queue.broker.database)
        session = instance.background_session(f"poisoned/{database.name}/{queue.name}/task")
        session.sink = TaskSink(instance, session)
        session.database = database
        session.options = session.options.changed(deadlock_priority=PRIORITY)

        def ended(session: Session) -> None:
            instance.forget(session)
            instance.engine.journal.assign(None, queue, "going_off", False)

        session.when_finished = ended

        def step(session: SessionState, _: list[Any]) -> None:
            _switch_off(session, queue)

        program = Program("", "", database, Source("BRKR TASK"))
        program.code = [working_step(step), cast("Step", end_of_program)]
        program.infos = [StatementInfo(None, 1, True, place) for place in (1, 2)]
        instance.machine.call(session, program, [])
        instance.ready(session)


def _switch_off(session: SessionState, queue: Queue) -> None:
    """What the task does. Raises Wait."""
    database = cast(Database, queue.broker.database)
    transaction = session.work()
    session.engine.locks.acquire(transaction, queue.lock_key, "Sch-M")
    if database.objects.get((queue.schema.lower(), queue.name.lower())) is not queue:
        return  # dropped meanwhile
    if switch_off(queue, transaction):
        queue.broker.note(transaction, ("ssb.off", queue))
