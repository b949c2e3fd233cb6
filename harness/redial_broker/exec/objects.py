"""What a database contains besides tables and Service Broker objects: modules, types, sequences...

Definitions are immutable: ALTER puts a new object with the same id into ``Database.objects``, so a
rollback and the explorer's rewind only have to put the old one back. What the catalog package adds
(system views, system procedures, catalog functions) is registered here by name, because ``exec``
may use it but must not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from redial_broker.engine.columns import Column
from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.state import definition, journaled, made, state
from redial_broker.engine.types import ResultColumn, SqlType

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState

TYPE_CODES = {
    "TABLE": ("U ", "USER_TABLE"),
    "PROCEDURE": ("P ", "SQL_STORED_PROCEDURE"),
    "VIEW": ("V ", "VIEW"),
    "SCALAR FUNCTION": ("FN", "SQL_SCALAR_FUNCTION"),
    "INLINE FUNCTION": ("IF", "SQL_INLINE_TABLE_VALUED_FUNCTION"),
    "TABLE FUNCTION": ("TF", "SQL_TABLE_VALUED_FUNCTION"),
    "TRIGGER": ("TR", "SQL_TRIGGER"),
    "SEQUENCE": ("SO", "SEQUENCE_OBJECT"),
    "QUEUE": ("SQ", "SERVICE_QUEUE"),
    "PRIMARY KEY": ("PK", "PRIMARY_KEY_CONSTRAINT"),
    "UNIQUE": ("UQ", "UNIQUE_CONSTRAINT"),
    "CHECK": ("C ", "CHECK_CONSTRAINT"),
    "DEFAULT": ("D ", "DEFAULT_CONSTRAINT"),
    "FOREIGN KEY": ("F ", "FOREIGN_KEY_CONSTRAINT"),
    "TABLE TYPE": ("TT", "TYPE_TABLE"),
    "SYNONYM": ("SN", "SYNONYM"),
}
"""(type, type_desc) of sys.objects by kind (sys.objects page)."""

CONSTRAINT_KINDS = frozenset({"PRIMARY KEY", "UNIQUE", "CHECK", "DEFAULT", "FOREIGN KEY"})


@definition()
@dataclass(slots=True, eq=False)
class DatabaseObject:
    """Something with a name in a schema."""

    name: str
    schema: str
    object_id: int
    kind: str
    parent_id: int = 0
    """Object id of the table of a constraint."""


_BY_TEXT = "follows from its text"


@definition(
    node=_BY_TEXT,
    source=_BY_TEXT,
    program="a cache of the compiler",
    database="the one that shows it",
)
@dataclass(slots=True, eq=False)
class Module(DatabaseObject):
    """A procedure, view or function: what CREATE was given, and how it runs."""

    node: Any = None
    """Its syntax tree."""
    text: str = ""
    """The whole definition as sys.sql_modules shows it."""
    source: Any = None
    """Text with line numbers."""
    options: dict[str, bool] = field(default_factory=dict)
    """quoted_identifier and ansi_nulls as they were at CREATE."""
    execute_as: int | None = None
    """None (CALLER) or the id of the principal it runs as (-2: its owner)."""
    program: Any = None
    """The executor's cache."""
    database: Any = None

    @property
    def full_name(self) -> str:
        """schema.name, as error texts print it."""
        return f"{self.schema}.{self.name}"

    @property
    def encrypted(self) -> bool:
        """WITH ENCRYPTION: nobody is shown the definition."""
        return any(option.name == "ENCRYPTION" for option in self.node.options)

    @property
    def shown_text(self) -> str | None:
        """The definition as the catalog shows it."""
        return None if self.encrypted else self.text

    def copy(self, database: Database) -> Module:
        """The same definition, not yet compiled, for a database made from a template."""
        return type(self)(
            self.name,
            self.schema,
            self.object_id,
            self.kind,
            self.parent_id,
            self.node,
            self.text,
            self.source,
            self.options,
            self.execute_as,
            None,
            database,
        )


class Procedure(Module):
    """A stored procedure; its parameters are ``node.parameters``."""

    __slots__ = ()


