"""What belongs to the instance and not to one database: databases, logins, server permissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import SqlError
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.kernel import Engine
from redial_broker.engine.state import SAME, definition, derived, journaled, made, plain, state
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.authority import may_send, no_entry
from redial_broker.exec.database import Database
from redial_broker.exec.principals import (
    FIRST_LOGIN,
    GUEST,
    SERVER_ROLES,
    Login,
    login_sid,
    password_digest,
    server_roles,
)
from redial_broker.exec.product import USUAL, Product
from redial_broker.exec.tokens import SERVER, SERVER_PUBLIC
from redial_broker.ssb.transport import Transport

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

SYSTEM_DATABASES = ("master", "tempdb", "model", "msdb")
_versions = count(1)  # never rewound: one is never used for two different sets of rights


@definition()
@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message of sp_addmessage."""

    text: str
    severity: int
    logged: bool = False
    """RAISERROR writes it to the ERRORLOG always."""


def _counted_locks(counts: dict[tuple[Transaction, tuple[Any, ...]], int]) -> Any:
    return sorted([(str(t.owner.id), repr(key), n) for (t, key), n in counts.items()])


class Server(Part):
    """Databases and logins.

    databases: {lower name: Database}; logins: {lower name: Login}, server roles among them;
    members: {(role id, member id): True}; permissions: {(class, major id, permission, grantee id):
    ((state, grantor id), ...)}; security_version: changes with any of these; files: {lower path:
    content}, what BACKUP CERTIFICATE wrote (never on a disk); sessions: gives the live sessions
    (set by the instance); new_broker: makes the broker of a database (set by the instance);
    product: the version and edition it says it is; deadlocks: reports as the ring buffer has them;
    messages: of sp_addmessage; session_locks: {session id: stand-in transaction that owns the
    session's application locks, and its share in a database somebody wants alone}; applock_counts:
    {(owner, lock): times it was asked for}; looked_up: the databases somebody has asked for by name
    since the set was last emptied (no state: the compiler asks what a statement depends on); probed:
    texts of procedures that CREATE need not compile (no state either: ``ddl.probing``).
    """

    __slots__ = (
        "applock_counts",
        "configuration",
        "databases",
        "deadlocks",
        "engine",
        "files",
        "logins",
        "looked_up",
        "members",
        "messages",
        "new_broker",
        "next_database",
        "next_login",
        "permissions",
        "probed",
        "product",
        "security_version",
        "sequential",
        "session_locks",
        "sessions",
        "transport",
    )
    STATE = state(
        journaled("databases", show=sorted),
        journaled("logins", "members", "permissions", "files", "messages", show=plain),
        journaled("configuration", show=plain),
        journaled("session_locks", show=sorted),
        journaled("applock_counts", show=_counted_locks),
        journaled("next_database", "next_login", "sequential"),
        journaled("deadlocks", show=plain, when="logs"),
        journaled("security_version", hidden="a number for caches: logins show themselves"),
        derived("looked_up", "probed", why="asked by the compiler, and by nobody later"),
        made("transport", hidden="a part of its own"),
        made("engine", "new_broker", "sessions", hidden=SAME),
        made("product", hidden="chosen when the instance was made"),
        journal="engine.journal",
    )

    def __init__(
        self,
        engine: Engine,
        new_broker: Callable[[Database], Any] | None = None,
        product: Product = USUAL,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.product = product
        self.new_broker = new_broker
        self.sessions: Callable[[], list[Any]] = list
        self.databases: dict[str, Database] = {}
        self.looked_up: set[Database] = set()
        self.probed: set[str] | None = None
        self.logins: dict[str, Login] = server_roles()
        self.members: dict[tuple[int, int], bool] = {}
        # public has VIEW ANY DATABASE on every server (sys.databases page).
        self.permissions: dict[tuple[int, int, str, int], tuple[tuple[str, int], ...]] = {
            (SERVER, 0, "VIEW ANY DATABASE", SERVER_PUBLIC): (("G", 1),)
        }
        self.security_version = next(_versions)
        self.files: dict[str, bytes] = {}
        self.messages: dict[tuple[int, int], Any] = {}
        self.session_locks: dict[int, Transaction] = {}
        self.applock_counts: dict[tuple[Transaction, tuple[Any, ...]], int] = {}
        self.deadlocks: list[Any] = []
        self.sequential = 0
        self.configuration: dict[str, tuple[int, int]] = {}
        self.transport = Transport(engine.journal)
        self.next_database = 1
        self.next_login = FIRST_LOGIN
        for name in SYSTEM_DATABASES:
            database = self.create_database(None, name)
            if database.broker is not None and name in {"master", "model"}:
                database.broker.enabled = False  # as on a server
            if name == "msdb":
                database.options["trustworthy"] = True  # alone of all (ALTER DATABASE SET page)
            if name != "model":
                database.permissions[0, 0, 0, "CONNECT", GUEST] = (("G", 1),)
            if name in {"master", "tempdb", "msdb"}:
                database.options["db_chaining"] = True

    # ------------------------------------------------------------------ databases
    def create_database(
        self,
        transaction: Transaction | None,
        name: str,
        template: Database | None = None,
        owner: str = "sa",
    ) -> Database:
        """A new database, empty or made from a template. Raises SqlError 1801 when it exists."""
        if name.lower() in self.databases:
            raise SqlError(1801, name, state=3)
        number = self.next_database
        self.engine.journal.assign(None, self, "next_database", number + 1)
        if template is not None:
            database = template.copy(number, name, self.engine, self)
        else:
            database = Database(self.engine, number, name, self)
            database.owner = owner
            database.options["compatibility_level"] = self.product.newest_level
            if self.new_broker is not None:
                database.broker = self.new_broker(database)
        if database.broker is not None:
            database.broker.may_send, database.broker.no_entry = may_send, no_entry
            database.broker.has_certificate = database.owns_certificate
            database.broker.counters = self.transport.counters
        self.engine.journal.put(transaction, self, self.databases, name.lower(), database)
        return database

    def drop_database(self, transaction: Transaction | None, name: str) -> None:
        """Take a database away. Raises SqlError 3701 when there is none, 3708 for a system one."""
        database = self.databases.get(name.lower())
        if database is None:
            raise SqlError(3701, "drop", "database", name)
        if name.lower() in SYSTEM_DATABASES:
            raise SqlError(3708, "drop", "database", name)
        self.engine.journal.put(transaction, self, self.databases, name.lower(), MISSING)

    def database(self, name: str) -> Database:
        """The database of that name. Raises SqlError 911, and 942 or 976 when it is not open."""
        found = self.databases.get(name.lower())
        if found is None:
            raise SqlError(911, name)
        found.check_open()
        self.looked_up.add(found)
        return found

    def database_by_id(self, number: int) -> Database | None:
        """The database with that id, None when there is none."""
        return next((d for d in self.databases.values() if d.id == number), None)

    def check_single_user(self, session: SessionState, database: Database) -> None:
        """Raise SqlError 924 when a SINGLE_USER database has its one session already."""
        if database.user_access == "SINGLE_USER" and any(
            other is not session and other.database is database and not other.background
            for other in self.sessions()
        ):
            raise SqlError(924, database.name)

    def next_sequential_guid(self) -> str:
        """NEWSEQUENTIALID(): greater than every one before; the first byte counts fastest, as it is
        the least in the order of uniqueidentifier (its page). Never given back.
        """
        number = self.sequential + 1
        self.engine.journal.assign(None, self, "sequential", number)
        tail = stream_guid(self.engine.seed, "newsequentialid", 0)[8:]
        return number.to_bytes(4, "little").hex().upper() + tail

    # ------------------------------------------------------------------ logins
    def create_login(
        self,
        transaction: Transaction | None,
        name: str,
        password: str,
        default_database: str = "master",
        roles: frozenset[str] = frozenset(),
        sid: bytes | None = None,
        policy: bool = False,
    ) -> Login:
        """A new SQL login. Raises SqlError 15025 when the name is taken."""
        number = 1 if name.lower() == "sa" else self.next_login
        sid = b"\x01" if number == 1 else sid or login_sid(name, number)
        login = Login(
            number, name, sid, password_digest(sid, password), default_database, policy=policy
        )
        self.add_login(transaction, login)
        for role in sorted(roles):
            self.engine.journal.put(
                transaction, self, self.members, (SERVER_ROLES[role], number), True
            )
        return login

    def add_login(self, transaction: Transaction | None, login: Login) -> None:
        """Keep a login or server role, made with ``next_login``. Raises SqlError 15025."""
        if login.name.lower() in self.logins:
            raise SqlError(15025, login.name)
        journal = self.engine.journal
        journal.assign(None, self, "next_login", self.next_login + 1)
        journal.put(transaction, self, self.logins, login.name.lower(), login)
        if login.type != "R":
            # CREATE LOGIN gives CONNECT SQL (GRANT Server Permissions page).
            journal.put(
                transaction,
                self,
                self.permissions,
                (SERVER, 0, "CONNECT SQL", login.id),
                (("G", 1),),
            )
        self.bump(transaction)

    def login_by_id(self, number: int) -> Login | None:
        """The login or server role with that id."""
        return next((x for x in self.logins.values() if x.id == number), None)

    def bump(self, transaction: Transaction | None) -> None:
        """Say that logins, roles or server permissions have changed."""
        self.engine.journal.assign(transaction, self, "security_version", next(_versions))

    # ------------------------------------------------------------------ sessions
    def session_holder(self, session: SessionState) -> Transaction:
        """Who owns a session's application locks: they outlive its transactions."""
        found = self.session_locks.get(session.id)
        if found is None:
            found = Transaction(session, 0, "session")
            self.engine.journal.put(None, self, self.session_locks, session.id, found)
        return found

    def session_ended(self, session: SessionState) -> None:
        """A session is gone, or was reset: its application locks go with it."""
        tempdb = self.databases["tempdb"]
        for item in [o for o in tempdb.objects.values() if getattr(o, "creator", 0) == session.id]:
            tempdb.remove(None, item)  # ##temporary tables live as long as their creator
        holder = self.session_locks.get(session.id)
        if holder is not None:
            self.engine.locks.release_all(holder)
            self.engine.journal.put(None, self, self.session_locks, session.id, MISSING)

    def keep_report(self, report: Any) -> None:
        """Keep a deadlock report; the ring holds the last hundred."""
        self.engine.journal.assign(None, self, "deadlocks", [*self.deadlocks[-99:], report])
