"""Tables, indexes, types, sequences, databases and other definitions without a body."""

from __future__ import annotations

from collections.abc import Sequence

from redial.tsql.ast.base import (
    DataType,
    Expression,
    Identifier,
    Node,
    ObjectName,
    Option,
    Predicate,
    Statement,
    node,
)
from redial.tsql.ast.queries import OrderItem


class TableElement(Node):
    """Base of what stands in the parentheses of CREATE TABLE."""

    __slots__ = ()


@node
class Constraint(TableElement):
    """Base of constraints."""

    name: str | None
    """None when the server is to choose one."""


@node
class KeyConstraint(Constraint):
    """PRIMARY KEY or UNIQUE."""

    primary: bool
    """Which."""
    clustered: bool | None
    """None not stated."""
    columns: list[OrderItem] | None
    """None for a column's own key."""
    options: list[Option]
    """Of WITH (..)."""
    filegroup: str | None
    """Of ON."""


@node
class ForeignKey(Constraint):
    """FOREIGN KEY (columns) REFERENCES table (referenced) ON DELETE .. ON UPDATE .."""

    columns: list[str] | None
    """None for a column's own; actions: NO ACTION, CASCADE, SET NULL, SET DEFAULT or None."""
    table: ObjectName
    referenced: list[str] | None
    on_delete: str | None
    on_update: str | None


@node
class CheckConstraint(Constraint):
    """CHECK (condition)."""

    condition: Predicate


@node
class DefaultConstraint(Constraint):
    """DEFAULT value [FOR column] [WITH VALUES]; the latter two only in ALTER TABLE .. ADD."""

    value: Expression
    column: str | None
    with_values: bool = False


@node
class TableIndex(TableElement):
    """INDEX inside a table definition."""

    name: str
    unique: bool
    clustered: bool | None
    columns: list[OrderItem] | None
    """None for a column's own index."""
    include: list[str]
    where: Predicate | None
    options: list[Option]
    filegroup: str | None


@node
class IdentityProperty(Node):
    """IDENTITY (seed, increment); both None when not given (1, 1)."""

    seed: Expression | None
    increment: Expression | None
    not_for_replication: bool


@node
class ColumnDef(TableElement):
    """A column."""

    name: str
    data_type: DataType
    nullable: bool | None = None
    """None when not stated."""
    identity: IdentityProperty | None = None
    collation: str | None = None
    rowguidcol: bool = False
    sparse: bool = False
    constraints: list[Constraint | TableIndex] | None = None
    """Default, key, check, foreign key."""
    restated: bool = False
    """NULL or NOT NULL stands there more than once."""


@node
class ComputedColumn(TableElement):
    """name AS value [PERSISTED [NOT NULL]]."""

    name: str
    value: Expression
    persisted: bool
    nullable: bool | None
    constraints: Sequence[Constraint | TableIndex] | None = None


@node
class CreateTable(Statement):
    """CREATE TABLE."""

    name: ObjectName
    elements: list[TableElement]
    filegroup: str | None
    textimage: str | None
    """filegroup, textimage: of ON and TEXTIMAGE_ON."""
    options: list[Option]
    """Of WITH (..)."""


@node
class AlterTableAdd(Statement):
    """ALTER TABLE .. [WITH CHECK|NOCHECK] ADD elements."""

    name: ObjectName
    check: bool | None
    """None when not stated."""
    elements: list[TableElement]


@node
class AlterTableDropItem(Node):
    """One thing that ALTER TABLE DROP drops."""

    kind: str
    """COLUMN or CONSTRAINT."""
    name: str
    if_exists: bool


@node
class AlterTableDrop(Statement):
    """ALTER TABLE .. DROP items."""

    name: ObjectName
    items: list[AlterTableDropItem]


@node
class AlterTableAlterColumn(Statement):
    """ALTER TABLE .. ALTER COLUMN column."""

    name: ObjectName
    column: ColumnDef


@node
class AlterTableConstraints(Statement):
    """ALTER TABLE .. [WITH CHECK|NOCHECK] CHECK|NOCHECK CONSTRAINT names ([] for ALL)."""

    name: ObjectName
    check: bool | None
    enable: bool
    names: list[str]


@node
class AlterTableTriggers(Statement):
    """ALTER TABLE .. ENABLE|DISABLE TRIGGER names ([] for ALL)."""

    name: ObjectName
    enable: bool
    names: list[str]


@node
class AlterTableSet(Statement):
    """ALTER TABLE .. SET (options) or REBUILD."""

    name: ObjectName
    action: str
    """SET or REBUILD."""
    options: list[Option]


@node
class CreateIndex(Statement):
    """CREATE INDEX."""

    name: str
    table: ObjectName
    columns: list[OrderItem]
    unique: bool = False
    clustered: bool | None = None
    kind: str = ""
    """"", COLUMNSTORE, PRIMARY XML or XML."""
    include: list[str] | None = None
    where: Predicate | None = None
    options: list[Option] | None = None
    filegroup: str | None = None
    using: list[str] | None = None
    """FOR/USING of an XML index."""