@definition(query="follows from its text and the columns it was bound to")
@dataclass(slots=True, eq=False)
class View(Module):
    """A view; ``node.query`` is its query, ``node.columns`` the names given or None."""

    query: Any = None
    """The same with * written out as it was when the view was bound, None without *."""
    columns: tuple[Column, ...] = ()
    """As they were then."""

    def copy(self, database: Database) -> View:
        """The same view for a database made from a template, bound as it is here."""
        twin: Any = Module.copy(self, database)
        twin.query, twin.columns = self.query, self.columns
        return cast("View", twin)


class Function(Module):
    """A function of any of the three kinds."""

    __slots__ = ()


@definition(bound="a cache of the compiler")
@dataclass(slots=True, eq=False)
class Trigger(Module):
    """A trigger on the table or view ``parent_id``; ``node`` has its timing and events."""

    disabled: bool = False
    bound: Any = None
    """The column list of the parent its program was compiled against."""
    order: tuple[tuple[str, str], ...] = ()
    """(event, First or Last) of sp_settriggerorder."""

    def copy(self, database: Database) -> Trigger:
        """The same trigger for a database made from a template, enabled or not as it is here."""
        twin: Any = Module.copy(self, database)
        twin.disabled, twin.order = self.disabled, self.order
        return cast("Trigger", twin)


@definition()
@dataclass(frozen=True, slots=True)
class ForeignKey:
    """What a FOREIGN KEY says. Columns by name: ordinals change when columns are dropped."""

    columns: tuple[str, ...]
    referenced_id: int
    """Object id of the table referenced."""
    referenced: tuple[str, ...]
    index: str
    """Name of the unique key there."""
    on_delete: str = "NO ACTION"
    on_update: str = "NO ACTION"
    """on_delete, on_update: NO ACTION, CASCADE, SET NULL or SET DEFAULT."""


@definition(uses="its definition names them")
@dataclass(slots=True, eq=False)
class Constraint(DatabaseObject):
    """A key, check, default or foreign key constraint as an object of its schema."""

    definition: str = ""
    """Text in parentheses."""
    column: int = 0
    """1-based ordinal for a column's own constraint, else 0."""
    system_named: bool = False
    """The server chose the name."""
    foreign: ForeignKey | None = None
    """Of a FOREIGN KEY."""
    disabled: bool = False
    """By NOCHECK CONSTRAINT."""
    trusted: bool = True
    """All rows are known to comply."""
    uses: tuple[Any, ...] = ()
    """Names of the functions and sequences in its expression."""

    @property
    def reference(self) -> ForeignKey:
        """``foreign``, for who knows that it is a FOREIGN KEY."""
        assert self.foreign is not None
        return self.foreign


@definition(target="``parts`` has its name", database="the one that shows it")
@dataclass(slots=True, eq=False)
class Synonym(DatabaseObject):
    """Another name for an object."""

    target: Any = None
    """That object's name as written (``ast.ObjectName``)."""
    database: Any = None
    parts: tuple[str, ...] = ()
    """The same, part by part."""


@dataclass(slots=True, eq=False)
class AliasType(DatabaseObject):
    """CREATE TYPE name FROM type."""

    type: SqlType = None  # type: ignore[assignment]  # always given
    nullable: bool = True
    user_type_id: int = 0
    """Of sys.types."""


@dataclass(slots=True, eq=False)
class TableType(DatabaseObject):
    """CREATE TYPE name AS TABLE; definition.new_table(engine) gives an empty variable."""

    definition: Any = None
    type_table_id: int = 0
    user_type_id: int = 0


