"""What belongs to the instance and not to one database: databases, logins, server permissions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.journal import MISSING, Part
from harness.broker.engine.kernel import Engine
from harness.broker.engine.transactions import Transaction
from harness.broker.exec.authority import may_send, no_entry
from harness.broker.exec.database import Database
from harness.broker.exec.principals import FIRST_LOGIN, Login, login_sid, password_digest
from harness.broker.ssb.transport import Transport

SYSTEM_DATABASES = ("master", "tempdb", "model", "msdb")
FIRST_DATABASE = 5


class Server(Part):
    """Databases and logins.

    databases: {lower name: Database}; logins: {lower name: Login}; permissions: {(permission,
    login id): state}; sessions: gives the live sessions (set by the instance); new_broker: makes
    the broker of a database (set by the instance); deadlocks: reports as the ring buffer has them;
    messages: of sp_addmessage; session_locks: {session id: stand-in transaction that owns the
    session's application locks}; applock_counts: {(owner, lock): times it was asked for}.
    """

    __slots__ = (
        "applock_counts", "databases", "deadlocks", "engine", "logins", "messages", "new_broker",
        "next_database", "next_login", "permissions", "session_locks", "sessions", "transport",
    )

    def __init__(self, engine: Engine, new_broker: Callable[[Database], Any] | None = None) -> None:
        super().__init__()
        self.engine = engine
        self.new_broker = new_broker
        self.sessions: Callable[[], list[Any]] = list
        self.databases: dict[str, Database] = {}
        self.logins: dict[str, Login] = {}
        self.permissions: dict[tuple[str, int], str] = {}
        self.messages: dict[tuple[int, int], Any] = {}
        self.session_locks: dict[int, Transaction] = {}
        self.applock_counts: dict[tuple[Transaction, tuple], int] = {}
        self.deadlocks: list[Any] = []
        self.transport = Transport()
        self.next_database = 1
        self.next_login = FIRST_LOGIN
        for name in SYSTEM_DATABASES:
            database = self.create_database(None, name)
            if database.broker is not None and name in {"master", "model"}:
                database.broker.enabled = False  # as on a server
            if name == "msdb":
                database.options["trustworthy"] = True  # alone of all (ALTER DATABASE SET page)

    # ------------------------------------------------------------------ databases
    def create_database(self, transaction: Transaction | None, name: str,
                        template: Database | None = None, owner: str = "sa") -> Database:
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
            if self.new_broker is not None:
                database.broker = self.new_broker(database)
        if database.broker is not None:
            database.broker.may_send, database.broker.no_entry = may_send, no_entry
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
        """The database of that name. Raises SqlError 911."""
        found = self.databases.get(name.lower())
        if found is None:
            raise SqlError(911, name)
        return found

    def database_by_id(self, number: int) -> Database | None:
        """The database with that id, None when there is none."""
        return next((d for d in self.databases.values() if d.id == number), None)

    def check_single_user(self, session: Any, database: Database) -> None:
        """Raise SqlError 924 when a SINGLE_USER database has its one session already."""
        if database.user_access == "SINGLE_USER" and any(
                other is not session and other.database is database and not other.background
                for other in self.sessions()):
            raise SqlError(924, database.name)

    # ------------------------------------------------------------------ logins
    def create_login(self, transaction: Transaction | None, name: str, password: str,
                     default_database: str = "master", roles: frozenset[str] = frozenset(),
                     sid: bytes | None = None) -> Login:
        """A new SQL login. Raises SqlError 15025 when the name is taken."""
        if name.lower() in self.logins:
            raise SqlError(15025, name)
        number = 1 if name.lower() == "sa" else self.next_login
        self.engine.journal.assign(None, self, "next_login", self.next_login + 1)
        login = Login(number, name, b"\x01" if number == 1 else sid or login_sid(name, number),
                      password_digest(name, password), default_database, False, roles)
        self.engine.journal.put(transaction, self, self.logins, name.lower(), login)
        return login

    # ------------------------------------------------------------------ sessions
    def session_holder(self, session: Any) -> Transaction:
        """Who owns a session's application locks: they outlive its transactions."""
        found = self.session_locks.get(session.id)
        if found is None:
            found = Transaction(session, 0, "session")
            self.engine.journal.put(None, self, self.session_locks, session.id, found)
        return found

    def session_ended(self, session: Any) -> None:
        """A session is gone, or was reset: its application locks go with it."""
        holder = self.session_locks.get(session.id)
        if holder is not None:
            self.engine.locks.release_all(holder)
            self.engine.journal.put(None, self, self.session_locks, session.id, MISSING)

    def keep_report(self, report: Any) -> None:
        """Keep a deadlock report; the ring holds the last hundred."""
        self.engine.journal.assign(None, self, "deadlocks", [*self.deadlocks[-99:], report])

    def content(self) -> Any:
        """Databases and logins by name; each database hashes itself."""
        return sorted(self.databases), sorted(self.logins), sorted(self.permissions)
