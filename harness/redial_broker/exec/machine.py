"""The machine that runs sessions: one statement after the other, errors and waits between them.

A session is data; this is the only loop. A statement that must wait raises ``Wait``: its changes
are undone, its locks stay, and the same statement runs again later. An error is noted, and dealt
with (``failures``) at the next turn of the loop: others may come between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.errors import (
    CONNECTION,
    Overlong,
    SqlError,
    Wait,
)
from redial_broker.engine.inside import ATOMIC, Left, check_all_read
from redial_broker.exec.completions import tell, tells
from redial_broker.exec.failures import fail, place
from redial_broker.exec.impersonation import become_user
from redial_broker.exec.program import Frame, Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.engine.locks import Resource
    from redial_broker.exec.program import StatementInfo
    from redial_broker.exec.session import SessionState

NEST_LIMIT = 32
READY, WAITING, FINISHED, LONG = "ready", "waiting", "finished", "long"
WHOLE, SINGLE, BEHIND = 0, 1, 2
"""How far a run goes: on and on; the explorer's step, which is one statement that others can see with the
local ones around it; such a step when that statement lies behind it."""

VERSIONED = frozenset({"KEY", "OBJECT"})
"""Lock waits of statements that may read row versions."""

VICTIM = 1205
"""Of a deadlock: its work is gone already."""


def _keeps_its_moment(wait: Any) -> bool:
    """Whether a waiting statement goes on with the row versions of its beginning.

    One that waits for a redefinition of its table does not: it has not begun to read.
    """
    if wait.kind != "lock":
        return False
    resource: Resource = wait.resource
    return resource.key[0] in VERSIONED and "Sch-M" not in {
        *resource.granted.values(),
        *(request.mode for request in resource.waiting),
    }


def others_matter(session: SessionState, info: StatementInfo) -> bool:
    """Whether it makes a difference to a statement if others come before it: it is a step of its own."""
    others = session.engine.others
    if others.each_statement or info.shared:
        return True
    if info.ends:
        return ends_what_others_see(session)
    return info.reads_clock and others.time_may_pass(session)


def ends_what_others_see(session: SessionState) -> bool:
    """Whether the end of this frame commits, or gives locks back."""
    if session.frames[-1].firing is not None:
        return True
    if len(session.frames) > 1:
        return False
    open_ = session.transaction
    if not session.background:
        return open_ is not None and open_.doomed
    return open_ is not None or session.id in session.database.server.session_locks


def _takes_back(session: SessionState, error: SqlError) -> bool:
    """Whether an error may take back what others can see; some end the session."""
    ends = error.severity >= 20 or error.aborts == CONNECTION
    return ends or (session.transaction is not None and error.number != VICTIM)


class Machine:
    """Runs sessions. Holds no state of its own: everything is in the session."""

    def __init__(self, finished: Callable[[Any], None]) -> None:
        self.finished = finished
        """Called with a session whose last frame has returned."""

    # ------------------------------------------------------------------ running
    def run(
        self,
        session: SessionState,
        budget: int = 1_000_000,
        *,
        single: int = WHOLE,
        acted: int = ATOMIC,
    ) -> str:
        """Run until the session waits, finishes, or ``budget`` statements are done.

        single: WHOLE, SINGLE or BEHIND.
        acted: FRESH for one access of such a statement (``inside``).
        Returns READY, WAITING, FINISHED, or LONG for a statement that has taken its share of the
        time and starts again where it can be suspended. An exception nobody foresaw ends this session
        (``broken``) and goes no further: its neighbours have nothing to do with it.
        """
        locks = session.engine.locks
        before, locks.running = locks.running, session
        session.acted = acted
        try:
            return self._run(session, budget, single, acted)
        except Exception as error:
            session.broken(error)
            return FINISHED
        finally:
            locks.running = before
            session.acted = ATOMIC

    def _run(self, session: SessionState, budget: int, single: int, acted: int) -> str:
        session.engine.journal.save(session)
        if session.wait is not None:
            return WAITING
        # Others may come before an error's handler.
        done_shared = single == BEHIND or session.pending is not None
        kept: tuple[list[Any], int] = ([], 0)
        while session.frames:
            frame = session.frames[-1]
            code, variables, pc = frame.program.code, frame.variables, frame.pc
            infos = frame.program.infos
            if session.pending is not None:
                self._fail_with_pending(session)
                continue
            try:
                if session.options.noexec and self._skip(session, frame):
                    continue
                # Only a statement that is run again has them: a wait leaves this loop.
                again = session.deadline is not None or session.expired or session.auto
                talks = tells(session)
                while True:
                    frame.pc = pc
                    if budget <= 0:
                        return READY
                    budget -= 1
                    if single and others_matter(session, infos[pc]):
                        if done_shared:
                            return READY
                        done_shared = True
                    if acted:
                        kept, session.seen_again = (variables[:], session.guids), 0
                    following = code[pc](session, variables)
                    if acted:
                        check_all_read(session)
                        session.end_statement()
                    elif session.own_writes or session.asked is not None:
                        session.end_statement()
                    if again:
                        self._end_deadline(session)
                        again = False
                        # begun by a wait for a definition, in no statement of its own
                        if session.auto and session.portions is None:
                            session.commit()
                    if following is None:
                        if talks and infos[pc].told:
                            tell(session, infos[pc].told)
                        pc += 1
                        session.error = 0
                    elif following >= 0:
                        if talks and infos[pc].told:
                            tell(session, infos[pc].told)
                        pc = frame.pc = following
                        session.error = 0
                        if session.portions is not None:  # they go out now, others have their turn
                            return READY
                    else:
                        break
            except (Left, Wait) as stopped:
                self._undo_statement(session)
                if acted:
                    frame.variables[:], session.guids = kept
                if isinstance(stopped, Left):
                    return READY
                return LONG if isinstance(stopped, Overlong) else WAITING
            except SqlError as error:
                place(session, error)
                session.pending = error
                if single and done_shared and _takes_back(session, error):
                    return READY
        self.finished(session)
        return FINISHED

    def call(
        self,
        session: SessionState,
        program: Program,
        values: list[Any],
        *,
        next_pc: int | None = None,
        user: Any = None,
    ) -> Frame:
        """Push a frame. values: of the parameters, in order; the other locals start as NULL.

        next_pc: where the calling frame goes on. Raises SqlError 217 beyond 32 levels.
        """
        if len(session.frames) > NEST_LIMIT:
            raise SqlError(217)
        variables = values + [None] * (len(program.slots) - len(values))
        for slot, definition in program.table_slots:
            if variables[slot] is None:
                variables[slot] = definition.new_table(session.engine)
        if next_pc is not None:
            session.frames[-1].pc = next_pc
        frame = Frame(program, variables, session)
        if user is not None:
            become_user(session, program.database, user)
        if program.object_id:
            options = session.options
            if (
                options.quoted_identifier != program.quoted_identifier
                or options.ansi_nulls != program.ansi_nulls
            ):
                session.options = options.changed(
                    quoted_identifier=program.quoted_identifier, ansi_nulls=program.ansi_nulls
                )
        if session.frames:
            session.scope_identity = None  # a scope of its own (SCOPE_IDENTITY page)
        session.frames.append(frame)
        return frame

    @staticmethod
    def _skip(session: SessionState, frame: Frame) -> bool:
        """SET NOEXEC ON: go on to the SET that ends it, or to the end of the frame.

        False when that is the statement to run next ("SET NOEXEC" page: statements are compiled,
        not executed; here they were compiled with their batch).
        """
        infos = frame.program.infos
        last = len(infos) - 1
        pc = frame.pc
        while pc < last:
            node = infos[pc].node
            if isinstance(node, ast.SetOption) and "NOEXEC" in node.names:
                break
            pc += 1
        moved, frame.pc = pc != frame.pc, pc
        return moved

    @staticmethod
    def _end_deadline(session: SessionState) -> None:
        if session.deadline is not None:
            session.engine.timers.cancel(None, "wait", session)
            session.deadline = None
        session.expired = False

    @staticmethod
    def _undo_statement(session: SessionState) -> None:
        """Take the running statement's changes back; an autocommit transaction keeps its locks.

        What it reads by row versions it reads again as of now when it goes on.
        """
        transaction = session.transaction
        session.lock_mark = min(session.lock_mark, ~session.lock_mark)
        if (
            transaction is not None
            and session.database.options["rcsi"]
            and (session.wait is None or _keeps_its_moment(session.wait))
        ):
            session.engine.transactions.versions.hold_statement(transaction)
        session.undo_statement()

    def _fail_with_pending(self, session: SessionState) -> None:
        error, session.pending = cast("SqlError", session.pending), None
        self._end_deadline(session)
        fail(session, error)
        if session.insert_exec is not None:
            session.insert_exec.failed(session)
