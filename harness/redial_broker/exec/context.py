"""What a statement compiler may ask, and the hooks by which it reaches modules above it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec.expressions import Expr, Scope, compile_condition, compile_expression
from redial_broker.exec.program import Program
from redial_broker.exec.registry import Run
from redial_broker.exec.sequences import next_value

if TYPE_CHECKING:
    from redial_broker.exec.closures import Test
    from redial_broker.exec.database import Database
    from redial_broker.exec.options import Options
    from redial_broker.exec.query.compile import QueryCompiler
    from redial_broker.exec.query.subqueries import Subquery
    from redial_broker.exec.session import SessionState


class Hooks:
    """What compiling needs of modules above; each fills in its own part when it is imported."""

    query_compiler: Callable[[Context], QueryCompiler]
    """The class of ``exec.query.compile``. scalar_function(name, context): how a user-defined
    function is called, of ``exec.routines``. firing_ddl(run, node, context): a run followed by the
    DDL triggers of its events, of ``exec.ddl.ddl_triggers``."""
    scalar_function: Callable[[ast.ObjectName, Context], Any]
    firing_ddl: Callable[[Run, Any, Context], Run]


HOOKS = Hooks()


class Context:
    """What a statement compiler may ask: names, expressions, positions."""

    __slots__ = (
        "chain",
        "checking",
        "inherited",
        "nested",
        "nesting",
        "program",
        "scope",
        "session",
        "statement",
        "strict",
        "table_variables",
        "uses_temp",
    )

    def __init__(self, program: Program, scope: Scope, session: SessionState) -> None:
        self.program = program
        self.scope = scope
        self.session = session
        self.table_variables: dict[str, tuple[int, Any]] = {}
        self.uses_temp = False
        self.checking = False  # only to see whether a new module's statement can be compiled
        self.statement: Any = None
        self.strict = False  # it changes a table that wants the required SET options
        self.nesting: Any = None  # the data change in FROM that may stand there
        self.nested: list[Any] | None = None  # takes the OUTPUT of the change that is compiled
        self.chain: int | None = None  # owner of the view that is being read
        self.inherited: tuple[Any, ...] = ()  # table hints given to it
        scope.compile_subquery = self._subquery
        scope.scalar_function = self._scalar_function
        scope.next_value = self._next_value
        scope.xml_type = self._xml_type

    def query_compiler(self) -> QueryCompiler:
        """A new compiler of queries, for one statement."""
        return HOOKS.query_compiler(self)

    def _subquery(self, query: ast.Query, scope: Scope) -> Subquery:
        return self.query_compiler().subquery_hook({}, None)(query, scope)

    def _scalar_function(self, name: ast.ObjectName) -> Any:
        return HOOKS.scalar_function(name, self)

    def _xml_type(self, name: ast.ObjectName, document: bool) -> Any:
        return self.database.xml_type(name, document)

    def _next_value(self, node: ast.NextValueFor) -> Expr:
        return next_value(node, self)

    @property
    def database(self) -> Database:
        """The database names are resolved in."""
        return self.program.database

    @property
    def home(self) -> str | None:
        """The schema of the module that is compiled: names without a schema are first looked for
        there (CREATE PROCEDURE page). None in a batch, where the user's default schema counts."""
        return self.program.schema or None

    @property
    def options(self) -> Options:
        """SET options of the compiling session."""
        return self.session.options

    def expression(self, node: ast.Expression) -> Expr:
        """Compile a scalar expression without columns."""
        return compile_expression(node, self.scope)

    def condition(self, node: ast.Predicate) -> Test:
        """Compile a predicate without columns."""
        return compile_condition(node, self.scope)

    def line(self, node: ast.Node) -> int:
        """The 1-based line of a node."""
        return self.program.source.line(node.pos)

    def fail(self, node: ast.Node, error: SqlError) -> SqlError:
        """The error with the node's line, ready to raise."""
        error.line = self.line(node)
        return error

    def not_supported(self, node: ast.Node, construct: str) -> NotSupported:
        """The refusal of a construct, with its position, ready to raise."""
        return NotSupported(construct, self.program.source.line_column(node.pos))
