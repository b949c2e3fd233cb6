"""A session of the instance: login, requests, and their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from redial.tsql.ast.base import Source
from redial_broker.engine.errors import SqlError
from redial_broker.engine.kernel import Engine
from redial_broker.engine.state import SAVED, fields_of, made, plain, rarely, saved, state
from redial_broker.engine.types import Message, SqlType
from redial_broker.exec import security
from redial_broker.exec.completions import BEGIN, COMMIT, FAILED, ROLLBACK, SAVE
from redial_broker.exec.control import (
    begin_transaction,
    commit_transaction,
    rollback_transaction,
    save_transaction,
)
from redial_broker.exec.ddl.database_lock import must_wait_to_enter, share_database
from redial_broker.exec.execute import text_program
from redial_broker.exec.failures import settle
from redial_broker.exec.options import Options
from redial_broker.exec.program import SWITCH, Program, StatementInfo
from redial_broker.exec.session import SessionState
from redial_broker.exec.stack import unwind_frame
from redial_broker.exec.steps import end_of_program
from redial_broker.exec.switches import value
from redial_broker.instance.api_cursors import ApiCursor
from redial_broker.instance.bulk import start_load
from redial_broker.instance.defects import defect_message, described
from redial_broker.instance.overheard import heard
from redial_broker.instance.prepared import Prepared
from redial_broker.instance.requests import (
    Batch,
    BulkLoad,
    Request,
    Rpc,
    RpcBatch,
    TransactionRequest,
    Wire,
)
from redial_broker.instance.results import Collector
from redial_broker.instance.rpc import start_call

if TYPE_CHECKING:
    from redial_broker.exec.database import Database
    from redial_broker.exec.dml.bulk import PendingBulk
    from redial_broker.exec.principals import Login
    from redial_broker.exec.program import Step
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.sink import Listener, Sink
    from redial_broker.ssb.queue import Queue

OF_THE_CONNECTION = frozenset(
    {
        *("login_name", "original_login", "app_name", "host_name", "host_pid"),
        "database",  # it leaves that when it enters another
        *("guids", "transactions"),  # numbers are not given out twice
    }
)
"""What one that is made again has still, besides what never changes."""

COMMANDS = {"begin": BEGIN, "commit": COMMIT, "rollback": ROLLBACK, "save": SAVE}


def _queue(queue: Queue | None) -> str:
    return "" if queue is None else str(queue)


def _outputs(outputs: dict[int, tuple[str, SqlType, Any]]) -> Any:
    if not outputs:
        return None
    return sorted((number, name, str(type_)) for number, (name, type_, _) in outputs.items())


class Session(SessionState):
    """What a client holds. Requests are taken one at a time; ``sink.finish`` ends each.

    calls: remote procedure calls of the request that are still to come. prepared: statement
    handles. api_cursors: server cursors by id. initial_database: the one asked for at login, ''
    for the login's own; a pooled connection returns to it. queue: whose activated
    task this is, None for a client's session. when_finished: called instead of the client's end of
    request (activated tasks).
    """

    __slots__ = (
        "active",
        "api_cursors",
        "calls",
        "initial_database",
        "last_cursor",
        "last_handle",
        "login",
        "login_time",
        "outputs",
        "prepared",
        "queue",
        "status",
        "transactions",
        "when_finished",
        "wire",
    )
    STATE = state(
        made("login", show=plain),
        made("queue", show=_queue),
        saved("active", "rpc", "status"),
        saved("calls", copy=list, show=rarely),
        saved("outputs", copy=dict, show=_outputs),
        saved("prepared", "api_cursors", copy=dict, show=rarely),
        saved("last_handle", "last_cursor"),
        saved("transactions", hidden="of which the numbers of its transactions are made: ids"),
        made("login_time", when="times"),
        made("initial_database"),
        made("wire", show=plain),
        made("when_finished", hidden="follows from its queue"),
    )

    if TYPE_CHECKING:  # what the executor's part leaves open
        instance: Instance
        database: Database
        bulk: PendingBulk | None

        @property
        def sink(self) -> Listener:
            """To whom it speaks."""

        @sink.setter
        def sink(self, sink: Sink) -> None: ...

    def __init__(self, engine: Engine, instance: Instance, session_id: int, stream: str) -> None:
        super().__init__(engine, instance, session_id, stream)
        self.login: Login = cast("Login", None)
        self.login_time = engine.clock.now()
        self.wire = Wire()
        self.queue: Queue | None = None
        self.initial_database = ""
        self.transactions = 0
        self.active = False
        self.status: int | None = None
        self.calls: list[Rpc] = []
        self.outputs: dict[int, tuple[str, SqlType, Any]] = {}
        self.prepared: dict[int, Prepared] = {}
        self.last_handle = 0
        self.api_cursors: dict[int, ApiCursor] = {}
        self.last_cursor = 0
        self.when_finished: Callable[[Session], None] | None = None

    @property
    def is_system(self) -> bool:
        """Whether it is a task of the server's own, neither a client nor an activated one."""
        return self.background and self.queue is None

    # ------------------------------------------------------------------ requests
    def submit(self, request: Request) -> None:
        """Take a request; ``instance.pump`` answers it. The sink hears ``finish`` at its end."""
        self.engine.journal.save(self)
        self.active = True
        self.rpc = False
        self.statement_started = self.engine.clock.now()
        locks = self.engine.locks
        before, locks.running = locks.running, self
        try:
            self._take(request)
        except SqlError as error:
            self._refuse(error)
            if self.rpc:
                self._end_call(failed=True)
            else:
                self._finish()
        except Exception as error:
            self.broken(error)
        finally:
            locks.running = before

    def _take(self, request: Request) -> None:
        bulk, self.bulk = self.bulk, None  # what INSERT BULK prepared is for the next request only
        if isinstance(request, Batch):
            self.input_buffer = request.text
            self._start(request.text)
        elif isinstance(request, Rpc | RpcBatch):
            self.calls = [request] if isinstance(request, Rpc) else list(request.calls)
            self.rpc = True
            self._next_call()
        elif isinstance(request, TransactionRequest):
            self._transaction_request(request)
        elif isinstance(request, BulkLoad):
            start_load(self, bulk, request)
            self.instance.ready(self)
        if self.frames and must_wait_to_enter(self):
            self._enter_first()

    def _enter_first(self) -> None:
        """Behind an ALTER DATABASE: a statement of its own, before the request's first one, waits."""

        def enter(session: SessionState, _: list[Any]) -> None:
            share_database(session, session.database)

        program = Program("", "", self.database, Source(""))
        program.code = [cast("Step", enter), end_of_program]
        program.infos = [StatementInfo(None, 1, False, place) for place in (1, 2)]
        self.instance.machine.call(self, program, [])

    def execute(self, text: str) -> Collector:
        """Run a batch to its end or to a wait, in process; returns the (cleared) Collector."""
        heard(self.database.name, text)
        cast(Collector, self.sink).clear()
        self.submit(Batch(text))
        self.instance.run()
        return cast(Collector, self.sink)

    def _start(self, text: str) -> None:
        if self.instance.searched:
            self._start_later(text)
        else:
            self.instance.machine.call(self, text_program(self, text, ""), [])
        self.instance.ready(self)

    def _start_later(self, text: str) -> None:
        """Of a search: it is compiled in the session's next step, not where it is sent."""

        def begin(session: SessionState, _: list[Any]) -> int:
            session.frames.pop()
            try:
                session.instance.machine.call(session, text_program(session, text, ""), [])
            except SqlError as error:
                self._refuse(error)
            return SWITCH

        program = Program("", "", self.database, Source(f"to begin: {text}"))
        program.code, program.infos = [cast("Step", begin)], [StatementInfo(None, 1, False, 1)]
        self.instance.machine.call(self, program, [])

    def _refuse(self, error: SqlError) -> None:
        """A request that could not even start: its error, and nothing else has happened."""
        if self.transaction is not None and self.options.xact_abort and not error.compiling:
            self.rollback()
        self.sink.message(
            Message(
                error.number,
                error.severity,
                error.state,
                error.text,
                error.procedure,
                error.line or 1,
            )
        )
        if not self.rpc:
            self.sink.done(FAILED, None, True)

    def program_finished(self) -> None:
        """The machine has run the last frame."""
        if self.transaction is not None and self.auto:
            self.commit()
        if self.when_finished is not None:
            self.when_finished(self)
            return
        if self.rpc:
            self._end_call(failed=self.status is None)
        else:
            self._finish()

    def _next_call(self) -> None:
        call = self.calls.pop(0)
        self.status = None
        self.outputs = {}
        self.input_buffer = call.name
        start_call(self, call)
        self.instance.ready(self)

    def _end_call(self, *, failed: bool) -> None:
        settle(self)
        if self.status is not None:
            self.sink.return_status(self.status)
            for ordinal, (name, type_, value) in sorted(self.outputs.items()):
                self.sink.return_value(ordinal, name, type_, value)
        self.sink.proc_done(failed)
        if not self.calls:
            self._finish()
            return
        try:
            self._next_call()
        except SqlError as error:
            self._refuse(error)
            self._end_call(failed=True)

    def _finish(self) -> None:
        if not self.rpc:
            settle(self)
        self.active = False
        self.sink.finish()

    def _transaction_request(self, request: TransactionRequest) -> None:
        """The wire's own BEGIN, COMMIT, ROLLBACK, SAVE (MS-TDS transaction manager request)."""
        kind = request.kind
        if kind == "begin":
            self._set_isolation(request.isolation)
            begin_transaction(self, request.name or None)
        elif kind == "commit":
            commit_transaction(self)
        elif kind == "rollback":
            rollback_transaction(self, request.name or None)
        elif kind == "save":
            save_transaction(self, request.name)
        if request.begin_after and kind in {"commit", "rollback"}:
            self._set_isolation(request.isolation_after)
            begin_transaction(self, request.name_after or None)
        self.sink.told(COMMANDS[kind], None, False)
        self._finish()

    def _set_isolation(self, level: str | None) -> None:
        if level:
            self.options = self.options.changed(isolation=level.lower())

    # ------------------------------------------------------------------ ends
    def attention(self) -> None:
        """The client cancels: the statement is undone; the transaction stays unless XACT_ABORT."""
        if not self.active:
            return
        xact_abort = self.options.xact_abort
        self._stop()
        if self.transaction is not None and (self.auto or xact_abort):
            self.rollback()
        self.calls = []
        self.active = False
        self.sink.finish()

    def _stop(self) -> None:
        """Take the session off whatever it runs or waits for."""
        self.instance.lanes.stop(self)
        self.engine.journal.save(self)
        if self.wait is not None:
            if self.wait.kind == "lock":
                self.engine.locks.cancel_wait(self)
            else:
                self.end_wait()
        self.engine.timers.cancel(None, "wait", self)
        self.deadline, self.expired, self.pending = None, False, None
        self.lock_mark, self.portions = 0, None
        self.end_statement()
        if self.transaction is not None:
            self.engine.transactions.end_statement(self.transaction)
            if len(self.transaction.undo) > self.mark:
                self.engine.journal.undo(self.transaction, self.mark)
        while self.frames:
            unwind_frame(self)
        self.error_stack.clear()
        self.insert_exec = None

    def reset(self, keep_transaction: bool = False) -> None:
        """sp_reset_connection: as after a login, but the same session id and isolation level.

        The isolation level survives (F-204); everything else goes.
        """
        if self.transaction is not None and not keep_transaction:
            self.rollback()
        if value(self.engine, "reset_context_info") == "cleared":
            self.context_info = None
        self._begin_anew(Options().changed(isolation=self.options.isolation))

    def log_in_again(self) -> None:
        """A connection that broke is made again, and is given the same session id: nothing of before is
        left. Raises what ``enter_database`` does."""
        if self.transaction is not None:
            self.rollback()
        new = Session(self.engine, self.instance, self.id, self.stream)
        for name, field in fields_of(Session).items():
            if field.how == SAVED and name not in OF_THE_CONNECTION:
                setattr(self, name, getattr(new, name))
        self._begin_anew(Options())

    def _begin_anew(self, options: Options) -> None:
        self.options = options
        self.temp_tables, self.temp_procedures, self.cursors = {}, {}, {}
        self.prepared, self.api_cursors, self.bulk = {}, {}, None
        self.session_context, self.xml_documents = {}, {}
        self.error = self.rowcount = 0
        self.user_stack, self.sandbox, self.open_keys = [], None, frozenset()
        self.login_name = self.original_login
        self.instance.server.session_ended(self)
        self.instance.enter_database(self, self.initial_database or self.login.default_database)

    def close(self) -> None:
        """The client is gone: everything open is rolled back."""
        self.instance.disconnect(self)

    def abandon(self) -> None:
        """Undo everything this session has open; it will not run again."""
        self._stop()
        if self.transaction is not None:
            self.rollback()
        self.active = False

    def killed(self) -> None:
        """KILL: work undone, the client hears 596 (severity 21), the connection ends."""
        self._ended_by(
            Message(
                596,
                21,
                1,
                "Cannot continue the execution because the session is in the kill state.",
            )
        )

    def broken(self, error: Exception) -> None:
        """An exception nobody foresaw came out of this session: it ends, with its work undone.

        Its client hears 60999 (severity 20), of an activated task the ERRORLOG does; its neighbours
        hear nothing. What cannot be undone either is let go of, so that nobody waits for it.
        """
        self.instance.defects.note(repr(self), error)
        message = defect_message(described(error))
        try:
            if self.when_finished is not None:
                self.sink.message(message)
            self._ended_by(message)
        except Exception as another:
            self.instance.defects.note(f"{self!r}, while it was ended", another)
            self.let_go()
            self.instance.disconnect(self)

    def _ended_by(self, message: Message) -> None:
        """The session ends while it runs or waits; a client is told why."""
        active = self.active
        self._stop()
        if self.transaction is not None:
            self.rollback()
        if self.when_finished is not None:
            self.when_finished(self)
            return
        if active:
            self.sink.message(message)
            self.sink.done(FAILED, None, True)
            self.active = False
            self.sink.finish()
        self.instance.disconnect(self)

    def let_go(self) -> None:
        """Give up every lock and wait though work could not be undone: the last resort."""
        self.engine.journal.save(self)
        if self.wait is not None and self.wait.kind == "lock":
            self.engine.locks.cancel_wait(self)
        transaction, self.transaction = self.transaction, None
        self.frames, self.calls, self.wait, self.active = [], [], None, False
        self.trancount, self.auto = 0, False
        if transaction is not None:
            self.engine.locks.release_all(transaction)

    def check_server_permission(self, permission: str) -> None:
        """Raise 300 when the login may not (VIEW SERVER STATE and its kin)."""
        security.check_server(self, permission)
