"""From syntax tree to program: the registry of statement compilers and the flow of control.

``compiles`` registers one compiler per node class; it returns ``run(s, v)``. Statements that name
database objects are compiled at their first execution (deferred name resolution, as the server
does), and again when the database's schema has changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.exec import read_only
from redial_broker.exec.expressions import Expr, Scope, compile_condition, compile_expression
from redial_broker.exec.program import Program, StatementInfo
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState

Run = Callable[["SessionState", list], int | None]
Compile = Callable[[Any, "Context"], Run]


@dataclass(frozen=True, slots=True)
class Registration:
    """How a statement kind is compiled. shared: others can see it; work: it needs a transaction;
    lazy: compiled at first execution."""

    compile: Compile
    shared: bool
    work: bool
    lazy: bool


REGISTRY: dict[type, Registration] = {}


def compiles(
    *nodes: type, shared: bool = True, work: bool | None = None, lazy: bool | None = None
) -> Callable[[Compile], Compile]:
    """Register the compiler of one or more statement classes.

    shared: the statement reads or changes what other sessions can see. work (default: like shared):
    it runs in a transaction, an autocommit one if need be. lazy (default: like shared): it is
    compiled when it is first executed.
    """

    def register(function: Compile) -> Compile:
        entry = Registration(
            function,
            shared,
            shared if work is None else work,
            shared if lazy is None else lazy,
        )
        for node in nodes:
            REGISTRY[node] = entry
        return function

    return register


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
        self.nesting: Any = None  # the data change in FROM that may stand there
        self.nested: list | None = None  # takes the OUTPUT of the change that is compiled
        self.chain: int | None = None  # owner of the view that is being read
        self.inherited: tuple = ()  # table hints given to it
        scope.compile_subquery = self._subquery
        scope.scalar_function = self._scalar_function
        scope.next_value = self._next_value
        scope.xml_type = self._xml_type

    def _subquery(self, query: Any, scope: Scope) -> Any:
        from redial_broker.exec.query.compile import compile_subquery

        return compile_subquery(query, scope, self)

    def _scalar_function(self, name: Any) -> Any:
        from redial_broker.exec.routines import scalar_function

        return scalar_function(name, self)

    def _xml_type(self, name: Any, document: bool) -> Any:
        return self.database.xml_type(name, document)

    def _next_value(self, node: Any) -> Expr:
        from redial_broker.exec.sequences import next_value

        return next_value(node, self)

    @property
    def database(self) -> Any:
        """The database names are resolved in."""
        return self.program.database

    @property
    def home(self) -> str | None:
        """The schema of the module that is compiled: names without a schema are first looked for
        there (CREATE PROCEDURE page). None in a batch, where the user's default schema counts."""
        return self.program.schema or None

    @property
    def options(self) -> Any:
        """SET options of the compiling session."""
        return self.session.options

    def expression(self, node: Any) -> Expr:
        """Compile a scalar expression without columns."""
        return compile_expression(node, self.scope)

    def condition(self, node: Any) -> Callable[[Any, list, tuple], bool | None]:
        """Compile a predicate without columns."""
        return compile_condition(node, self.scope)

    def line(self, node: Any) -> int:
        """The 1-based line of a node."""
        return self.program.source.line(node.pos)

    def fail(self, node: Any, error: SqlError) -> SqlError:
        """The error with the node's line, ready to raise."""
        error.line = self.line(node)
        return error

    def not_supported(self, node: Any, construct: str) -> NotSupported:
        """The refusal of a construct, with its position, ready to raise."""
        return NotSupported(construct, self.program.source.line_column(node.pos))


