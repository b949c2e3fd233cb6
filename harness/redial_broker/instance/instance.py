"""An instance: databases, sessions and logins over one engine, and the scheduler's loop.

Only one thread may touch an instance. Nothing in it blocks: ``pump`` runs what is ready,
``next_due`` says when time alone will make something ready.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import redial_broker.catalog
import redial_broker.exec.statements
from redial.tsql import TsqlSyntaxError, ast, parse_batch
from redial_broker.engine.clock import RealClock, VirtualClock
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.kernel import Engine
from redial_broker.engine.locks import Deadlock
from redial_broker.engine.messages import MESSAGES
from redial_broker.engine.state import journaled, state
from redial_broker.engine.storage import Table
from redial_broker.exec import security
from redial_broker.exec.database import Database
from redial_broker.exec.ddl.database_lock import leave_database, share_database
from redial_broker.exec.machine import READY, Machine
from redial_broker.exec.objects import CATALOG_FUNCTIONS
from redial_broker.exec.product import AZURE_DATABASE, Product, named, version_text
from redial_broker.exec.server import Server, UserMessage
from redial_broker.exec.tokens import login_permitted, server_principals
from redial_broker.instance.activation import Activation
from redial_broker.instance.defects import Defects
from redial_broker.instance.errorlog import ErrorLog
from redial_broker.instance.lanes import Lanes
from redial_broker.instance.queue_tasks import QueueTasks
from redial_broker.instance.results import Collector
from redial_broker.instance.session import Session
from redial_broker.instance.snapshot import Snapshot
from redial_broker.instance.text_cache import TextCache
from redial_broker.ssb import Broker

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    _C = TypeVar("_C", bound=Part)
    _M = TypeVar("_M", bound=Part)

    class Trees(Protocol):
        """Syntax trees by text, or by text and QUOTED_IDENTIFIER where it is off."""

        def get(self, key: str | tuple[str, bool], /) -> ast.Batch | None:
            """The tree of a text, None when it is not kept."""

        def put(self, key: str | tuple[str, bool], made: ast.Batch, /) -> None:
            """Keep a tree."""


USER = "sa"
PASSWORD = "Redial-2026"
FIRST_SPID = 51
FIRST_RAISED = 13000
"""Lowest message number RAISERROR takes (RAISERROR page)."""

QUANTUM = 200
"""Statements a session may run before the next ready one has its turn."""

differs(
    "durability",
    "Everything is in memory: no files, log, backup, recovery model or restart; a "
    "commit is visible and not durable.",
)


_TREES = cast("Trees", TextCache())
"""Syntax trees by text. No tree is ever changed, so all instances of a process share them: a
second one that gets the same scripts need not read them again."""


class Registry(Part):
    """The live sessions by id, and how often each id was given out (ids are used again)."""

    __slots__ = ("generations", "sessions")
    STATE = state(
        journaled("sessions", show=sorted),
        journaled("generations", hidden="names the ids that sessions to come will make"),
    )

    def __init__(self) -> None:
        super().__init__()
        self.sessions: dict[int, Session] = {}
        self.generations: dict[int, int] = {}


class Instance:
    """One embedded broker.

    quantum: statements a session may run before the next ready one has its turn; 1 interleaves
    sessions statement by statement, as processors side by side would.
    searched: the explorer decides who runs, so nobody is queued for a turn. listener: told the text
    of every batch and dynamic text that is about to run.
    seed: of every id it makes. clock: RealClock or VirtualClock (default). switches: values of the
    named options that stand for what no document settles (see ``engine.switches``); SwitchError for
    a name or value there is none of. password: of the login sa. product: the version and edition it
    says it is, a name of ``exec.product.PRODUCTS`` ("2014", "2016 SP1", "Azure SQL Database" ...);
    ProductError for another.
    """

    def __init__(
        self,
        seed: int = 0,
        clock: VirtualClock | RealClock | None = None,
        switches: dict[str, Any] | None = None,
        password: str = PASSWORD,
        quantum: int = QUANTUM,
        product: Product | str | None = None,
    ) -> None:
        self.quantum = quantum
        self.engine = Engine(seed, clock, switches)
        self.clock = self.engine.clock
        self._listed: dict[Part, tuple[object, list[Any]]] = {}
        self.server_name = "REDIAL-EMBEDDED"
        self.product = named(product)
        self.version_text = version_text(self.product)
        self.machine = Machine(self._finished)
        self.lanes = Lanes(self)
        self.programs = TextCache()
        self.error_log = ErrorLog(self.engine)
        self.defects = Defects(self.engine.journal)
        self.registry = Registry()
        self.searched = False
        self.listener: Callable[[str], None] | None = None
        self._ready: deque[Session] = deque()
        self.activation = Activation(self)
        self.queue_tasks = QueueTasks(self)
        self.server = Server(self.engine, self._new_broker, self.product)
        self.server.transport.server_name = self.server_name
        self.server.sessions = lambda: list(self.sessions.values())
        self.server.create_login(None, USER, password, roles=frozenset({"sysadmin"}))
        self.engine.locks.on_deadlock = self._deadlock

    # ------------------------------------------------------------------ sessions
    @property
    def sessions(self) -> dict[int, Session]:
        """The live sessions by id."""
        return self.registry.sessions

    def login(
        self,
        user: str,
        password: str,
        database: str = "",
        *,
        app: str = "",
        host: str = "",
        client_pid: int = 0,
    ) -> Session:
        """A new session. Raises SqlError 18456 (name or password) or 4060 (database)."""
        login = self.server.logins.get(user.lower())
        if (
            login is None
            or not login.accepts(password)
            or not login_permitted(
                self.server, server_principals(self.server, login), "CONNECT SQL"
            )
        ):
            self.error_log.write("Logon", f"Login failed for user '{user}'.")
            raise SqlError(18456, user)
        session = self._new_session(FIRST_SPID)
        session.login = login
        session.login_name = session.original_login = login.name
        session.app_name, session.host_name, session.host_pid = app, host, client_pid
        session.initial_database = database
        try:
            self.enter_database(session, database or login.default_database)
        except SqlError:
            self.forget(session)
            raise SqlError(4060, database) from None
        return session

    def connect(self, database: str = "") -> Session:
        """An in-process session of sa whose results go to a ``Collector``."""
        session = self._new_session(FIRST_SPID)
        session.login = self.server.logins[USER]
        session.login_name = session.original_login = USER
        session.app_name, session.host_name = "in-process", "localhost"
        session.sink = Collector()
        session.initial_database = database
        self.enter_database(session, database or "master")
        return session

    def _new_session(self, first: int, stream: str = "") -> Session:
        number = first
        while number in self.sessions:
            number += 1
        registry, put = self.registry, self.engine.journal.put
        generation = registry.generations.get(number, 0) + 1
        put(None, registry, registry.generations, number, generation)
        session = Session(self.engine, self, number, stream or f"{number}.{generation}")
        put(None, registry, registry.sessions, number, session)
        return session

    def forget(self, session: Session) -> None:
        """Take a session off the list with what it owned; its id may be given out again."""
        self.server.session_ended(session)
        self.engine.journal.put(None, self.registry, self.sessions, session.id, MISSING)

    def background_session(self, stream: str) -> Session:
        """A session of the instance itself (activated tasks), with a low id."""
        session = self._new_session(21, stream)
        session.background = True
        session.login = self.server.logins[USER]
        return session

    def disconnect(self, session: Session) -> None:
        """End a session: its transaction is rolled back, its id may be given out again."""
        if self.sessions.get(session.id) is session:
            try:
                session.abandon()
            except Exception as error:
                self.defects.note(f"{session!r}, while it left", error)
                session.let_go()
            self.forget(session)

    def kill(self, session_id: int) -> None:
        """KILL: the session's work is rolled back and its connection ends with 596.

        Raises SqlError 6106 when there is none, 6107 for a task of the server itself.
        """
        session = self.sessions.get(session_id)
        if session is None:
            raise SqlError(6106, session_id)
        if session.is_system:
            raise SqlError(6107)
        session.killed()

    @property
    def files(self) -> dict[str, bytes]:
        """Files that statements name, by lower-case path: BACKUP CERTIFICATE writes them here and
        never to a disk; what is put in can be read by CREATE CERTIFICATE FROM FILE.
        """
        return self.server.files

    # ------------------------------------------------------------------ running
    def ready(self, session: Session) -> None:
        """The session can go on (the lock manager, queues and timers say so)."""
        if not self.searched:
            self._ready.append(session)

    def forget_ready(self) -> None:
        """Nobody is ready: a snapshot, taken while nobody was, has come back."""
        self._ready.clear()

    def pump(self, max_steps: int = 1000) -> bool:
        """Run ready sessions in turn, at most about ``max_steps`` statements.

        Returns True when there is more to do at once.
        """
        left, quantum, lanes = max_steps, self.quantum, self.lanes
        self.fire_timers()
        lanes.begin_turn()
        while self._ready and left > 0 and not lanes.share_taken:
            session = self._ready.popleft()
            if session.wait is None and session.frames and session.id not in lanes.waiting:
                left -= quantum
                if lanes.run(session, quantum) == READY:
                    self._ready.append(session)
                    if session.portions is not None:  # what it has sent goes out before the rest
                        break
            if not self._ready:
                self.fire_timers()
        if lanes.waiting:
            session, state = lanes.next_turn()
            if state == READY:
                self._ready.append(session)
        return bool(self._ready or lanes.waiting)

    def run(self) -> None:
        """Run until nothing is ready; time does not move by itself."""
        while self.pump():
            pass

    def advance(self, seconds: float) -> None:
        """Move the virtual clock, stopping at every timer on the way, and run what is due."""
        end = self.clock.now() + seconds
        self.run()
        while (due := self.engine.timers.next_due()) is not None and due <= end:
            cast(VirtualClock, self.clock).advance(max(0.0, due - self.clock.now()))
            self.run()
        cast(VirtualClock, self.clock).advance(end - self.clock.now())
        self.run()

    def snapshot(self) -> Snapshot:
        """A moment to come back to, once nothing is ready to run (see ``Snapshot``)."""
        return Snapshot(self)

    def next_due(self) -> float | None:
        """Seconds until the next timer, 0 when it is overdue; None when there is none."""
        due = self.engine.timers.next_due()
        return None if due is None else max(0.0, due - self.clock.now())

    def fire_timers(self) -> None:
        """Let everything happen that is due by now."""
        timers = self.engine.timers
        due = timers.next_due()
        if due is None or due > self.clock.now():
            return
        for kind, key in timers.pop_due(self.clock.now()):
            self.fire(kind, key)

    def fire(self, kind: str, key: Any) -> None:
        """One timer: a session's wait, or something of a broker's, which is nobody's doing.

        key: the session of a "wait", else a tuple that begins with the id of a database.
        """
        try:
            if kind == "wait":
                key.time_out()
            else:
                self._timer_broker(kind, key)
        except Exception as error:
            if kind == "wait":
                key.broken(error)
            else:
                self.defects.note(f"timer {kind}", error)

    def _timer_broker(self, kind: str, key: tuple[Any, ...]) -> None:
        database_id = key[0]
        database = self.server.database_by_id(database_id)
        if database is not None and database.broker is not None:
            database.broker.timer_due(kind, key)

    def _finished(self, session: Session) -> None:
        session.program_finished()

    # ------------------------------------------------------------------ what sessions ask
    def parse(self, text: str, quoted_identifier: bool = True) -> ast.Batch:
        """The syntax tree of a batch; errors become the server's (102, 156 ...).

        quoted_identifier: SET QUOTED_IDENTIFIER as it stands when the batch begins.
        """
        key: str | tuple[str, bool] = text if quoted_identifier else (text, False)
        batch = _TREES.get(key)
        if batch is None:
            try:
                batch = parse_batch(text, 1, quoted_identifier)
            except TsqlSyntaxError as error:
                raise SqlError(
                    error.number, text=error.message, line=error.line, severity=15, aborts="batch"
                ) from None
            _TREES.put(key, batch)
        return batch

    def next_descriptor(self, session: Session) -> int:
        """A transaction descriptor, from the session's own stream of ids."""
        session.transactions += 1
        return session.id << 32 | session.transactions

    def database(self, name: str) -> Database:
        """The database of that name. Raises SqlError 911."""
        return self.server.database(name)

    def use_database(self, session: Session, name: str) -> None:
        """USE: changes the context and tells the client (5701). Azure SQL Database: 40508."""
        old = session.database
        if self.product.engine_edition == AZURE_DATABASE and name.lower() != old.name.lower():
            raise SqlError(40508)
        self.enter_database(session, name)
        session.sink.env("database", session.database.name, old.name)
        session.info(f"Changed database context to '{session.database.name}'.", 0, 5701, 2)

    def enter_database(self, session: Session, name: str) -> None:
        """Make a database the session's; 911 when there is none, 942 and 976 when it is not open, 916
        without a user there, 923 or 924 when its mode forbids it. Raises Wait while ALTER DATABASE
        wants it alone.
        """
        database = self.server.database(name)
        user = security.user_of(session, database)
        if user is None:
            raise SqlError(916, session.login_name, database.name)
        self.server.check_single_user(session, database)
        if database.user_access == "RESTRICTED_USER" and not session.background:
            security.check_restricted(database, user)
        before = session.database
        if before is not database:
            if self.engine.locks.running is session:
                share_database(session, database)
            if before is not None:
                leave_database(session, before)
        session.database = database
        session.user = user

    def check_permission(
        self, session: Session, permission: str, securable: Any, columns: tuple[int, ...] = ()
    ) -> None:
        """Raises 229 and its kin when the current principal may not."""
        security.check(session, permission, securable, columns)

    def catalog_function(self, session: Session, name: str, args: tuple[Any, ...]) -> Any:
        """A built-in function that reads the catalog; it takes and gives any T-SQL value."""
        return CATALOG_FUNCTIONS[name](session, args)

    def user_message(self, number: int) -> UserMessage:
        """A message for RAISERROR(number, ...): of sp_addmessage, or the server's own.

        Raises SqlError 2732 below 13000 and for 50000, 18054 when there is none.
        """
        if number < FIRST_RAISED or number == 50000:
            raise SqlError(2732, number, FIRST_RAISED, 2147483647)
        found = self.server.messages.get((number, 1033))
        if found is None and number in MESSAGES and number < 50000:
            found = UserMessage(MESSAGES[number][1], MESSAGES[number][0])
        if found is None:
            raise SqlError(18054, number, 16, 1)
        return cast(UserMessage, found)

    def may_log(self, session: Session) -> bool:
        """RAISERROR WITH LOG: sysadmin or ALTER TRACE (its page), so not as a database's user."""
        return security.has_server_permission(session, "ALTER TRACE")

    def log_error(
        self, session: Session, number: int, severity: int, state: int, text: str
    ) -> None:
        """RAISERROR WITH LOG."""
        self.error_log.write(
            f"spid{session.id}", f"Error: {number}, Severity: {severity}, State: {state}. {text}"
        )

    # ------------------------------------------------------------------ inside
    def _new_broker(self, database: Database) -> Broker:
        broker = Broker(self.engine, database)
        broker.activate = self.activation.start
        broker.poisoned = self.queue_tasks.start
        broker.log = self.error_log.write
        return broker

    def _deadlock(self, deadlock: Deadlock) -> None:
        self.server.keep_report(redial_broker.catalog.report(self, deadlock))

    def parts(self) -> list[Part]:
        """Everything the explorer hashes, in a fixed order.

        The members of a container are listed again only when its mark is another object. A digest
        can be such a mark: a rewind brings back the very digest that belonged to the very same
        members. A database has a better one, its schema version.
        """
        found: list[Part] = [
            self.server,
            self.server.transport,
            self.engine.locks,
            self.engine.timers,
            self.engine.transactions.versions,
        ]
        server, registry = self.server, self.registry
        if self.engine.journal.counted:
            found += self._members(self.error_log, server.digest or server.hash(), self._counted)
        for database in self._members(server, server.digest or server.hash(), _databases):
            found.append(database)
            found += self._members(database, database.schema_version, _objects)
            broker = database.broker
            if broker is not None:
                found += self._members(broker, broker.digest or broker.hash(), Broker.parts)
        found += self._members(registry, registry.digest or registry.hash(), _sessions)
        if self.defects.found:
            found.append(self.defects)
        return found

    def _counted(self, _: ErrorLog) -> list[Part]:
        """What counts only where T-SQL can read it."""
        counters = [d.broker.counters for d in self.server.databases.values() if d.broker]
        return [
            self.error_log,
            *(database.rowversions for database in _databases(self.server)),
            *dict.fromkeys([self.server.transport.counters, *counters]),
        ]

    def _members(self, container: _C, mark: object, of: Callable[[_C], list[_M]]) -> list[_M]:
        known = self._listed.get(container)
        if known is None or known[0] is not mark:
            known = self._listed[container] = (mark, of(container))
        return known[1]


def _databases(server: Server) -> list[Database]:
    return sorted(server.databases.values(), key=lambda database: database.id)


def _objects(database: Database) -> list[Part]:
    """The indexes of tables, and whatever else of a database changes by itself."""
    found: list[Part] = []
    for _, item in sorted(database.objects.items()):
        if isinstance(item, Table):
            found += [item, item.rows, *item.indexes]
        elif isinstance(item, Part):
            found.append(item)
    return found


def _sessions(registry: Registry) -> list[Part]:
    return [session for _, session in sorted(registry.sessions.items())]
