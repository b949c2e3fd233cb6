"""The machine that runs sessions: one statement after the other, errors and waits between them.

A session is data; this is the only loop. A statement that must wait raises ``Wait``: its changes
are undone, its locks stay, and the same statement runs again later. An error looks for a CATCH
block up the frames, or ends statement, batch or connection by its class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from redial.tsql import ast
from redial_broker.engine.broker_messages import BROKER_MESSAGES
from redial_broker.engine.errors import (
    BATCH,
    CONNECTION,
    SCOPE,
    THROWN,
    NotSupported,
    Overlong,
    SqlError,
    Wait,
)
from redial_broker.engine.inside import ATOMIC, Left, check_all_read
from redial_broker.engine.types import Message
from redial_broker.exec.completions import ENTER_CATCH, FAILED, command, tell, tell_call, tells
from redial_broker.exec.cursor_references import drop_references, hand_over
from redial_broker.exec.impersonation import become_user
from redial_broker.exec.outcomes import (
    CALLS,
    called,
    return_status,
    tell_caught,
    tell_left,
    terminates,
)
from redial_broker.exec.program import Frame, Program
from redial_broker.exec.session_records import ErrorInfo
from redial_broker.exec.switches import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.engine.locks import Resource
    from redial_broker.engine.transactions import Transaction
    from redial_broker.exec.program import StatementInfo
    from redial_broker.exec.session import SessionState

READY, WAITING, FINISHED, LONG = "ready", "waiting", "finished", "long"
NEST_LIMIT = 32
WHOLE, SINGLE, BEHIND = 0, 1, 2
"""How far a run goes: on and on; the explorer's step, which is one statement that others can see with the
local ones around it; such a step when that statement lies behind it."""

VERSIONED = frozenset({"KEY", "OBJECT"})
"""Lock waits of statements that may read row versions."""

REFUSED = frozenset({1205, 1222})
"""Errors of a lock that is not given: the step has changed nothing."""

DEAD_HANDLE = frozenset({8426, 8427, 8429})
"""Errors of verbs on a conversation that is over (F-131)."""

SEEN_STATES = frozenset({8433})
"""Errors of broker verbs whose state a source has seen."""


def _decide(session: SessionState, error: SqlError) -> None:
    """What no page says of a broker verb's error: its state, and whether it dooms."""
    if error.number not in SEEN_STATES and error.state == 1:
        error.state = value(session.engine, "broker_error_state")
    if error.number in DEAD_HANDLE and value(session.engine, "broker_error_dooms"):
        error.aborts = BATCH


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
    if info.ends:
        return _ends_a_transaction(session)
    return info.shared or (info.reads_clock and session.engine.time_may_pass(session))