class Sequence(Part):
    """A sequence. Values are given out once, rollback or not (CREATE SEQUENCE page)."""

    __slots__ = (
        "cache",
        "cycle",
        "increment",
        "kind",
        "maximum",
        "minimum",
        "name",
        "next_value",
        "object_id",
        "parent_id",
        "schema",
        "start",
        "type",
    )
    STATE = state(
        made("schema", "name", "object_id", "increment", "minimum", "maximum", "cycle"),
        made("type", show=str),
        journaled("start", "next_value"),
        made("cache"),
        made("kind", "parent_id", hidden="the same for every sequence"),
    )

    def __init__(
        self,
        name: str,
        schema: str,
        object_id: int,
        type_: SqlType,
        start: int,
        increment: int,
        minimum: int,
        maximum: int,
        cycle: bool,
    ) -> None:
        super().__init__()
        self.name, self.schema, self.object_id = name, schema, object_id
        self.kind, self.parent_id, self.type = "SEQUENCE", 0, type_
        self.start, self.increment = start, increment
        self.minimum, self.maximum, self.cycle = minimum, maximum, cycle
        self.cache: int | None = None
        self.next_value: int | None = start

    def take(self, journal: Journal) -> int | None:
        """The next value, or None when the sequence has run out (error 11728 is the caller's)."""
        value = self.next_value
        if value is None:
            return None
        following: int | None = value + self.increment
        if not self.minimum <= following <= self.maximum:  # type: ignore[operator]
            wrapped = self.minimum if self.increment > 0 else self.maximum
            following = wrapped if self.cycle else None
        journal.assign(None, self, "next_value", following)
        return value

    def copy(self) -> Sequence:
        """The same sequence, not yet used."""
        twin = Sequence(
            self.name,
            self.schema,
            self.object_id,
            self.type,
            self.start,
            self.increment,
            self.minimum,
            self.maximum,
            self.cycle,
        )
        twin.cache = self.cache
        return twin


@definition()
@dataclass(frozen=True, slots=True)
class Schema:
    """A schema: id, name, and the id of the principal that owns it."""

    schema_id: int
    name: str
    owner: int = 1


@dataclass(slots=True, eq=False)
class VirtualTable:
    """A system view: rows computed from live state.

    compute(session, database) gives all rows; every column carries its coverage mark in the
    catalog's own description.
    """

    name: str
    schema: str
    columns: list[ResultColumn]
    compute: Callable[[Any, Any], list[RowValues]]
    object_id: int = 0
    permission: str | None = None
    """Server permission a reader needs, or None."""
    database: Any = None
    lookups: dict[str, Callable[[Any, Any, Any], list[RowValues]]] = field(default_factory=dict)
    """Column name -> function (session, database, value) that gives the rows with that value
    without making all of them."""
    settle: Callable[[Any, Any], None] | None = None
    """Waits for uncommitted work a plain read must not pass."""
    broker_names: frozenset[str] = frozenset()
    """Columns with names of services, contracts and message types (F-376)."""

    def wait_for_others(self, session: SessionState) -> None:
        """What a plain read does before it reads, and NOLOCK does not. Raises Wait, 1222, 1205."""
        if self.settle is not None and session.isolation != "read uncommitted":
            self.settle(session, self.database or session.database)

    def rows_with(self, session: SessionState, column: str, value: Any) -> list[RowValues]:
        """The rows with a value in a column of ``lookups``, under the same permission."""
        if self.permission is not None:
            session.check_server_permission(self.permission)
        return self.lookups[column](session, self.database or session.database, value)

    def rows(self, session: SessionState) -> list[RowValues]:
        """Current rows, as this session may see them. Raises SqlError 300 without permission."""
        if self.permission is not None:
            session.check_server_permission(self.permission)
        return self.compute(session, self.database or session.database)

    def bound(self, database: Database) -> VirtualTable:
        """This view of ``database``, whatever database the reader is in."""
        return VirtualTable(
            self.name,
            self.schema,
            self.columns,
            self.compute,
            self.object_id,
            self.permission,
            database,
            self.lookups,
            self.settle,
            self.broker_names,
        )


SYSTEM_VIEWS: dict[tuple[str, str], VirtualTable] = {}
"""(schema, name) in lower case -> view; filled by the catalog package when it is imported."""

MASTER_TABLES: dict[str, VirtualTable] = {}
"""Lower-case name -> table of schema dbo that only master has; filled by the catalog."""

SYSTEM_PROCEDURES: dict[str, Any] = {}
"""Lower-case name -> system procedure; filled by the catalog package when it is imported."""

CATALOG_FUNCTIONS: dict[str, Callable[[SessionState, tuple[Any, ...]], Any]] = {}
"""Upper-case name -> function (session, argument values) -> value; filled by the catalog."""


TABLE_FUNCTIONS: dict[
    str, tuple[list[ResultColumn], Callable[[Any, list[Any]], Any], tuple[SqlType, ...]]
] = {}
"""Lower-case name -> (columns, function (session, argument values) -> rows, types of the arguments);
filled by the catalog."""


def type_code(item: Any) -> tuple[str, str]:
    """(type, type_desc) of an object for sys.objects; tables and queues included."""
    return TYPE_CODES[getattr(item, "kind", None) or "TABLE"]
