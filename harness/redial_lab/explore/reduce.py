"""Search without hashing: partial order reduction with sleep sets (Godefroid 1996).

A search with hashes sees each state once. Where hashes are not to be trusted, or to check them,
this one walks every order of dependent steps and only one of independent ones. Sleep sets leave
transitions out, never states: every check sees what it would see.

Two steps are independent when neither changes what the other reads or changes. Changed is what the
journal says. Read is what the statement names: its tables, or everything where a view, a function,
the catalog, a broker verb, READPAST, NOWAIT or LOCK_TIMEOUT 0 is in it. Faults, timers and expired
waits depend on everything. What a step locks it changes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redial.tsql import ast
from redial_broker.engine.clock import Timers
from redial_broker.engine.locks import LockManager, Resource
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.exec.compiler import asks_others, calls_function
from redial_broker.exec.machine import SINGLE, ends_what_others_see
from redial_broker.exec.objects import Procedure
from redial_broker.exec.session import SessionState
from redial_lab.explore.counted import counting
from redial_lab.explore.faults import IN_ONE_GO
from redial_lab.explore.progress import Progress, RecordingSink
from redial_lab.explore.scenario import Scenario, Step
from redial_lab.explore.search import Limits, Result
from redial_lab.explore.stepping import by_statements
from redial_lab.explore.world import World

if TYPE_CHECKING:
    from redial_broker.exec.database import Database
    from redial_broker.exec.program import Frame
    from redial_broker.instance.session import Session

    Named = str | tuple[Any, ...]
    """What a step touches: a kind, then whatever tells one of that kind from the others."""

EVERYTHING = frozenset({"everything"})
PLAIN = (
    ast.SelectStatement,
    ast.Insert,
    ast.Update,
    ast.Delete,
    ast.Commit,
    ast.Rollback,
    ast.SetVariable,
    ast.DeclareVariable,
    ast.Return,
)
"""Statements that read no more than the tables they name."""

WATCHING = ("dm_", "sysprocesses", "syslockinfo", "sp_who", "sp_lock")
"""What a statement has in it that looks at other sessions."""

STATE_OF_LOCKS = frozenset({"READPAST", "NOWAIT"})


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a step read and changed."""

    reads: frozenset[Named]
    writes: frozenset[Named]

    def independent(self, other: Footprint) -> bool:
        """Whether the two commute."""
        if self.writes >= EVERYTHING or other.writes >= EVERYTHING:
            return False
        for one, two in ((self, other), (other, self)):
            if one.writes & two.writes or one.writes & two.reads:
                return False
            if two.reads >= EVERYTHING and any(w[0] != "session" for w in one.writes):
                return False
        return True


ALL = Footprint(EVERYTHING, EVERYTHING)


