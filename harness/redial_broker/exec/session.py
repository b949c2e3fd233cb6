"""A session as data: frames, options, transaction, what it waits for.

Nothing here runs by itself: ``machine.run`` executes it statement by statement, the instance gives
it requests. All of it can be saved, rewound and hashed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.errors import NotSupported, SqlError, Wait
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.inside import ATOMIC, noted
from redial_broker.engine.journal import Part
from redial_broker.engine.kernel import Engine
from redial_broker.engine.messages import MESSAGES
from redial_broker.engine.state import SAME, also, derived, made, rarely, saved, state
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.types import Message, ResultColumn
from redial_broker.engine.versions import MAY_TAKE
from redial_broker.exec import security, session_content
from redial_broker.exec.options import Options
from redial_broker.exec.program import Frame
from redial_broker.exec.session_records import ErrorInfo, OtherWait
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from datetime import datetime

    from redial_broker.engine.needs import LockKey
    from redial_broker.engine.storage import Table
    from redial_broker.exec.database import Database
    from redial_broker.exec.objects import Procedure
    from redial_broker.exec.principals import Principal


_PIECE = 1000  # rows sent between two turns of others


class SessionState(Part):
    """The executor's view of a session; the instance's Session adds login, requests and the sink.

    stream: name of its id stream (commuting ids). sink: where results go (contract in
    ``instance.results``). It and instance may be anything here: their rooms are above this one.
    """

    __slots__ = (
        "acted",
        "app_name",
        "asked",
        "auto",
        "background",
        "begun",
        "bulk",
        "context_info",
        "cursors",
        "database",
        "deadline",
        "engine",
        "error",
        "error_stack",
        "expired",
        "fetch_status",
        "frames",
        "guids",
        "host_name",
        "host_pid",
        "id",
        "identity_insert",
        "in_procedure",
        "input_buffer",
        "insert_exec",
        "instance",
        "last_identity",
        "lock_mark",
        "login_name",
        "mark",
        "moment",
        "open_keys",
        "options",
        "original_login",
        "own_writes",
        "pending",
        "portions",
        "return_status",
        "rowcount",
        "rpc",
        "sandbox",
        "scope_identity",
        "seen",
        "seen_again",
        "session_context",
        "sink",
        "statement_started",
        "stream",
        "temp_procedures",
        "temp_tables",
        "trancount",
        "transaction",
        "user",
        "user_stack",
        "wait",
        "xml_documents",
    )
    STATE = state(
        made("id", "background"),
        made("stream", hidden="names the ids it makes: two orders of tasks differ in such names"),
        saved(
            "frames",
            copy=session_content.saved_frames,
            back=session_content.restored_frames,
            of=session_content.frames,
        ),
        saved("transaction", of=session_content.transaction),
        saved("trancount", "auto", "error", "rowcount", "fetch_status", "return_status"),
        saved("last_identity", "scope_identity", when="identity"),
        saved("options", show=session_content.options),
        saved("error_stack", copy=list, show=rarely),
        saved("pending", of=session_content.pending),
        saved("wait", of=session_content.wait),
        also("since when it waits", session_content.since, "times"),
        saved("deadline", "expired", "guids"),
        saved("lock_mark", of=session_content.waiting_locks),
        saved(
            "mark",
            "begun",
            hidden="set when a statement begins; where one waits its transaction's undo ends there",
        ),
        saved("seen", of=session_content.seen),
        saved("asked", "moment", show=rarely),
        derived("acted", "seen_again", "own_writes", why="of a step that is under way"),
        saved("identity_insert", show=rarely),
        saved("insert_exec", of=session_content.capture),
        saved("context_info"),
        saved("session_context", copy=dict, show=rarely),
        saved("temp_tables", copy=dict, show=session_content.temporary_tables),
        saved("temp_procedures", "xml_documents", copy=dict, show=rarely),
        saved("cursors", copy=dict, of=session_content.cursors),
        saved("database", show=session_content.database),
        saved("user", show=session_content.principal),
        saved("user_stack", copy=list, show=rarely),
        saved("login_name", "original_login", "app_name", "host_name", "host_pid"),
        saved("sandbox", show=session_content.sandbox),
        saved("open_keys", show=rarely),
        saved("bulk", "portions", show=rarely),
        saved("in_procedure"),
        saved("input_buffer", when="requests"),
        saved("statement_started", when="times"),
        made("sink", of=session_content.sink),
        made("engine", "instance", hidden=SAME),
        journal="engine.journal",
    )
    _abstract = True

    if TYPE_CHECKING:  # what the instance's session adds, and statements ask of it
        login: Any

        def broken(self, error: Exception) -> None:
            """An error nobody foresaw ends it."""

        def check_server_permission(self, permission: str) -> None:
            """Raise 300 when the login may not (VIEW SERVER STATE and its kin)."""

    def __init__(self, engine: Engine, instance: Any, session_id: int, stream: str) -> None:
        super().__init__()
        self.engine = engine
        self.instance = instance
        self.id = session_id
        self.stream = stream
        self.guids = 0
        self.sink: Any = None
        self.database: Database = cast("Database", None)  # until somebody has logged in
        self.user: Principal | None = None
        self.sandbox: tuple[Database, Principal] | None = None  # acts as a user of one database
        self.user_stack: list[Any] = []
        self.login_name = self.original_login = "sa"
        self.app_name = self.host_name = ""
        self.host_pid = 0
        self.background = False
        self.input_buffer = ""
        self.in_procedure = False  # a system procedure runs, which has no frame
        self.options = Options()
        self.frames: list[Frame] = []
        self.transaction: Transaction | None = None
        self.trancount = 0
        self.auto = False
        self.mark = 0
        self.lock_mark = 0  # locks owned when the statement began; ~n while it waits
        self.wait: Any = None
        self.acted, self.seen_again = ATOMIC, 0
        self.seen: tuple[tuple[Any, Any], ...] = ()
        self.asked: LockKey | None = None
        self.moment: datetime | None = None  # what time it is for the statement it is inside of
        self.own_writes: list[Any] = []  # of the running statement to table variables
        self.begun: tuple[Transaction | None, int] = (None, 0)
        """Where the running statement began: its transaction, and what that had logged."""
        self.deadline: float | None = None
        self.expired: bool | int = False
        self.pending: SqlError | None = None
        self.portions: Any = None  # the result that goes out in portions (query.streaming)
        self.error = 0
        self.error_stack: list[ErrorInfo] = []
        self.rowcount = 0
        self.fetch_status = 0
        self.last_identity: Any = None
        self.scope_identity: Any = None
        self.identity_insert: Any = None
        self.insert_exec: Any = None
        self.return_status = 0
        self.rpc = False  # the request is a remote procedure call
        self.context_info: bytes | None = None
        self.session_context: dict[str, Any] = {}
        self.temp_tables: dict[str, Table] = {}
        self.temp_procedures: dict[str, Procedure] = {}
        self.cursors: dict[Any, Any] = {}  # by (depth, name) or number; "@@": opened last
        self.xml_documents: dict[Any, Any] = {}  # handle -> what OPENXML reads; "next": handle
        self.open_keys: frozenset[int] = frozenset()  # databases whose master key is open
        self.bulk: Any = None  # what INSERT BULK prepared for the next request
        self.statement_started = 0.0  # of the running request, clock seconds

    def __repr__(self) -> str:
        """By its stream, which is the same in every run (timers are hashed by it)."""
        return f"session {self.stream}"

    # ------------------------------------------------------------------ simple questions
    @property
    def isolation(self) -> str:
        """Isolation level in lower-case words."""
        return self.options.isolation

    @property
    def lock_timeout(self) -> int:
        """LOCK_TIMEOUT in milliseconds, -1 for ever."""
        return self.options.lock_timeout

    @property
    def to_be_run_again(self) -> bool:
        """Whether its statement waits, was left, or goes on after either."""
        return self.lock_mark < 0

    @property
    def cursor_rows(self) -> int:
        """@@CURSOR_ROWS: of the cursor opened last; -1 for a dynamic one, 0 when it is closed."""
        cursor = self.cursors.get(self.cursors.get("@@"))
        if cursor is None or cursor.rows is None:
            return 0
        return -1 if cursor.kind == "DYNAMIC" else len(cursor.rows)

    @property
    def deadlock_priority(self) -> int:
        """-10..10."""
        return self.options.deadlock_priority

    @property
    def error_info(self) -> ErrorInfo | None:
        """The error the innermost CATCH block handles."""
        return self.error_stack[-1] if self.error_stack else None

    @property
    def nest_level(self) -> int:
        """@@NESTLEVEL: modules and dynamic batches on the stack (a plain batch counts 0)."""
        return sum(frame.levels for frame in self.frames[1:])

    @property
    def proc_id(self) -> int:
        """@@PROCID."""
        return self.frames[-1].program.object_id if self.frames else 0

    @property
    def user_name(self) -> str:
        """Name of the current database principal."""
        return self.user.name if self.user is not None else "dbo"

    @property
    def language(self) -> str:
        """@@LANGUAGE."""
        return self.options.language

    @property
    def textsize(self) -> int:
        """@@TEXTSIZE."""
        return self.options.textsize

    @property
    def server_name(self) -> str:
        """@@SERVERNAME."""
        return str(self.instance.server_name)

    @property
    def version_text(self) -> str:
        """@@VERSION."""
        return str(self.instance.version_text)

    def now(self) -> datetime:
        """The current moment, naive UTC; a statement's is one and the same."""
        if self.acted == ATOMIC:
            return self.engine.clock.utc()
        if self.moment is None:
            self.moment = self.engine.clock.utc()
        return self.moment

    def xact_state(self) -> int:
        """XACT_STATE(): 1, 0 or -1."""
        if self.transaction is None:
            return 0  # of an autocommit transaction it is 1 (F-525)
        return -1 if self.transaction.doomed else 1

    def new_guid(self) -> str:
        """The next uniqueidentifier of this session's own stream."""
        self.guids += 1
        return stream_guid(self.engine.seed, self.stream, self.guids)

    def catalog_function(self, name: str, args: tuple[Any, ...]) -> Any:
        """A catalog-dependent built-in function, answered by the catalog."""
        return noted(self, name, self.instance.catalog_function, self, name, args)

    def check_permission(
        self, permission: str, securable: Any, columns: tuple[int, ...] = ()
    ) -> None:
        """Raise 229, 230 for a column, and their kin when the current principal may not."""
        security.check(self, permission, securable, columns)

    def stack(self) -> list[tuple[str, int, int, int, str]]:
        """(procedure, line, start, end, text) of each frame, innermost first, for reports.

        The counter of a calling frame already stands behind its EXEC.
        """
        found = []
        for depth, frame in enumerate(reversed(self.frames)):
            program = frame.program
            info = program.infos[max(0, frame.pc - 1) if depth else frame.pc]
            if info.node is None and info.targets:  # a jump: where it goes
                info = program.infos[info.targets[0]]
            if info.node is None:
                continue
            source, start, end = program.source.text, info.node.pos, info.node.end
            end += source[end : end + 1] == ";"
            found.append((program.full_name, info.line, start, end, source[start:end]))
        return found

    # ------------------------------------------------------------------ transactions
    def work(self) -> Transaction:
        """The transaction to work in; an autocommit one is begun where there is none."""
        if self.transaction is None:
            self.begin(user=self.options.implicit_transactions)
        return self.transaction  # type: ignore[return-value]

    def begin(self, *, user: bool, name: str = "user_transaction") -> None:
        """Begin a transaction. user: @@TRANCOUNT counts it; otherwise it lasts one statement."""
        transaction = Transaction(self, self.instance.next_descriptor(self), name)
        transaction.begun = self.engine.clock.now()
        transaction.user = user
        if self.options.isolation == "snapshot" or (
            user and value(self.engine, "snapshot_level_taken") == "first access"
        ):
            transaction.snapshot = MAY_TAKE
        self.transaction = transaction
        self.mark = 0
        if user:
            self.trancount = 1
            if self.options.implicit_transactions:
                transaction.name = "implicit_transaction"
            self.sink.env("begin", transaction.descriptor, 0)
        else:
            self.auto = True

    def commit(self) -> None:
        """Commit the current transaction, whatever the count."""
        transaction, self.transaction = self.transaction, None
        self.trancount, self.auto = 0, False
        assert transaction is not None
        self.engine.transactions.commit(transaction)
        if transaction.user and self.cursors and self.options.cursor_close_on_commit:
            self._close_cursors(static=True)
        if transaction.user:
            self.sink.env("commit", 0, transaction.descriptor)

    def rollback(self) -> None:
        """Roll the current transaction back, whatever the count."""
        transaction, self.transaction = self.transaction, None
        self.trancount, self.auto = 0, False
        assert transaction is not None
        self.engine.transactions.rollback(transaction)
        if transaction.user and self.cursors:
            self._close_cursors(static=self.options.cursor_close_on_commit)
        if transaction.user:
            self.sink.env("rollback", 0, transaction.descriptor)

    def _close_cursors(self, *, static: bool) -> None:
        """Close open cursors; static ones live through a ROLLBACK unless CURSOR_CLOSE_ON_COMMIT
        ("ROLLBACK TRANSACTION" page, Interoperability; "SET CURSOR_CLOSE_ON_COMMIT" page).
        """
        for key, cursor in list(self.cursors.items()):
            open_now = getattr(cursor, "rows", None) is not None
            if open_now and (static or cursor.kind != "STATIC"):
                self.cursors[key] = replace(cursor, rows=None, position=0, current=None)

    # ------------------------------------------------------------------ output
    def result(self, columns: list[ResultColumn], rows: list[tuple[Any, ...]]) -> None:
        """One result set: to the client, to an INSERT..EXEC, or nowhere in an activated session."""
        capture = self.insert_exec
        if capture is not None and capture.active(self):
            capture.add(self, columns, rows)
            return
        self.sink.columns(columns)
        row = self.sink.row
        for at in range(0, len(rows), _PIECE):
            for values in rows[at : at + _PIECE]:
                row(values)
            self.engine.meter.pause(4 * _PIECE if at else 0)

    def done(self, command: int, rowcount: int) -> None:
        """A counting statement ended: sets @@ROWCOUNT and tells the client unless NOCOUNT."""
        self.rowcount = rowcount
        if self.insert_exec is None or not self.insert_exec.active(self):
            inside = len(self.frames) > 1 or self.in_procedure
            self.sink.done(command, None if self.options.nocount else rowcount, False, inside)

    def set_rowcount(self, rowcount: int) -> None:
        """Set @@ROWCOUNT alone."""
        self.rowcount = rowcount

    def limited(self, rows: list[Any]) -> list[Any]:
        """The rows a statement stops after under SET ROWCOUNT."""
        most = self.options.rowcount
        return rows[:most] if most else rows

    def refuse_rowcount(self, construct: str) -> None:
        """Raise NotSupported under SET ROWCOUNT, for what does not follow it."""
        if self.options.rowcount:
            raise NotSupported(f"{construct} under SET ROWCOUNT {self.options.rowcount}")

    def count_in_change(self) -> int:
        """@@TRANCOUNT as a data change reads it: the change counts too (F-525)."""
        return max(self.trancount, 1) + 1

    def info(self, text: str, severity: int = 0, number: int = 0, state: int = 1) -> None:
        """PRINT and RAISERROR below severity 11; 10 goes out as 0 (F-526)."""
        severity = 0 if severity == 10 else severity
        frame = self.frames[-1] if self.frames else None
        line = frame.program.infos[frame.pc].line if frame else 1
        name = frame.program.name if frame else ""
        self.sink.message(Message(number, severity, state, text, name, line))

    def warn(self, number: int) -> None:
        """A warning of the server's own, of severity 10."""
        self.info(MESSAGES[number][1], 10, number)

    def begin_statement(self, transaction: Transaction) -> None:
        """What comes next is a statement's: it can be taken back to here."""
        self.mark = len(transaction.undo)
        self.begun = (transaction, transaction.log_used)

    def undo_statement(self) -> None:
        """Take the running statement's changes back. What it has changed stays marked as its own: locks
        stay, so others still wait for it there.
        """
        self.undo_own_writes()
        transaction, logged = self.begun
        if transaction is None or transaction is not self.transaction:
            return
        if len(transaction.undo) > self.mark:
            self.engine.journal.undo(transaction, self.mark)
        self.engine.journal.save(transaction)
        transaction.log_used = logged

    def undo_own_writes(self) -> None:
        """Take back what it has changed in its own variables: no transaction does."""
        for access in reversed(self.own_writes):
            access.undo()

    def end_statement(self) -> None:
        """It is over: what it has read counts no more."""
        self.seen, self.moment, self.asked = (), None, None
        self.own_writes.clear()

    # ------------------------------------------------------------------ waiting
    def begin_wait(self, record: Any) -> None:
        """Record what the session waits for (the lock manager and ``wait_for`` call this)."""
        self.engine.journal.save(self)
        self.wait = record

    def end_wait(self) -> None:
        """The wait is over; ``wake`` makes the session run again."""
        self.engine.journal.save(self)
        self.wait = None

    def wake(self) -> None:
        """Put the session among the ready ones."""
        self.instance.ready(self)

    def interrupt(self, error: SqlError) -> None:
        """Make the running statement fail with ``error`` instead of running again."""
        self.engine.journal.save(self)
        self.pending = error
        self.wake()

    def wait_for(self, kind: str, what: Any, timeout_ms: int) -> None:
        """Wait for something that is not a lock; raises Wait.

        timeout_ms below 0: for ever. The deadline counts from the statement's first attempt.
        """
        engine = self.engine
        now = engine.clock.now()
        engine.journal.save(self)
        if timeout_ms >= 0:
            if self.deadline is None:
                self.deadline = now + timeout_ms / 1000
            engine.timers.set(None, "wait", self, self.deadline)
        self.wait = OtherWait(kind, what, now)
        raise Wait

    def time_out(self) -> None:
        """The wait's time is over: a lock wait fails with 1222, another one is run again."""
        if self.wait is None:
            return
        if self.wait.kind == "lock":
            self.engine.locks.time_out(self)
            return
        self.end_wait()
        self.expired = True
        self.wake()