class ProgramCompiler:
    """Lays statements out as code. One instance per program."""

    def __init__(self, program: Program, session: SessionState) -> None:
        self.program = program
        self.scope = Scope(source=program.source)
        self.context = Context(program, self.scope, session)
        self.loops: list[tuple[int, list[int], int, int]] = []
        self.labels: dict[str, tuple[int, int, int]] = {}
        self.gotos: list[tuple[int, ast.Goto, int, int]] = []
        self.returns: list[int] = []
        self.returns_type: Any = None
        self.try_depth = 0
        self.catch_depth = 0

    # ------------------------------------------------------------------ variables
    def declare(self, name: str, type_: Any) -> int:
        """Give a variable a slot; 134 when the name is taken."""
        key = name.lower()
        if key in self.scope.variables:
            raise SqlError(134, name, aborts="batch")
        slot = len(self.program.slots)
        self.program.slots.append((name, type_))
        self.scope.variables[key] = (slot, type_)
        return slot

    def declare_table(self, name: str, definition: Any) -> int:
        """Give a table variable a slot; the table itself is made with each frame."""
        slot = self.declare(name, None)
        self.program.table_slots.append((slot, definition))
        self.context.table_variables[name.lower()] = (slot, definition)
        return slot

    # ------------------------------------------------------------------ code
    def emit(self, node: Any, step: Run, shared: bool = False) -> int:
        """Append one step; returns its program counter."""
        pc = len(self.program.code)
        self.program.code.append(step)
        line = self.program.source.line(node.pos) if node is not None else 0
        self.program.infos.append(StatementInfo(node, line, shared, pc + 1))
        return pc

    def here(self) -> int:
        """The program counter of the next step."""
        return len(self.program.code)

    def statements(self, nodes: list[Any]) -> None:
        """Compile statements in order."""
        for node in nodes:
            self.statement(node)

    def statement(self, node: Any) -> None:
        """Compile one statement: flow here, the rest through the registry."""
        flow = FLOW.get(type(node))
        if flow is not None:
            flow(self, node)
            return
        self.registered(node)

    def registered(self, node: Any) -> None:
        """Compile one statement through the registry."""
        entry = REGISTRY.get(type(node))
        if entry is None:
            raise self.context.not_supported(node, describe(node))
        self.check_variables(node)
        if isinstance(node, DATA_STATEMENTS):
            shared, work = ast.noted(node, names_objects), ast.noted(node, touches_data)
        else:
            shared = entry.shared or ast.noted(node, names_objects)
            work = entry.work or ast.noted(node, touches_data)
        pc = self.here()
        if entry.lazy or work:
            step = lazy_step(self.program, pc, node, entry.compile, self.context, work)
            self.emit(node, step, shared)
        else:
            self.emit(node, entry.compile(node, self.context), shared)

    def check_variables(self, node: Any) -> None:
        """137 for a variable used before (or without) its declaration, at compile time."""
        if isinstance(node, ast.ModuleDefinition):
            return  # its body has variables of its own
        for part in ast.noted(node, variables_in):
            if part.name.lower() not in self.scope.variables:
                raise self.context.fail(part, SqlError(137, part.name, aborts="batch"))

    def condition_step(self, node: Any, condition: Any, otherwise: list[int]) -> int:
        """A step that goes on when a predicate is true.

        otherwise: one cell, where to go when it is false or unknown; filled in later.
        """
        self.check_variables(condition)
        shared = ast.noted(condition, names_objects)
        work = ast.noted(condition, touches_data)
        pc = self.here()

        engine = self.context.session.engine
        clears = isinstance(node, ast.If) and value(engine, "rowcount_after_if") == "zero"

        def compile_test(_: Any, context: Context) -> Run:
            test = context.condition(condition)

            def run(s: SessionState, v: list) -> int | None:
                return None if test(s, v, ()) else otherwise[0]

            def clear(s: SessionState, v: list) -> int | None:
                following = run(s, v)
                s.rowcount = 0
                return following

            return clear if clears else run

        if work:
            step = lazy_step(self.program, pc, node, compile_test, self.context, True)
        else:
            step = compile_test(node, self.context)
        return self.emit(node, step, shared)

    def finish(self) -> None:
        """End of the program: an implicit RETURN, then every GOTO finds its label."""
        from redial_broker.exec.flow import end_of_program

        end = self.emit(None, end_of_program)
        for pc in self.returns:
            self.program.infos[pc].targets = (end,)
        for pc, node, tries, catches in self.gotos:
            found = self.labels.get(node.label.lower())
            if found is None:
                raise self.context.fail(node, SqlError(133, node.label, aborts="batch"))
            target, target_tries, target_catches = found
            if target_tries > tries or target_catches > catches:
                raise self.context.fail(node, SqlError(1026, aborts="batch"))
            self.set_jump(pc, jump(target, target_tries, target_catches), target)

    def set_jump(self, pc: int, step: Run, *targets: int) -> None:
        """Put a jump at ``pc``, now that its targets are known."""
        self.program.code[pc] = step
        self.program.infos[pc].targets = targets


