"""A database: its objects by name, principals and permissions, options, versions, its broker."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.collation import DEFAULT_COLLATION
from redial_broker.engine.errors import SqlError
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.journal import MISSING
from redial_broker.engine.kernel import Engine
from redial_broker.engine.state import SAME, derived, journaled, made, plain, state
from redial_broker.engine.storage import Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.types import SqlType
from redial_broker.exec import database_content
from redial_broker.exec.database_state import DatabaseState
from redial_broker.exec.database_template import fill
from redial_broker.exec.endings import watch
from redial_broker.exec.objects import (
    CONSTRAINT_KINDS,
    MASTER_TABLES,
    SYSTEM_VIEWS,
    Module,
    Schema,
    Synonym,
    VirtualTable,
)
from redial_broker.exec.principals import DB_OWNER, FIRST_USER, Principal, fixed_principals
from redial_broker.exec.rowversions import Rowversions
from redial_broker.exec.xml.schemas import FIRST_COLLECTION, XmlSchemaCollection, typed_xml

if TYPE_CHECKING:
    from typing import TypeVar

    from redial.tsql import ast
    from redial_broker.exec.server import Server
    from redial_broker.exec.session import SessionState
    from redial_broker.ssb.broker import Broker

    _M = TypeVar("_M", bound=Module)

FIRST_OBJECT = 100
FIRST_SCHEMA = 5
FIRST_USER_TYPE = 257
FIRST_KEY = 256
"""Ids of certificates and keys start here (sys.certificates as seen on servers)."""

SYSTEM_SCHEMAS = {"sys": 4, "information_schema": 3}
OLD_SYSTEM_TABLES = frozenset({"sysobjects", "sysdatabases"})
"""Views of schema sys that are found under dbo and without a schema too: they were tables once
(System Compatibility Views page)."""

MASTER_ID = 1
"""database_id of master (sys.databases page)."""

_versions = count(1)  # never rewound: a schema version is never used for two different schemas


class Database(DatabaseState):
    """One database.

    objects: {(schema, name) in lower case: Table, Module, Sequence, Constraint, ssb Queue ...};
    types: the same for alias and table types; collections: for XML schema collections; schemas:
    {lower name: Schema}; principals: {lower
    name: Principal}; members: {(role id, member id): True}; permissions: {(class, major id, minor
    id, permission, grantee id): ((state G, W or D; grantor id), ...)}; keys: certificates and keys
    {(kind, lower name): definition}; signatures: {object id: ((thumbprint, counter, signature),
    ...)}; master_key: the database master key or None; properties: extended properties
    {(class, major id, minor id, name): value}; dates: {object id: (created, modified)}; owners:
    {object id: principal id} where it is not the schema's; broker: its ssb.Broker; changing: what
    an open transaction has defined anew or dropped {(schema, name): (transaction, object id)};
    ddl_triggers: those ON DATABASE by lower-case name.
    """

    __slots__ = (
        "_allowed",
        "_next_object",
        "broker",
        "changing",
        "collections",
        "created",
        "dates",
        "ddl_triggers",
        "engine",
        "id",
        "keys",
        "master_key",
        "members",
        "next_collection",
        "next_key",
        "next_principal",
        "next_schema",
        "next_type",
        "objects",
        "owners",
        "permissions",
        "principals",
        "properties",
        "recovery",
        "rowversions",
        "schema_version",
        "schemas",
        "server",
        "signatures",
        "types",
    )
    STATE = state(
        made("id"),
        journaled("objects", show=database_content.objects),
        journaled(
            "types",
            "schemas",
            "principals",
            "members",
            "permissions",
            "keys",
            "signatures",
            "master_key",
            "properties",
            "owners",
            "ddl_triggers",
            show=plain,
        ),
        journaled("collections", show=database_content.collections),
        journaled("recovery"),
        journaled("changing", show=database_content.changing),
        journaled(
            "_next_object",
            "next_collection",
            "next_key",
            "next_principal",
            "next_schema",
            "next_type",
        ),
        journaled("dates", show=plain, when="times"),
        made("created", show=plain, when="times"),
        journaled("schema_version", hidden="a number for caches: the definitions show themselves"),
        made("broker", "rowversions", hidden="a part of its own"),
        derived("_allowed", why="what was allowed under definitions and permissions as they are"),
        made("engine", "server", hidden=SAME),
        journal="engine.journal",
    )

    def __init__(
        self, engine: Engine, database_id: int, name: str, server: Server | None = None
    ) -> None:
        super().__init__(name)
        self.engine = engine
        self.id = database_id
        self.server = cast("Server", server)
        self.created = engine.clock.utc()
        self.objects: dict[tuple[str, str], Any] = {}
        self.changing: dict[tuple[str, str], tuple[Transaction, int]] = {}
        self.ddl_triggers: dict[str, Any] = {}
        self.types: dict[tuple[str, str], Any] = {}
        self.collections: dict[tuple[str, str], XmlSchemaCollection] = {}
        self.schemas: dict[str, Schema] = {
            "dbo": Schema(1, "dbo"),
            "guest": Schema(2, "guest", 2),
            "information_schema": Schema(3, "INFORMATION_SCHEMA", 3),
            "sys": Schema(4, "sys", 4),
        }
        self.principals: dict[str, Principal] = fixed_principals()
        self.members: dict[tuple[int, int], bool] = {(DB_OWNER, 1): True}
        self.permissions: dict[tuple[Any, ...], tuple[tuple[str, int], ...]] = {}
        self.keys: dict[tuple[str, str], Any] = {}
        self.signatures: dict[int, tuple[tuple[bytes, bool, bytes], ...]] = {}
        self.master_key: Any = None
        self.next_key = FIRST_KEY
        self.properties: dict[tuple[Any, ...], Any] = {}
        self.dates: dict[int, tuple[Any, Any]] = {}
        self.owners: dict[int, int] = {}
        self.options = {
            "recursive_triggers": False,
            "read_only": False,
            "ansi_null_default": False,
            "files": (),
            "rcsi": False,
            "snapshot": False,
            "trustworthy": False,
            "honor_broker_priority": False,
            "db_chaining": False,
            "query_store": False,
            "collation": DEFAULT_COLLATION,
            "compatibility_level": 160,
        }
        self.recovery = "FULL"
        self.schema_version = next(_versions)
        self._allowed: tuple[int, dict[Any, Any]] = (0, {})
        self._next_object = FIRST_OBJECT
        self.next_principal = FIRST_USER
        self.next_schema = FIRST_SCHEMA
        self.next_type = FIRST_USER_TYPE
        self.next_collection = FIRST_COLLECTION
        self.rowversions = Rowversions(engine.journal)
        self.broker: Broker = cast("Broker", None)  # ``server.create_database`` makes it
        watch(engine)

    # ------------------------------------------------------------------ look-ups
    @property
    def rcsi(self) -> bool:
        """READ_COMMITTED_SNAPSHOT."""
        return bool(self.options["rcsi"])

    def resolve(
        self,
        schema: str | None,
        name: str,
        session: SessionState | None = None,
        home: str | None = None,
    ) -> Any:
        """The table, queue, view, module or system view of that name; None when there is none.

        Without a schema: ``home``, the schema of the module the name stands in, or else the user's
        default schema, then dbo. Constraints have no name a query could use, so they are not found.
        """
        lowered = name.lower()
        if schema is not None:
            if self.changing:
                self._await_change((schema.lower(), lowered), session)
            found = self.objects.get((schema.lower(), lowered))
            if found is None:
                old = schema.lower() == "dbo" and lowered in OLD_SYSTEM_TABLES
                found = self._system_view("sys" if old else schema.lower(), lowered)
        else:
            user = getattr(session, "user", None)
            first = (home or (user.default_schema if user is not None else None) or "dbo").lower()
            if self.changing:
                self._await_change((first, lowered), session)
                self._await_change(("dbo", lowered), session)
            found = self.objects.get((first, lowered)) or self.objects.get(("dbo", lowered))
            if found is None and lowered in OLD_SYSTEM_TABLES:
                return self._system_view("sys", lowered)
        if found is None and lowered in MASTER_TABLES and self.id == MASTER_ID:
            return MASTER_TABLES[lowered] if (schema or "dbo").lower() == "dbo" else None
        if found is not None and getattr(found, "kind", "") in CONSTRAINT_KINDS:
            return None
        return found

    def follow(self, found: Any, session: SessionState | None = None) -> Any:
        """What a synonym stands for; anything else is itself. Raises SqlError 5313, 911."""
        if not isinstance(found, Synonym):
            return found
        target = found.target
        home = self if target.database is None else self.server.database(target.database)
        base = home.resolve(target.schema, target.name, session)
        if base is None or isinstance(base, Synonym):
            raise SqlError(5313, f"{found.schema}.{found.name}")
        return base

    def _await_change(self, key: tuple[str, str], session: SessionState | None) -> None:
        """Wait (Sch-S) for the transaction that has defined or dropped an object of that name.

        Whoever looks a name up sees only committed definitions: Sch-M, held to the end of the
        transaction that changes one, blocks the Sch-S of a compilation ("Transaction locking and
        row versioning guide", schema locks). Raises Wait, SqlError 1222 and 1205.
        """
        pending = self.changing.get(key)
        if pending is None or session is None or pending[0].owner is session:
            return
        locks, resource = self.engine.locks, ("OBJECT", self.id, pending[1])
        if locks.would_wait(session.transaction, resource, "Sch-S"):
            locks.acquire(session.work(), resource, "Sch-S", short=True)

    def note_change(
        self, transaction: Transaction | None, key: tuple[str, str], object_id: int
    ) -> None:
        """Remember until the end of the transaction that it has changed a definition."""
        if transaction is not None and key not in self.changing:
            journal = self.engine.journal
            journal.put(None, self, self.changing, key, (transaction, object_id))
            journal.save(transaction)
            transaction.events.append(("definition", self, key))

    def _system_view(self, schema: str, name: str) -> VirtualTable | None:
        view = SYSTEM_VIEWS.get((schema, name)) if schema in SYSTEM_SCHEMAS else None
        return view.bound(self) if view is not None else None

    def resolve_type(
        self, schema: str | None, name: str, session: SessionState | None = None
    ) -> Any:
        """The alias or table type of that name; None when there is none."""
        lowered = name.lower()
        if schema is not None:
            return self.types.get((schema.lower(), lowered))
        user = getattr(session, "user", None)
        first = (user.default_schema or "dbo").lower() if user is not None else "dbo"
        return self.types.get((first, lowered)) or self.types.get(("dbo", lowered))

    def find_type(self, name: ast.ObjectName, session: SessionState | None = None) -> Any:
        """``resolve_type`` for a name as parsed (``ast.ObjectName``)."""
        return self.resolve_type(name.schema, name.name, session)

    def find_collection(self, name: ast.ObjectName) -> XmlSchemaCollection | None:
        """The XML schema collection of a name as parsed; None when there is none."""
        return self.collections.get(((name.schema or "dbo").lower(), name.name.lower()))

    def xml_type(self, name: ast.ObjectName, document: bool) -> SqlType:
        """The type xml([DOCUMENT] collection). Raises SqlError 6314 for an unknown collection."""
        found = self.find_collection(name)
        if found is None:
            raise SqlError(6314, ".".join(name.parts), aborts="batch")
        return typed_xml(found, document)

    def object_by_id(self, object_id: int) -> Any:
        """The object with that id, types' tables and system views included; None without one."""
        for item in self.objects.values():
            if item.object_id == object_id:
                return item
        for item in self.types.values():
            if object_id and getattr(item, "type_table_id", 0) == object_id:
                return item
        return next((v for v in SYSTEM_VIEWS.values() if v.object_id == object_id), None)

    def schema_of(self, item: Any) -> Schema:
        """The schema an object is in."""
        return self.schemas[item.schema.lower()]

    def owner_of(self, item: Any) -> int:
        """Principal id of an object's effective owner: its own, or its schema's."""
        return self.owners.get(item.object_id) or self.schema_of(item).owner

    def principal(self, principal_id: int) -> Principal | None:
        """The user or role with that id."""
        for principal in self.principals.values():
            if principal.id == principal_id:
                return principal
        return None

    def tables(self) -> list[Table]:
        """User tables, by object id."""
        found = [item for item in self.objects.values() if isinstance(item, Table)]
        return sorted(found, key=lambda table: table.object_id)

    def modules(self, kind: type[_M]) -> list[_M]:
        """Procedures, views and functions of a class, by object id."""
        found = [item for item in self.objects.values() if isinstance(item, kind)]
        return sorted(found, key=lambda module: module.object_id)

    # ------------------------------------------------------------------ changes
    def bump(self, transaction: Transaction | None = None) -> None:
        """Say that definitions have changed: programs bound to the old ones are stale.

        The new version is one never used before, and a rollback brings the old version back with
        the old definitions.
        """
        self.engine.journal.assign(transaction, self, "schema_version", next(_versions))

    def permission_cache(self) -> dict[Any, Any]:
        """What was allowed since definitions and permissions last changed (no state: derived)."""
        version, known = self._allowed
        if version != self.schema_version:
            known = {}
            self._allowed = (self.schema_version, known)
        return known

    def put(self, transaction: Transaction | None, item: Any) -> None:
        """Add an object, or put a new definition in the place of the old one, and bump."""
        journal = self.engine.journal
        self.check_writable()
        now = self.engine.clock.utc()
        key = (item.schema.lower(), item.name.lower())
        created = self.dates.get(item.object_id, (now, now))[0]
        journal.put(transaction, self, self.objects, key, item)
        self.note_change(transaction, key, item.object_id)
        journal.put(transaction, self, self.dates, item.object_id, (created, now))
        if item.object_id in self.signatures:
            # A signature does not outlive a change of its module (ADD SIGNATURE page).
            journal.put(transaction, self, self.signatures, item.object_id, MISSING)
        self.bump(transaction)

    def remove(self, transaction: Transaction | None, item: Any) -> None:
        """Take an object out, with its permissions, properties and dates, and bump."""
        journal = self.engine.journal
        self.check_writable()
        journal.put(
            transaction, self, self.objects, (item.schema.lower(), item.name.lower()), MISSING
        )
        self.note_change(transaction, (item.schema.lower(), item.name.lower()), item.object_id)
        self.forget(transaction, 1, item.object_id)
        journal.put(transaction, self, self.dates, item.object_id, MISSING)
        journal.put(transaction, self, self.owners, item.object_id, MISSING)
        journal.put(transaction, self, self.signatures, item.object_id, MISSING)
        self.bump(transaction)

    def forget(self, transaction: Transaction | None, securable_class: int, major: int) -> None:
        """Drop the permissions and extended properties of something that is dropped."""
        journal = self.engine.journal
        for mapping in (self.permissions, self.properties):
            for key in [k for k in mapping if k[0] == securable_class and k[1] == major]:
                journal.put(transaction, self, mapping, key, MISSING)

    def next_object_id(self) -> int:
        """A new object id; never given out twice, rollback or not."""
        number = self._next_object
        self.engine.journal.assign(None, self, "_next_object", number + 1)
        return number

    def next_number(self, name: str) -> int:
        """Count up ``next_principal``, ``next_schema`` or ``next_type``; not undone by ROLLBACK."""
        number: int = getattr(self, name)
        self.engine.journal.assign(None, self, name, number + 1)
        return number

    def new_guid(self, purpose: str) -> str:
        """A uniqueidentifier of the database itself (broker identity), from its own stream."""
        return stream_guid(self.engine.seed, f"database/{self.name.lower()}/{purpose}", 0)

    @property
    def hears_definitions(self) -> bool:
        """Whether DDL triggers or event notifications may ask for what a statement defines."""
        if self.ddl_triggers:
            return True
        return self.broker is not None and bool(
            self.broker.notifications or self.server.transport.notifications
        )

    def owns_certificate(self, principal: int) -> bool:
        """Whether a user owns a certificate that dialogs may use (dialog security page)."""
        return any(
            kind == "CERTIFICATE" and key.owner == principal and key.active
            for (kind, _), key in self.keys.items()
        )

    # ------------------------------------------------------------------ rowversion
    def next_rowversion(self, transaction: Transaction | None = None) -> bytes:
        """The next rowversion, 8 bytes; not undone by a rollback (rowversion page).

        With its transaction given, MIN_ACTIVE_ROWVERSION knows until the end that it is in use.
        """
        journal, given = self.engine.journal, self.rowversions
        number = given.last + 1
        journal.assign(None, given, "last", number)
        if transaction is not None and transaction not in given.active:
            journal.put(None, given, given.active, transaction, number)
            journal.save(transaction)
            transaction.events.append(("rowversion", self))
        return number.to_bytes(8, "big")

    def last_rowversion(self) -> bytes:
        """@@DBTS: the last rowversion given out."""
        return self.rowversions.last.to_bytes(8, "big")

    def min_active_rowversion(self) -> bytes:
        """The lowest rowversion of an open transaction; @@DBTS + 1 when there is none."""
        given = self.rowversions
        lowest = min(given.active.values(), default=given.last + 1)
        return lowest.to_bytes(8, "big")

    # ------------------------------------------------------------------ templates
    def copy(
        self,
        database_id: int,
        name: str,
        engine: Engine | None = None,
        server: Server | None = None,
    ) -> Database:
        """A fresh database with the definitions of this one, empty tables and no messages.

        Definitions are shared (they are immutable), tables are new, programs compile anew. The
        broker copies itself and gets a new identity.
        """
        engine = engine or self.engine
        twin = Database(engine, database_id, name, server or self.server)
        fill(twin, self)
        if self.broker is not None:
            twin.broker = self.broker.copy(twin)
        return twin