def _ends_a_transaction(session: SessionState) -> bool:
    """Whether the end of this frame commits or takes back what others see the locks of."""
    if session.frames[-1].firing is not None:
        return True
    open_ = session.transaction
    return open_ is not None and len(session.frames) == 1 and (open_.doomed or session.background)


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
                self._place(session, error)
                session.pending = error
                seen = done_shared and error.number not in REFUSED
                if single and seen and session.transaction is not None:
                    return READY  # others may see what it takes back
        self.finished(session)
        return FINISHED

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

    # ------------------------------------------------------------------ frames
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

    def leave(self, session: SessionState) -> None:
        """The current frame has reached its end: hand results back, undo its SET options. Raises 266."""
        frame = session.frames.pop()
        if len(session.error_stack) > frame.errors:
            del session.error_stack[frame.errors :]
        if session.frames:
            session.options = frame.saved_options
            frame.restore_caller(session)
        if session.cursors and frame.outputs:
            hand_over(session, frame)
        for slot, give in frame.outputs:
            give(frame.variables[slot])
        if session.cursors or session.temp_tables:
            self._drop_locals(session, frame)
        if frame.on_return is not None:
            frame.on_return(session, return_status(session, frame))
        if frame.firing is not None:
            self._leave_trigger(session, frame.firing)
            return
        # IMPLICIT_TRANSACTIONS: what the first statement inside opened stays open, no 266 (F-137)
        implicit = (
            frame.trancount == 0
            and session.options.implicit_transactions
            and not value(session.engine, "implicit_transactions_266")
        )
        if not session.frames or session.trancount == frame.trancount or implicit:
            tell_left(session, frame)
            return
        error = SqlError(266, frame.trancount, session.trancount, state=2)
        error.procedure, error.of_call = frame.program.name, True
        if frame.levels > 1:  # sp_executesql and its kin return @@ERROR, behind the message
            error.returns = error.number
            if frame.on_return is not None:
                frame.on_return(session, error.number)
        elif len(session.frames) == 1 and called(session):
            session.sink.call_status(return_status(session, frame))
        self._next_pc_back(session)
        raise error

    def _leave_trigger(self, session: SessionState, firing: Any) -> None:
        """A trigger is over: the next one starts, or its statement ends, or fails as a whole."""
        error = firing.left(session)
        if error is not None:
            firing.abandon(session)
            self._next_pc_back(session)
            raise error

    @staticmethod
    def _next_pc_back(session: SessionState) -> None:
        """The caller's counter already points behind the EXEC; an error belongs to the EXEC."""
        session.frames[-1].pc -= 1

    @staticmethod
    def _drop_locals(session: SessionState, frame: Frame) -> None:
        """Local cursors and the module's own #temp tables end with the frame."""
        cursors = session.cursors
        if not session.temp_tables and (not cursors or (len(cursors) == 1 and "@@" in cursors)):
            return  # "@@" alone names the cursor opened last, which is gone
        depth = len(session.frames) + 1
        for name, cursor in list(session.cursors.items()):
            if getattr(cursor, "frame", None) is frame:
                del session.cursors[name]
        drop_references(session, frame.variables)
        for name, table in list(session.temp_tables.items()):
            if getattr(table, "depth", 0) == depth and depth > 1:
                if table.shadowed is not None:
                    session.temp_tables[name] = table.shadowed
                else:
                    del session.temp_tables[name]

    # ------------------------------------------------------------------ errors
    def _fail_with_pending(self, session: SessionState) -> None:
        error, session.pending = cast("SqlError", session.pending), None
        self._end_deadline(session)
        self.fail(session, error)
        if session.insert_exec is not None:
            session.insert_exec.failed(session)

    @staticmethod
    def _place(session: SessionState, error: SqlError) -> None:
        """Fill in where it happened. Once more changes nothing."""
        frame = session.frames[-1]
        info = frame.program.infos[frame.pc]
        if isinstance(error, NotSupported) and info.node is not None:
            error.place(frame.program.source.line_column(info.node.pos))
        if not error.line and not error.of_call:
            error.line = info.line
        if not error.procedure and frame.program.object_id:
            error.procedure = frame.program.name
        if error.number in BROKER_MESSAGES:
            _decide(session, error)

    def fail(self, session: SessionState, error: SqlError) -> None:
        """The running statement failed: find a handler, or end what the error ends."""
        self._place(session, error)
        frame = session.frames[-1]
        info = frame.program.infos[frame.pc]
        if session.portions is not None:
            error.sent = session.portions.sent if error.sent is None else error.sent
            session.portions = None
        if not isinstance(info.node, CALLS):
            frame.severity = max(frame.severity, error.severity)
        session.lock_mark = max(session.lock_mark, ~session.lock_mark)
        session.undo_own_writes()
        session.end_statement()
        self._undo_failed(session, error)
        session.error = error.number
        if error.severity < 20 and self._catch(session, error):
            tell(session, ENTER_CATCH)
            return
        for part in (*error.before, error):
            session.sink.message(
                Message(
                    part.number, part.severity, part.state, part.text, error.procedure, error.line
                )
            )
        self._end_failed(session, error, info.node, info.resume)

    def _undo_failed(self, session: SessionState, error: SqlError) -> None:
        transaction = session.transaction
        if transaction is None:
            return
        if error.number == 1205:
            # A deadlock victim's work and locks are gone at once; the count stays until ROLLBACK.
            self._undo_all(session, transaction)
        elif session.auto:
            session.rollback()
        else:
            if len(transaction.undo) > session.mark:
                session.engine.journal.undo(transaction, session.mark)
            session.engine.transactions.end_statement(transaction)
            if value(session.engine, "failed_statement_locks") == "released":
                session.engine.locks.release_since(transaction, session.lock_mark)

    @staticmethod
    def _undo_all(session: SessionState, transaction: Transaction) -> None:
        if session.auto:
            session.rollback()
            return
        session.engine.transactions.rollback(transaction)
        transaction.doomed = True

    def _catch(self, session: SessionState, error: SqlError) -> bool:
        """Enter the innermost CATCH block that may see the error; False when there is none."""
        position = len(session.frames) - 1
        if error.compiling:
            position -= 1  # name resolution errors pass the TRY blocks of their own scope
        while position >= 0 and not session.frames[position].handlers:
            position -= 1
        if position < 0:
            return False
        # The setting where the error was raised decides: a procedure that has set XACT_ABORT ON (in
        # a trigger it is) dooms what is left (set-xact-abort). Whether the one where it is caught
        # does so too is unknown (F-400)
        strict = session.options.xact_abort
        tell_caught(session, error)
        while len(session.frames) - 1 > position:
            left = session.frames[-1]
            self.unwind(session)
            if left.firing is None:
                tell_left(session, left, failed=False)
        frame = session.frames[-1]
        catch_pc, depth = frame.handlers.pop()
        del session.error_stack[depth:]
        session.error_stack.append(
            ErrorInfo(
                error.number,
                error.severity,
                error.state,
                error.procedure or None,
                error.line,
                error.text,
            )
        )
        frame.pc = catch_pc
        transaction = session.transaction
        strict = strict or (
            session.options.xact_abort
            and value(session.engine, "xact_abort_counts") == "raised or caught"
        )
        if transaction is not None and (error.aborts == BATCH or strict):
            session.engine.journal.save(transaction)
            transaction.doomed = True
        return True

    def unwind(self, session: SessionState) -> None:
        """Leave a frame because of an error: no output values, no return status."""
        frame = session.frames.pop()
        if session.frames:  # what a client's own batch has set stays, error or not
            session.options = frame.saved_options
            frame.restore_caller(session)
        self._drop_locals(session, frame)
        if frame.firing is not None:
            frame.firing.abandon(session)

    def _end_failed(
        self, session: SessionState, error: SqlError, frame_node: ast.Node | None, resume: int
    ) -> None:
        if error.aborts == CONNECTION or error.severity >= 20:
            self.end_batch(session, rollback=True)
            session.instance.disconnect(session)
            return
        xact_abort = session.options.xact_abort and not error.raised and not error.compiling
        in_trigger = error.aborts == SCOPE and session.frames[-1].firing is not None
        ends = error.aborts in {BATCH, THROWN} or xact_abort or in_trigger
        if terminates(error, frame_node, ends):
            session.sink.message(
                Message(
                    3621, 0, 0, "The statement has been terminated.", error.procedure, error.line
                )
            )
        begun = command(frame_node) if error.sent is not None else FAILED
        if error.aborts == BATCH or xact_abort or in_trigger:
            self.end_batch(session, rollback=True, begun=begun)
            return
        if error.aborts == THROWN:
            self.end_batch(session, rollback=False)
            return
        session.return_status = -6
        if error.aborts == SCOPE and len(session.frames) > 1:
            left = session.frames[-1]
            self.unwind(session)
            if left.levels > 1 and left.on_return is not None:  # text has @@ERROR as its status
                left.on_return(session, error.number)
            tell_left(session, left, failed=True)
            return
        if error.aborts == SCOPE:
            self.end_batch(session, rollback=False, begun=begun)
            return
        if isinstance(frame_node, CALLS):
            tell_call(session, error.returns, True)
        elif not session.rpc or len(session.frames) > 1:  # a remote call ends with its own token
            inside = len(session.frames) > 1
            session.sink.done(
                FAILED if error.compiling else command(frame_node), None, True, inside
            )
        session.rowcount = 0
        session.frames[-1].pc = resume

    def end_batch(self, session: SessionState, *, rollback: bool, begun: int = FAILED) -> None:
        """End the whole batch after an error: every frame goes, the transaction too if asked.

        begun: what the failed statement tells, whose result set has begun.
        """
        while session.frames:
            self.unwind(session)
        session.error_stack.clear()
        if rollback and session.transaction is not None:
            session.rollback()
        if not session.rpc:  # a remote call ends with its own token
            session.sink.done(begun, None, True)

    @staticmethod
    def settle(session: SessionState) -> None:
        """End of a request: a doomed transaction is rolled back with 3998."""
        if session.transaction is not None and session.transaction.doomed:
            session.rollback()
            error = SqlError(3998)
            session.sink.message(Message(3998, error.severity, error.state, error.text, "", 1))
            if not session.rpc:
                session.sink.done(FAILED, None, True)
