"""From syntax tree to program: statements and the flow of control laid out as code.

Statements that name database objects are compiled at their first execution (deferred name
resolution, as the server does), and again when the database's schema has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, TypeGuard

from redial.tsql import ast
from redial_broker.engine.errors import SqlError
from redial_broker.exec import fmtonly
from redial_broker.exec.completions import told
from redial_broker.exec.context import Context
from redial_broker.exec.expressions import Scope
from redial_broker.exec.functions.catalog import NAMES_BY_ID, OTHERS_CHANGE
from redial_broker.exec.functions.dates import CLOCK
from redial_broker.exec.objects import SYSTEM_PROCEDURES
from redial_broker.exec.program import Program, StatementInfo
from redial_broker.exec.registry import FLOW, REGISTRY, Compile, Run, describe
from redial_broker.exec.steps import end_of_program, jump, lazy_step
from redial_broker.exec.strictness import strict, uses_methods
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState


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
        self.clocked = self.asking = False
        """clocked, asking: a table variable has a column, or a check, that reads the clock, or what others
        may change."""

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
        self.clocked = self.clocked or names_one_of(definition, CLOCK)
        self.asking = self.asking or names_one_of(definition, ASKED)
        return slot

    # ------------------------------------------------------------------ code
    def emit(
        self, node: ast.Node | None, step: Run, shared: bool = False, tells: int | None = None
    ) -> int:
        """Append one step; returns its program counter. tells: what its statement does not say."""
        pc = len(self.program.code)
        self.program.code.append(step)
        line = self.program.source.line(node.pos) if node is not None else 0
        shared = shared or (self.asking and isinstance(node, DATA_STATEMENTS))
        info = StatementInfo(node, line, shared, pc + 1)
        asked = node.condition if isinstance(node, (ast.If, ast.While)) else node
        info.reads_clock = asked is not None and ast.noted(asked, asks_the_time)
        info.reads_clock |= self.clocked and isinstance(node, DATA_STATEMENTS)
        info.told = told(node) if tells is None else tells
        self.program.infos.append(info)
        return pc

    def here(self) -> int:
        """The program counter of the next step."""
        return len(self.program.code)

    def statements(self, nodes: list[Any]) -> None:
        """Compile statements in order."""
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.Node) -> None:
        """Compile one statement: flow here, the rest through the registry."""
        flow = FLOW.get(type(node))
        if flow is not None:
            flow(self, node)
            return
        self.registered(node)

    def registered(self, node: ast.Node) -> None:
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
        pc, make = self.here(), entry.compile
        if not isinstance(node, ast.ModuleDefinition) and ast.noted(node, uses_methods):
            make = self._strictly(make)
        if entry.lazy or work:
            step = lazy_step(self.program, pc, node, make, self.context, work)
            self.emit(node, step, shared)
        else:
            self.emit(node, make(node, self.context), shared)

    @staticmethod
    def _strictly(make: Compile) -> Compile:
        return lambda node, context: strict(make(node, context), node)

    def check_variables(self, node: ast.Node) -> None:
        """137 for a variable used before (or without) its declaration, at compile time."""
        if isinstance(node, ast.ModuleDefinition):
            return  # its body has variables of its own
        for part in ast.noted(node, variables_in):
            if part.name.lower() not in self.scope.variables:
                raise self.context.fail(part, SqlError(137, part.name, aborts="batch"))

    def condition_step(self, node: ast.Node, condition: Any, otherwise: list[int]) -> int:
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

            def run(session: SessionState, variables: Values) -> int | None:
                return None if test(session, variables, ()) else otherwise[0]

            def clear(session: SessionState, variables: Values) -> int | None:
                following = run(session, variables)
                session.rowcount = 0
                return following

            return clear if clears else run

        make = self._strictly(compile_test) if ast.noted(condition, uses_methods) else compile_test
        if work:
            step = lazy_step(self.program, pc, node, make, self.context, True)
        else:
            step = make(node, self.context)
        return self.emit(node, step, shared)

    def finish(self) -> None:
        """End of the program: an implicit RETURN, then every GOTO finds its label."""
        end = self.emit(None, end_of_program)
        self.program.infos[end].ends = True
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


DATA_STATEMENTS = (ast.SelectStatement, ast.Insert, ast.Update, ast.Delete, ast.Merge)
OF_ONE_SESSION = frozenset(
    {"sp_set_session_context", "sp_xml_preparedocument", "sp_xml_removedocument"}
)
"""Procedures of the server that do nothing another session can see."""
ASKED = OTHERS_CHANGE | NAMES_BY_ID
DATA_NODES = (ast.TableSource, ast.Insert, ast.Update, ast.Delete, ast.Merge, ast.NextValueFor)


def variables_in(node: ast.Node) -> tuple[ast.Variable, ...]:
    """The variables a node names, in order."""
    return tuple(part for part in node.walk() if isinstance(part, ast.Variable))


def touches_data(node: ast.Node) -> bool:
    """Whether a node reads or writes rows of any kind, those of table variables included."""
    return any(isinstance(part, DATA_NODES) or calls_function(part) for part in node.walk())


def calls_function(node: ast.Node) -> bool:
    """Whether a node is a call of a user-defined function: they have two-part names."""
    return isinstance(node, ast.FunctionCall) and len(node.name.parts) > 1


def names_objects(node: ast.Node) -> bool:
    """Whether a node reads or writes what other sessions can see: anything but table variables."""
    return any(
        isinstance(part, (ast.TableRef, ast.FunctionTable, ast.NextValueFor))
        or isinstance(getattr(part, "target", None), ast.ObjectName)
        or calls_function(part)
        or asks_others(part)
        or calls_the_server_s_own(part)
        for part in node.walk()
    )


def asks_others(node: ast.Node) -> bool:
    """Whether a node is a function that tells what others may change meanwhile."""
    if isinstance(node, ast.GlobalVariable):
        return node.name.upper() == "@@DBTS"
    return _calls(node, OTHERS_CHANGE) or (_calls(node, NAMES_BY_ID) and bool(node.arguments))


def calls_the_server_s_own(node: ast.Node) -> bool:
    """Whether a node executes a procedure of the server that does more than one session can tell.

    One whose name stands in a variable may be such a one.
    """
    if not isinstance(node, ast.ExecuteProcedure):
        return False
    if isinstance(node.procedure, ast.Variable):
        return True
    name = node.procedure.name.lower()
    return name in SYSTEM_PROCEDURES and name not in OF_ONE_SESSION


def asks_the_time(node: ast.Node) -> bool:
    """Whether a node reads the clock."""
    return any(_calls(part, CLOCK) for part in node.walk())


def names_one_of(definition: Any, functions: frozenset[str]) -> bool:
    """Whether a table variable's defaults, computed columns or checks name one of these functions."""
    texts = [check.text for check in getattr(definition, "checks", ())]
    for column in getattr(definition, "columns", ()):
        texts += [column.default_text, column.computed.text if column.computed else ""]
    return any(name in text.upper() for text in texts for name in functions)


def _calls(part: ast.Node, names: Container[str]) -> TypeGuard[ast.FunctionCall]:
    return isinstance(part, ast.FunctionCall) and part.name.parts[-1].upper() in names


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
    if not program.name and fmtonly.turned_on(nodes, session):
        nodes = fmtonly.wrapped(nodes, compiler.context.not_supported)
    compiler.statements(nodes)
    compiler.finish()
    return program