@node
class AlterIndex(Statement):
    """ALTER INDEX name ON table action."""

    name: str | None
    """None for ALL."""
    table: ObjectName
    action: str
    """REBUILD, REORGANIZE ..."""
    options: list[Option]


@node
class DropIndexItem(Node):
    """name ON table; the old spelling table.name is taken apart."""

    name: str
    table: ObjectName


@node
class DropIndex(Statement):
    """DROP INDEX."""

    items: list[DropIndexItem]
    if_exists: bool


@node
class CreateStatistics(Statement):
    """CREATE STATISTICS name ON table (columns) WITH options."""

    name: str
    table: ObjectName
    columns: list[str]
    options: list[Option]


@node
class UpdateStatistics(Statement):
    """UPDATE STATISTICS table [names] WITH options."""

    table: ObjectName
    names: list[str]
    options: list[Option]


@node
class CreateTypeAlias(Statement):
    """CREATE TYPE name FROM base [NULL | NOT NULL]."""

    name: ObjectName
    base: DataType
    nullable: bool | None


@node
class CreateTableType(Statement):
    """CREATE TYPE name AS TABLE (elements)."""

    name: ObjectName
    elements: list[TableElement]


@node
class SequenceDefinition(Statement):
    """CREATE or ALTER SEQUENCE."""

    name: ObjectName
    data_type: DataType | None
    options: list[Option]
    """START, RESTART, INCREMENT, MINVALUE, MAXVALUE, CACHE, CYCLE; value is a Literal, True, or
    False for NO MINVALUE and kin."""


@node
class CreateSequence(SequenceDefinition):
    """CREATE SEQUENCE."""


@node
class AlterSequence(SequenceDefinition):
    """ALTER SEQUENCE."""


@node
class CreateSchema(Statement):
    """CREATE SCHEMA name AUTHORIZATION owner statements."""

    name: Identifier
    owner: Identifier | None
    statements: list[Statement]


@node
class AlterSchemaTransfer(Statement):
    """ALTER SCHEMA name TRANSFER kind::object."""

    name: Identifier
    kind: str | None
    """Upper case or None."""
    object: ObjectName


@node
class CreateSynonym(Statement):
    """CREATE SYNONYM name FOR target."""

    name: ObjectName
    target: ObjectName


@node
class CreateXmlSchemaCollection(Statement):
    """CREATE XML SCHEMA COLLECTION name AS schema."""

    name: ObjectName
    schema: Expression


@node
class AlterXmlSchemaCollection(Statement):
    """ALTER XML SCHEMA COLLECTION name ADD schema."""

    name: ObjectName
    schema: Expression


@node
class DropObject(Statement):
    """DROP of any object named by kind."""

    kind: str
    """TABLE, PROCEDURE, VIEW, FUNCTION, TRIGGER, TYPE, SEQUENCE, SYNONYM, SCHEMA, DATABASE, USER,
    ROLE, LOGIN, QUEUE, SERVICE, CONTRACT, MESSAGE TYPE, ROUTE, REMOTE SERVICE BINDING, BROKER
    PRIORITY, ENDPOINT, XML SCHEMA COLLECTION, CERTIFICATE, MASTER KEY (no names), ..."""
    names: list[ObjectName]
    if_exists: bool
    on: str | None = None
    """DATABASE or ALL SERVER for a DDL trigger."""


@node
class CreateDatabase(Statement):
    """CREATE DATABASE."""

    name: Identifier
    containment: str | None
    files: list[list[Option]]
    log: list[list[Option]]
    """files, log: file lists; each file is a list of options."""
    collation: str | None
    options: list[Option]
    attach: str | None = None


@node
class AlterDatabaseSet(Statement):
    """ALTER DATABASE name SET options [WITH termination]."""

    name: Identifier | None
    """None for CURRENT."""
    options: list[Option]
    termination: str | None
    """NO_WAIT, ROLLBACK IMMEDIATE or ROLLBACK AFTER, None not stated."""
    seconds: int | None
    """Of ROLLBACK AFTER."""


@node
class AlterDatabase(Statement):
    """Other forms of ALTER DATABASE."""

    name: Identifier | None
    action: str
    """COLLATE, MODIFY NAME, ADD FILE, ADD LOG FILE, ADD FILEGROUP, REMOVE FILE, REMOVE FILEGROUP,
    MODIFY FILE or SCOPED CONFIGURATION."""
    options: list[Option]
    """What follows."""


@node
class EnableTrigger(Statement):
    """ENABLE or DISABLE TRIGGER names ([] for ALL) ON target; target a word for DDL triggers."""

    enable: bool
    names: list[ObjectName]
    target: ObjectName | str