def jump(target: int, tries: int, catches: int) -> Run:
    """A step that goes to ``target``, leaving TRY and CATCH blocks on the way."""

    def run(s: SessionState, _: list) -> int:
        frame = s.frames[-1]
        if len(frame.handlers) > tries:
            del frame.handlers[tries:]
        keep = frame.errors + catches
        if len(s.error_stack) > keep:
            del s.error_stack[keep:]
        return target

    return run


def lazy_step(
    program: Program, pc: int, node: Any, compile_node: Compile, context: Context, work: bool
) -> Run:
    """A step that compiles its statement when it is first run, and after each schema change."""

    program.deferred.append((node, compile_node, context))

    def lazy(s: SessionState, v: list) -> int | None:
        database = s.database if not program.object_id else program.database
        fresh = Context(program, context.scope, s)
        fresh.table_variables = context.table_variables
        fresh.statement = node
        if database is not program.database:
            program.database = database
        version = database.schema_version
        looked_up = database.server.looked_up if database.server is not None else set()
        looked_up.clear()
        try:
            run = compile_node(node, fresh)
        except SqlError as error:
            error.compiling = True
            if isinstance(error, NotSupported):
                error.place(program.source.line_column(node.pos))
            error.line = error.line or program.source.line(node.pos)
            raise
        run = read_only.guarded(run, node, database)
        if database.hears_definitions and isinstance(node, ast.Statement):
            from redial_broker.exec.ddl.ddl_triggers import firing_ddl

            run = firing_ddl(run, node, fresh)
        step = working_step(run) if work else run
        if others := [other for other in looked_up if other is not database]:
            step = guarded_elsewhere(step, lazy, others)
        if not fresh.uses_temp:
            if program.object_id:
                program.code[pc] = (
                    working_step(run, lazy, database, version)
                    if work
                    else guarded_step(run, lazy, database, version)
                )
            else:
                program.code[pc] = guarded_batch_step(step, lazy, database, version, s.user)
        return step(s, v)

    return lazy


def guarded_elsewhere(step: Run, lazy: Run, databases: list[Any]) -> Run:
    """Run a step that was compiled with objects of other databases while those still stand."""
    versions = [(database, database.schema_version) for database in databases]

    def guarded(s: SessionState, v: list) -> int | None:
        for database, version in versions:
            known = database.server.databases.get(database.name.lower())
            if known is not database or database.schema_version != version:
                return lazy(s, v)
        return step(s, v)

    return guarded


def guarded_step(step: Run, lazy: Run, database: Any, version: int) -> Run:
    """Run the compiled step of a module while the schema it was compiled against still stands."""

    def guarded(s: SessionState, v: list) -> int | None:
        return (step if database.schema_version == version else lazy)(s, v)

    return guarded


