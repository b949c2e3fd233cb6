"""The steps a program is made of: jumps, statements compiled at their first run, transactions.

A step that was compiled against a schema checks that it still stands; otherwise it is compiled
again. Which checks there are is settled when the step is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import NotSupported, SqlError
from redial_broker.engine.inside import asks
from redial_broker.exec import read_only, trouble
from redial_broker.exec.context import HOOKS, Context
from redial_broker.exec.outcomes import CHANGES
from redial_broker.exec.program import SWITCH, Program
from redial_broker.exec.registry import Compile, Run
from redial_broker.exec.stack import leave_frame
from redial_broker.exec.strictness import strict

if TYPE_CHECKING:
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.closures import Values
    from redial_broker.exec.database import Database
    from redial_broker.exec.session import SessionState


ANNOUNCING = frozenset({"IS", "IX", "IU", "SIX", "Sch-S"})
"""Modes that only announce others."""


def jump(target: int, tries: int, catches: int) -> Run:
    """A step that goes to ``target``, leaving TRY and CATCH blocks on the way."""

    def run(session: SessionState, _: Values) -> int:
        frame = session.frames[-1]
        if len(frame.handlers) > tries:
            del frame.handlers[tries:]
        keep = frame.errors + catches
        if len(session.error_stack) > keep:
            del session.error_stack[keep:]
        return target

    return run


def end_of_program(session: SessionState, _: Values) -> int:
    """Leave the current frame; the machine does the rest."""
    leave_frame(session)
    return SWITCH


def lazy_step(
    program: Program, pc: int, node: ast.Node, compile_node: Compile, context: Context, work: bool
) -> Run:
    """A step that compiles its statement when it is first run, and after each schema change."""
    program.deferred.append((node, compile_node, context))

    def lazy(session: SessionState, variables: Values) -> int | None:
        database = session.database if not program.object_id else program.database
        fresh = Context(program, context.scope, session)
        fresh.table_variables = context.table_variables
        fresh.statement = node
        if database is not program.database:
            program.database = database
        version = database.schema_version
        looked_up = database.server.looked_up if database.server is not None else set()
        looked_up.clear()
        fresh.scope.changing = isinstance(node, CHANGES)
        if isinstance(node, CHANGES):
            fresh.scope = fresh.scope.naming(node.with_)
        try:
            run = compile_node(node, fresh)
        except SqlError as error:
            error.compiling = True
            if isinstance(error, NotSupported):
                error.place(program.source.line_column(node.pos))
            error.line = error.line or program.source.line(node.pos)
            raise
        run = read_only.guarded(run, node, database)
        run = trouble.guarded(run, node, session, database)
        if fresh.strict:
            run = strict(run, node)
        if database.hears_definitions and isinstance(node, ast.Statement):
            run = HOOKS.firing_ddl(run, node, fresh)
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
                program.code[pc] = guarded_batch_step(step, lazy, database, version, session.user)
        return step(session, variables)

    return lazy


def guarded_elsewhere(step: Run, lazy: Run, databases: list[Any]) -> Run:
    """Run a step that was compiled with objects of other databases while those still stand."""
    versions = [(database, database.schema_version) for database in databases]

    def guarded(session: SessionState, variables: Values) -> int | None:
        for database, version in versions:
            known = database.server.databases.get(database.name.lower())
            if known is not database or database.schema_version != version:
                return lazy(session, variables)
        return step(session, variables)

    return guarded


def guarded_step(step: Run, lazy: Run, database: Database, version: int) -> Run:
    """Run the compiled step of a module while the schema it was compiled against still stands."""

    def guarded(session: SessionState, variables: Values) -> int | None:
        return (step if database.schema_version == version else lazy)(session, variables)

    return guarded


def guarded_batch_step(step: Run, lazy: Run, database: Database, version: int, user: Any) -> Run:
    """The same for a batch: also the database and the user's default schema are still those."""
    home = schema_of(user)

    def guarded(session: SessionState, variables: Values) -> int | None:
        if (
            database.schema_version != version
            or session.database is not database
            or (session.user is not user and schema_of(session.user) != home)
        ):
            return lazy(session, variables)
        return step(session, variables)

    return guarded


def schema_of(user: Any) -> str:
    """The default schema of a user as names are compared."""
    return (user.default_schema or "dbo").lower() if user is not None else "dbo"


def _holds_rows(transaction: Transaction) -> bool:
    """Whether it keeps locks to its end that others may meet."""
    short = transaction.short_locks
    return any(
        mode not in ANNOUNCING and key not in short for key, mode in transaction.locks.items()
    )


def working_step(
    run: Run, lazy: Run | None = None, database: Database | None = None, version: int = 0
) -> Run:
    """Run a statement in a transaction: the caller's, or its own that ends with it.

    lazy, database, version: as ``guarded_step`` has them; most statements of modules are both.
    """

    home = cast("Database", database)  # given where ``lazy`` is

    def step(session: SessionState, variables: Values) -> int | None:
        if lazy is not None and home.schema_version != version:
            return lazy(session, variables)
        transaction = session.transaction
        if transaction is None:
            transaction = session.work()
        session.begin_statement(transaction)
        if session.lock_mark < 0:  # run again after a wait: it began earlier
            session.lock_mark = ~session.lock_mark
        else:
            session.lock_mark = len(transaction.locks)
        result = run(session, variables)
        if session.portions is not None:
            return result  # rows go out in portions: the statement is not over
        if session.acted and session.auto and (transaction.undo or _holds_rows(transaction)):
            asks(session)  # others see its locks before it commits
        if transaction.short_locks or transaction.statement is not None:
            session.engine.transactions.end_statement(transaction)
        if session.auto:
            session.commit()
        else:
            session.begin_statement(transaction)  # what comes next is not this statement's to undo
        return result

    return step
