"""Control of flow, variables, transactions, cursors, EXECUTE and session settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from redial.tsql.ast.expressions import MethodCall, Variable
from redial.tsql.ast.queries import Query

if TYPE_CHECKING:
    from redial.tsql.ast.broker import GetConversationGroup, Receive
    from redial.tsql.ast.ddl import TableElement


@node
class VariableDeclaration(Node):
    """variable [AS] data_type [= value]; data_type None for a cursor variable."""

    variable: Variable
    data_type: DataType | None
    value: Expression | None


@node
class DeclareVariable(Statement):
    """DECLARE of scalar, table-typed and cursor variables."""

    declarations: list[VariableDeclaration]


@node
class DeclareTableVariable(Statement):
    """DECLARE variable TABLE (elements)."""

    variable: Variable
    elements: list[TableElement]


@node
class SetVariable(Statement):
    """SET variable op value."""

    variable: Variable
    op: str
    """= += -= *= /= %= &= |= ^=; value may be a CURSOR definition."""
    value: Expression | CursorDefinition


@node
class SetMethod(Statement):
    """SET @x.modify(..)."""

    call: MethodCall


@node
class SetOption(Statement):
    """SET names ON|OFF."""

    names: list[str]
    """Upper case, e.g. NOCOUNT; STATISTICS IO is "STATISTICS IO"."""
    on: bool


@node
class SetValue(Statement):
    """SET name value, e.g. LOCK_TIMEOUT 5000, DATEFORMAT dmy."""

    name: str
    value: Expression
    """An Identifier for a bare word."""


@node
class SetIsolationLevel(Statement):
    """SET TRANSACTION ISOLATION LEVEL level."""

    level: str
    """Upper case, words separated by one blank."""


@node
class SetIdentityInsert(Statement):
    """SET IDENTITY_INSERT table ON|OFF."""

    table: ObjectName
    on: bool


@node
class If(Statement):
    """IF condition then [ELSE otherwise]."""

    condition: Predicate
    then: Statement
    otherwise: Statement | None


@node
class While(Statement):
    """WHILE condition body."""

    condition: Predicate
    body: Statement


@node
class Block(Statement):
    """BEGIN statements END."""

    statements: list[Statement]


@node
class TryCatch(Statement):
    """BEGIN TRY body END TRY BEGIN CATCH handler END CATCH."""

    body: list[Statement]
    handler: list[Statement]


@node
class Break(Statement):
    """BREAK."""


@node
class Continue(Statement):
    """CONTINUE."""


@node
class Label(Statement):
    """``name:``."""

    name: str


@node
class Goto(Statement):
    """GOTO label."""

    label: str


@node
class Return(Statement):
    """RETURN [value]."""

    value: Expression | None


@node
class Print(Statement):
    """PRINT value."""

    value: Expression


@node
class Throw(Statement):
    """THROW [number, message, state]; all three None for a rethrow."""

    number: Expression | None
    message: Expression | None
    state: Expression | None


@node
class RaiseError(Statement):
    """RAISERROR (arguments) WITH options."""

    arguments: list[Expression]
    options: list[str]
    """LOG, NOWAIT, SETERROR."""


@node
class WaitForDelay(Statement):
    """WAITFOR DELAY delay."""

    delay: Expression


@node
class WaitForTime(Statement):
    """WAITFOR TIME time."""

    time: Expression


@node
class WaitForStatement(Statement):
    """WAITFOR (statement) [, TIMEOUT timeout in milliseconds]."""

    statement: Receive | GetConversationGroup
    timeout: Expression | None


@node
class BeginTransaction(Statement):
    """BEGIN [DISTRIBUTED] TRAN [name] [WITH MARK ['mark']]."""

    name: Identifier | Variable | None
    distributed: bool
    mark: Expression | bool | None


@node
class Commit(Statement):
    """COMMIT [TRAN [name] | WORK] [WITH (DELAYED_DURABILITY = ON|OFF)]."""

    name: Identifier | Variable | None
    delayed_durability: bool | None = None


@node
class Rollback(Statement):
    """ROLLBACK [TRAN [name] | WORK]."""

    name: Identifier | Variable | None
    """Of a transaction or savepoint."""


@node
class SaveTransaction(Statement):
    """SAVE TRAN name."""

    name: Identifier | Variable


@node
class ExecuteArgument(Node):
    """[name =] value [OUTPUT]."""

    name: str | None
    """Parameter as written, with @."""
    value: Expression
    """DefaultValue for DEFAULT. A bare word becomes a string Literal (that is how the server reads
    it)."""
    output: bool


@node
class ExecuteProcedure(Statement):
    """EXEC [return_variable =] procedure [;number] arguments [WITH options]."""

    procedure: ObjectName | Variable
    arguments: list[ExecuteArgument]
    return_variable: Variable | None = None
    number: int | None = None
    options: list[Option] | None = None
    implicit: bool = False
    """First statement of a batch written without EXEC."""


@node
class ExecuteString(Statement):
    """EXEC (parts, arguments) [AS as_kind = as_name] [AT server]."""

    command: Expression
    arguments: list[ExecuteArgument]
    as_kind: str | None = None
    """USER or LOGIN."""
    as_name: Expression | None = None
    server: str | None = None


@node
class ExecuteAs(Statement):
    """EXECUTE AS."""

    kind: str
    """CALLER, USER or LOGIN."""
    name: Expression | None
    no_revert: bool = False
    """NO REVERT."""
    cookie: Variable | None = None
    """WITH COOKIE INTO."""


@node
class Revert(Statement):
    """REVERT [WITH COOKIE = cookie]."""

    cookie: Variable | None


@node
class CursorName(Node):
    """[GLOBAL] name, or a cursor variable."""

    name: str | Variable
    is_global: bool


@node
class CursorDefinition(Node):
    """options CURSOR options FOR query [FOR UPDATE [OF columns] | READ ONLY]."""

    options: list[str]
    """Upper case."""
    query: Query
    for_update: list[str] | None
    """None without FOR UPDATE, else the column list ([] for all)."""
    read_only: bool


@node
class DeclareCursor(Statement):
    """DECLARE name CURSOR ..."""

    name: str
    definition: CursorDefinition


@node
class OpenCursor(Statement):
    """OPEN cursor."""

    cursor: CursorName


@node
class FetchCursor(Statement):
    """FETCH orientation [offset] FROM cursor [INTO variables]."""

    orientation: str
    """NEXT, PRIOR ..."""
    offset: Expression | None
    cursor: CursorName
    into: list[Variable] | None


@node
class CloseCursor(Statement):
    """CLOSE cursor."""

    cursor: CursorName


@node
class DeallocateCursor(Statement):
    """DEALLOCATE cursor."""

    cursor: CursorName


@node
class Use(Statement):
    """USE database."""

    database: str


@node
class Kill(Statement):
    """KILL target."""

    kind: str
    """SESSION, STATS JOB, QUERY NOTIFICATION."""
    target: Expression | None
    status_only: bool
    """STATUSONLY."""


@node
class Dbcc(Statement):
    """DBCC command (arguments) WITH options."""

    command: str
    """Upper case."""
    arguments: list[Expression]
    options: list[Option]


@node
class Checkpoint(Statement):
    """CHECKPOINT [seconds]."""

    duration: Expression | None


@node
class Reconfigure(Statement):
    """RECONFIGURE [WITH OVERRIDE]."""

    override: bool