def guarded_batch_step(step: Run, lazy: Run, database: Any, version: int, user: Any) -> Run:
    """The same for a batch: also the database and the user's default schema are still those."""
    home = schema_of(user)

    def guarded(s: SessionState, v: list) -> int | None:
        if (
            database.schema_version != version
            or s.database is not database
            or (s.user is not user and schema_of(s.user) != home)
        ):
            return lazy(s, v)
        return step(s, v)

    return guarded


def schema_of(user: Any) -> str:
    """The default schema of a user as names are compared."""
    return (user.default_schema or "dbo").lower() if user is not None else "dbo"


def working_step(run: Run, lazy: Run | None = None, database: Any = None, version: int = 0) -> Run:
    """Run a statement in a transaction: the caller's, or its own that ends with it.

    lazy, database, version: as ``guarded_step`` has them; most statements of modules are both.
    """

    def step(s: SessionState, v: list) -> int | None:
        if lazy is not None and database.schema_version != version:
            return lazy(s, v)
        transaction = s.transaction
        if transaction is None:
            transaction = s.work()
        s.mark = len(transaction.undo)
        if s.lock_mark < 0:  # run again after a wait: it began earlier
            s.lock_mark = ~s.lock_mark
        else:
            s.lock_mark = len(transaction.locks)
        result = run(s, v)
        if transaction.short_locks or transaction.statement is not None:
            s.engine.transactions.end_statement(transaction)
        if s.auto:
            s.commit()
        else:
            s.mark = len(transaction.undo)  # what comes next is not this statement's to undo
        return result

    return step


DATA_STATEMENTS = (ast.SelectStatement, ast.Insert, ast.Update, ast.Delete, ast.Merge)
DATA_NODES = (ast.TableSource, ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.NextValueFor)


def variables_in(node: Any) -> tuple[ast.Variable, ...]:
    """The variables a node names, in order."""
    return tuple(part for part in node.walk() if isinstance(part, ast.Variable))


def touches_data(node: Any) -> bool:
    """Whether a node reads or writes rows of any kind, those of table variables included."""
    return any(isinstance(part, DATA_NODES) or calls_function(part) for part in node.walk())


def calls_function(node: Any) -> bool:
    """Whether a node is a call of a user-defined function: they have two-part names."""
    return isinstance(node, ast.FunctionCall) and len(node.name.parts) > 1


def names_objects(node: Any) -> bool:
    """Whether a node reads or writes what other sessions can see: anything but table variables."""
    return any(
        isinstance(part, (ast.TableRef, ast.FunctionTable, ast.NextValueFor))
        or isinstance(getattr(part, "target", None), ast.ObjectName)
        or calls_function(part)
        for part in node.walk()
    )


def describe(node: Any) -> str:
    """A statement kind as a DBA would name it: CreateServerRole -> CREATE SERVER ROLE."""
    words: list[str] = []
    for letter in type(node).__name__:
        if letter.isupper() or not words:
            words.append(letter)
        else:
            words[-1] += letter
    return " ".join(words).upper()


Flow = Callable[[ProgramCompiler, Any], None]
FLOW: dict[type, Flow] = {}


def flow(*nodes: type) -> Callable[[Flow], Flow]:
    """Register how a flow-of-control node is laid out."""

    def register(function: Flow) -> Flow:
        for node in nodes:
            FLOW[node] = function
        return function

    return register


def compile_program(
    program: Program,
    nodes: list[Any],
    session: SessionState,
    prepare: Callable[[ProgramCompiler], None] | None = None,
) -> Program:
    """Compile ``nodes`` into ``program``. prepare: declares parameters first.

    Raises SqlError for what the server refuses at compile time, NotSupported for what we refuse.
    """
    compiler = ProgramCompiler(program, session)
    if prepare is not None:
        prepare(compiler)
    if not program.name:
        from redial_broker.exec import fmtonly

        if fmtonly.turned_on(nodes, session):
            nodes = fmtonly.wrapped(nodes, compiler.context.not_supported)
    compiler.statements(nodes)
    compiler.finish()
    return program