class Footprints:
    """Takes steps and says what they read and changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tables = {
            id(index): table
            for database in world.instance.server.databases.values()
            for table in database.objects.values()
            if isinstance(table, Table)
            for index in (table, table.rows, *table.indexes)
        }
        self.sinks = {id(sink): session.id for sink, session in zip(world.sinks, world.clients)}

    def take(self, step: Step) -> Footprint | None:
        """Let a step happen; the journal has a mark already. None for a fault of which nothing came."""
        world = self.world
        if step.kind != "run" or world.in_one_go(world.instance.sessions[step.who]):
            return ALL if world.take(step) else None
        session = world.instance.sessions[step.who]
        log = world.journal.log
        start = len(log)
        reads, watches = self._run(session)
        writes = {("session", session.id), *(EVERYTHING if watches else ())}
        for entry in log[start:]:
            writes |= self._written(entry, session.id)
        if session.wait is not None and session.wait.kind == "lock":
            writes.add(("waits",))
        return Footprint(reads, frozenset(writes))

    def _run(self, session: Session) -> tuple[frozenset[Named], bool]:
        """One step of a session, statement by statement: what it read, and whether it looked at
        other sessions (a dynamic management view).
        """
        reads: set[Named] = set()
        watches = False

        def look(frame: Frame, shared: bool) -> None:
            nonlocal watches
            program = frame.program
            node = program.infos[frame.pc].node
            if node is None:  # the beginning of a batch, the end of a frame
                if program.infos[frame.pc].ends and ends_what_others_see(session):
                    reads.update(EVERYTHING)
            elif shared:
                reads.update(self._read(session, node, program.database))
                source = program.source.text[node.pos : node.end].lower()
                watches = watches or any(word in source for word in WATCHING)

        world = self.world
        by_statements(
            world.instance.machine.run, session, IN_ONE_GO, look, single=SINGLE, acted=world.acted
        )
        world.check_stopped(session)
        world.client_progress()
        return frozenset(reads), watches

    def _read(
        self,
        session: Session,
        node: Any,  # the syntax tree of any statement
        database: Database,
    ) -> frozenset[Named]:
        """What a statement names."""
        if isinstance(node, ast.ExecuteProcedure):
            called = _resolved(database, node.procedure)
            return frozenset() if isinstance(called, Procedure) else EVERYTHING
        if isinstance(node, (ast.If, ast.While)):
            node = node.condition
        elif not isinstance(node, PLAIN) or session.lock_timeout == 0:
            return EVERYTHING
        parts = list(node.walk())
        aliases = {
            part.alias.lower() for part in parts if isinstance(part, ast.TableRef) and part.alias
        }
        found = set()
        for part in parts:
            if isinstance(part, (ast.FunctionTable, ast.NextValueFor)) or calls_function(part):
                return EVERYTHING
            if asks_others(part):
                return EVERYTHING
            if isinstance(part, ast.TableHint) and part.name in STATE_OF_LOCKS:
                return EVERYTHING
            name = part.name if isinstance(part, ast.TableRef) else getattr(part, "target", None)
            if not isinstance(name, ast.ObjectName) or name.parts[-1].lower() in aliases:
                continue
            table = _resolved(database, name)
            if not isinstance(table, Table) or table.checks:
                return EVERYTHING
            found.add(("table", id(table)))
        return frozenset(found)

    def _written(self, entry: tuple[Any, ...], me: int) -> set[Named]:  # as the journal has it
        """What one record of the journal changed."""
        part, key = entry[1], entry[3]
        table = self.tables.get(id(part))
        if table is not None:
            return {("table", id(table))}
        if isinstance(part, SessionState):
            return {("session", part.id)}
        if isinstance(part, Transaction):
            return {("session", part.owner.id)}
        if isinstance(part, Resource):
            return {("lock", part.key)}
        if isinstance(part, LockManager) and isinstance(key, tuple):
            return {("lock", key)}
        if isinstance(part, RecordingSink):
            return {("session", self.sinks.get(id(part), me))}
        if isinstance(part, Progress):
            return set()  # a client's step touches that client's entries only
        if isinstance(part, Timers) and isinstance(key, tuple) and key[0] == "wait":
            return {("session", key[1].id)}
        if isinstance(part, Index):
            return set()  # of a table variable or a temporary table: nobody else's
        return set(EVERYTHING)


def _resolved(database: Database, name: object) -> Any:  # what a database holds under a name
    """The object of that name, None where there is none (or the name is in a variable)."""
    if not isinstance(name, ast.ObjectName) or len(name.parts) > 2:
        return None
    return database.objects.get(((name.schema or "dbo").lower(), name.name.lower()))


def reduced(scenario: Scenario, limits: Limits | None = None, *, sleep: bool = True) -> Result:
    """Walk every order of a scenario that differs by dependent steps. sleep: False for all orders.

    ``ends`` counts complete orders; states are not counted. Deterministic.
    """
    limits = limits or Limits()

    def run(counted: frozenset[str]) -> Result:
        started = time.perf_counter()
        world = World(scenario, counted=counted)
        result = Result(scenario.name, orders=True, unseen=scenario.to_witness)
        try:
            _descend(world, Footprints(world), limits, result, [], {}, sleep)
            result.looked_at(world)
        finally:
            world.close()
        result.seconds = time.perf_counter() - started
        return result

    return counting(run)


def _descend(
    world: World,
    prints: Footprints,
    limits: Limits,
    result: Result,
    path: list[Step],
    asleep: dict[Step, Footprint],
    sleep: bool,
) -> None:
    """All orders from here. asleep: steps whose orders with what was done have been walked."""
    names, steps = result.meet(world, path)
    result.deepest = max(result.deepest, len(path))
    steps = result.goes_on(names, steps, limits.past)
    if limits.depth is not None and len(path) >= limits.depth:
        if steps:
            result.bounded_by = result.bounded_by or f"depth {limits.depth}"
        return
    done = dict(asleep)
    for step in steps:
        if step in done:
            continue
        if limits.transitions is not None and result.transitions >= limits.transitions:
            result.bounded_by = f"{limits.transitions} transitions"
            return
        mark = world.journal.mark()
        footprint = prints.take(step)
        world.recount()
        if footprint is None:
            world.journal.rewind(mark)
            continue
        result.transitions += 1
        result.taken[step.kind] += 1
        still = (
            {other: print_ for other, print_ in done.items() if print_.independent(footprint)}
            if sleep
            else {}
        )
        _descend(world, prints, limits, result, [*path, step], still, sleep)
        world.journal.rewind(mark)
        if sleep:
            done[step] = footprint
