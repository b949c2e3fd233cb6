"""The lock manager: FIFO with conversions first, deadlocks found at once.

A resource is a tuple whose first item is its kind, for example ``("KEY", hobt_id, key)``,
``("OBJECT", database_id, object_id)``, ``("CONVERSATION_GROUP", database_id, group_id)`` or
``("APPLICATION", database_id, name, principal_id)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs
from redial_broker.engine.errors import BATCH, SqlError, Wait
from redial_broker.engine.inside import asks
from redial_broker.engine.journal import MISSING, Journal, Part
from redial_broker.engine.lock_modes import COMPATIBLE, combine
from redial_broker.engine.state import SAME, derived, journaled, made, saved, state
from redial_broker.engine.switches import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from redial_broker.engine.clock import Timers
    from redial_broker.engine.needs import LockKey, Owner
    from redial_broker.engine.transactions import Transaction

differs(
    "deadlocks",
    "They are found at once; the monitor of a server looks every five seconds or less, "
    "so a wait there lasts longer before 1205.",
)

ASKED = frozenset({"KEY", "OBJECT"})
"""Kinds of resource of which a statement may ask for several, others coming in between."""
UNASKED = frozenset({"IS", "IX", "Sch-S", "Sch-M"})
"""Modes in which a table is locked before the first row, and by a definition: no step of their own."""

TIMEOUT_STATES = {"KEY": 51, "RID": 45, "PAGE": 52, "OBJECT": 56}
"""State of error 1222 by resource kind (probes; any other kind: 56)."""


@dataclass(slots=True)
class Request:
    """A lock asked for and not yet granted."""

    transaction: Transaction
    mode: str
    converts: bool


def _holders(granted: dict[Transaction, str]) -> list[tuple[str, str]]:
    """Holders by session; their order does not matter."""
    return sorted([(str(t.owner.id), mode) for t, mode in granted.items()])


def _waiters(waiting: list[Request]) -> list[tuple[str, str, bool]]:
    """Who waits, in the order of the queue."""
    return [(str(r.transaction.owner.id), r.mode, r.converts) for r in waiting]


class Resource(Part):
    """One lockable thing: who has it, who waits for it in which order."""

    __slots__ = ("granted", "key", "waiting")
    STATE = state(
        made("key"),
        saved("granted", copy=dict, show=_holders),
        saved("waiting", copy=list, show=_waiters),
    )

    def __init__(self, key: LockKey) -> None:
        super().__init__()
        self.key = key
        self.granted: dict[Transaction, str] = {}
        self.waiting: list[Request] = []


@dataclass(slots=True)
class LockWait:
    """A session's wait record: it waits for ``request`` on ``resource``."""

    resource: Resource
    request: Request
    since: float
    quiet: bool = False
    """An application lock; when the wait ends without it the statement does not fail but runs
    again, with the number of the error that it is not (1222 or 1205) in ``session.expired``."""
    kind: str = "lock"


@dataclass(slots=True)
class Deadlock:
    """A cycle as ``on_deadlock`` gets it: the victim, (transaction, resource, mode) per waiter."""

    victim: Transaction
    waits: list[tuple[Transaction, Resource, str]]


def _timed_out(session: Owner, key: LockKey) -> SqlError:
    """Error 1222 of a wait for ``key``."""
    error = SqlError(1222, state=TIMEOUT_STATES.get(key[0], 56))
    if key[0] == "CONVERSATION_GROUP" and value(session.engine, "group_lock_timeout_dooms"):
        error.aborts = BATCH
    return error


def _chosen(session: Owner, kind: str) -> SqlError:
    """Error 1205 of a victim. kind: what it waited for, a lock or a thread."""
    return SqlError(1205, session.id, kind, state=51)


def _session_id(held: tuple[Transaction, str]) -> int:
    return held[0].owner.id


def _all_locks(resources: dict[LockKey, Resource]) -> list[bytes]:
    """All resources, in an order of their own."""
    return sorted([resource.digest or resource.hash() for resource in resources.values()])


class LockManager(Part):
    """Grants, queues, converts and releases locks; chooses deadlock victims."""

    __slots__ = (
        "_journal",
        "_now",
        "deadlocks",
        "on_deadlock",
        "range_locks",
        "resources",
        "running",
        "timers",
        "unchanged_rows",
        "weighs_group_waits",
    )
    STATE = state(
        journaled("resources", show=_all_locks),
        journaled("deadlocks"),
        derived(
            "range_locks",
            why="once true it stays so: it only makes inserts look at gaps that nobody may hold",
        ),
        derived("running", why="nobody runs between two steps"),
        made("_journal", "_now", "timers", "on_deadlock", hidden=SAME),
        made("weighs_group_waits", "unchanged_rows", hidden="switches, which no statement changes"),
    )

    def __init__(self, journal: Journal, now: Callable[[], float], timers: Timers) -> None:
        super().__init__()
        self._journal = journal
        self._now = now
        self.timers = timers
        self.resources: dict[LockKey, Resource] = {}
        self.deadlocks = 0
        self.range_locks = False  # until the first one, inserts need not look at gaps
        self.weighs_group_waits = True  # switch send_wait_log
        self.unchanged_rows = False  # switch plain_read_locks: plain reads lock them too
        self.running: Owner | None = None  # the session that runs now: nobody else can ask or wait
        self.on_deadlock: Callable[[Deadlock], None] = lambda deadlock: None

    # ------------------------------------------------------------------ asking
    def acquire(
        self,
        transaction: Transaction,
        key: LockKey,
        mode: str,
        *,
        timeout: int | None = None,
        short: bool = False,
        quiet: bool = False,
    ) -> None:
        """Own ``key`` in at least ``mode``.

        timeout: ms, None for the session's LOCK_TIMEOUT, 0 for NOWAIT. short: release at the end of
        the statement. Raises Wait after queueing, SqlError 1222 (timeout 0) or 1205 (victim), and
        RuntimeError when another session runs: nobody can be made to wait but the one that does.
        """
        held = transaction.locks.get(key)
        if held is not None and (held == mode or combine(held, mode) == held):
            return
        if self.running is not None and transaction.owner is not self.running:
            raise RuntimeError(
                f"{transaction!r} asks for {key!r} while {self.running!r} runs; "
                "what it has had for long is given, not asked for"
            )
        if key[0] in ASKED and mode not in UNASKED:
            asks(transaction.owner)
        if mode[0] == "R":
            self.range_locks = True
        resource = self.resources.get(key)
        free = resource is None
        if resource is None:
            resource = self._new_resource(key)
        wanted = mode if held is None else combine(held, mode)
        if free or self._grantable(resource, transaction, wanted, held is not None):
            self._grant(resource, transaction, wanted)
            if short and held is None:
                transaction.short_locks.append(key)
            return
        if timeout is None:
            timeout = transaction.owner.lock_timeout
        if timeout == 0:
            raise _timed_out(transaction.owner, key)
        self._enqueue(resource, transaction, wanted, held is not None, timeout, quiet)
        if short and held is None:
            transaction.short_locks.append(key)
        raise Wait

    def give(self, transaction: Transaction, key: LockKey, mode: str) -> None:
        """Let ``transaction`` own ``key`` whoever else does: what it has had since it changed a row
        is asked for only when somebody reads that row, who may find an earlier reader there."""
        held = transaction.locks.get(key)
        wanted = mode if held is None else combine(held, mode)
        if wanted != held:
            resource = self.resources.get(key) or self._new_resource(key)
            self._grant(resource, transaction, wanted)

    def wait_for_writer(self, transaction: Transaction, writer: Transaction, key: LockKey) -> None:
        """Go on when ``writer``, who has changed what ``key`` stands for, has ended.

        Raises Wait, SqlError 1222 and 1205 to the one that asks, never to the writer.
        """
        if key in transaction.locks:  # of a wait for an earlier writer, before this one came
            self.release(transaction, key)
        self.give(writer, key, "X")
        self.acquire(transaction, key, "S", short=True)

    def try_acquire(self, transaction: Transaction, key: LockKey, mode: str) -> bool:
        """Like ``acquire`` but never waits: False when it would (READPAST, skipped groups)."""
        held = transaction.locks.get(key)
        if held is not None and combine(held, mode) == held:
            return True
        resource = self.resources.get(key)
        if resource is not None:
            wanted = mode if held is None else combine(held, mode)
            if not self._grantable(resource, transaction, wanted, held is not None):
                return False
        self.acquire(transaction, key, mode)
        return True

    def would_wait(self, transaction: Transaction | None, key: LockKey, mode: str) -> bool:
        """Whether ``acquire`` would have to wait now; changes nothing."""
        resource = self.resources.get(key)
        if resource is None:
            return False
        held = resource.granted.get(transaction) if transaction else None
        wanted = mode if held is None else combine(held, mode)
        return not self._grantable(resource, transaction, wanted, held is not None)

    # ------------------------------------------------------------------ giving back
    def release(self, transaction: Transaction, key: LockKey) -> None:
        """Give one lock back before the transaction ends (short ones, rows that do not qualify)."""
        if self._journal.recording:
            self._journal.save(transaction)
        if transaction.locks.pop(key, None) is not None:
            self._drop(transaction, key)

    def release_short(self, transaction: Transaction) -> None:
        """End of a statement: give back what was only locked for it."""
        if transaction.short_locks:
            if self._journal.recording:
                self._journal.save(transaction)
            keys, transaction.short_locks = transaction.short_locks, []
            for key in keys:
                self.release(transaction, key)

    def release_all(self, transaction: Transaction) -> None:
        """End of a transaction: give everything back, in the order it was taken."""
        if self._journal.recording:
            self._journal.save(transaction)
        locks, transaction.locks = transaction.locks, {}
        transaction.short_locks = []
        for key in locks:
            self._drop(transaction, key)

    def cancel_wait(self, session: Owner) -> None:
        """Take a session's request out of the queue (timeout, attention, kill, victim)."""
        wait = session.wait
        resource = wait.resource
        self._journal.save(resource)
        resource.waiting = [r for r in resource.waiting if r is not wait.request]
        self.timers.cancel(None, "wait", session)
        session.end_wait()
        self._serve(resource)

    def time_out(self, session: Owner) -> None:
        """The session's LOCK_TIMEOUT ran out: its statement fails with 1222."""
        error = _timed_out(session, session.wait.resource.key)
        if session.wait.quiet:
            self._end_quietly(session, 1222)
            return
        self.cancel_wait(session)
        session.interrupt(error)

    def _end_quietly(self, session: Owner, number: int) -> None:
        """The wait for an application lock is over without it; its statement runs again."""
        self.cancel_wait(session)
        session.expired = number
        session.wake()

    # ------------------------------------------------------------------ inside
    def _new_resource(self, key: LockKey) -> Resource:
        resource = Resource(key)
        if self._journal.recording:
            self._journal.put(None, self, self.resources, key, resource)
        else:
            self.resources[key] = resource
        return resource

    def _grantable(
        self, resource: Resource, transaction: Transaction | None, wanted: str, converts: bool
    ) -> bool:
        for owner, mode in resource.granted.items():
            if owner is not transaction and (wanted, mode) not in COMPATIBLE:
                return False
        # A compatible newcomer still queues behind an earlier waiter; a conversion does not.
        return converts or not resource.waiting

    def _grant(self, resource: Resource, transaction: Transaction, mode: str) -> None:
        if self._journal.recording:
            self._journal.save(resource)
            self._journal.save(transaction)
        resource.granted[transaction] = mode
        transaction.locks[resource.key] = mode

    def _drop(self, transaction: Transaction, key: LockKey) -> None:
        resource = self.resources[key]
        if self._journal.recording:
            self._journal.save(resource)
        resource.granted.pop(transaction, None)
        if resource.waiting:
            self._serve(resource)
        elif not resource.granted:
            if self._journal.recording:
                self._journal.put(None, self, self.resources, key, MISSING)
            else:
                del self.resources[key]

    def _enqueue(
        self,
        resource: Resource,
        transaction: Transaction,
        mode: str,
        converts: bool,
        timeout: int,
        quiet: bool,
    ) -> None:
        self._journal.save(resource)
        self._journal.save(transaction)
        request = Request(transaction, mode, converts)
        ahead = 0
        if converts:
            while ahead < len(resource.waiting) and resource.waiting[ahead].converts:
                ahead += 1
        else:
            ahead = len(resource.waiting)
        resource.waiting.insert(ahead, request)
        owner = transaction.owner
        owner.begin_wait(LockWait(resource, request, self._now(), quiet))
        if timeout > 0:
            self.timers.set(None, "wait", owner, self._now() + timeout / 1000)
        self._check_deadlock(transaction)

    def _serve(self, resource: Resource) -> None:
        """Grant from the head of the queue as far as it goes, never past one that must stay."""
        while resource.waiting:
            request = resource.waiting[0]
            transaction = request.transaction
            blocked = any(
                owner is not transaction and (request.mode, mode) not in COMPATIBLE
                for owner, mode in resource.granted.items()
            )
            if blocked:
                return
            self._journal.save(resource)
            resource.waiting = resource.waiting[1:]
            self._grant(resource, transaction, request.mode)
            self.timers.cancel(None, "wait", transaction.owner)
            transaction.owner.end_wait()
            transaction.owner.wake()
        if not resource.granted:
            self._journal.put(None, self, self.resources, resource.key, MISSING)

    # ------------------------------------------------------------------ deadlocks
    def blockers(self, transaction: Transaction) -> list[Transaction]:
        """Whom a waiting transaction waits for: incompatible holders, then waiters ahead of it.

        Holders in the order of their sessions: who came first counts for no state.
        """
        wait = transaction.owner.wait
        if wait is None or wait.kind != "lock":
            return []
        resource, request = wait.resource, wait.request
        asker = request.transaction  # a session-owned application lock has another owner
        found = [
            owner
            for owner, mode in sorted(resource.granted.items(), key=_session_id)
            if owner is not asker and (request.mode, mode) not in COMPATIBLE
        ]
        for other in resource.waiting:
            if other is request:
                break
            if (request.mode, other.mode) not in COMPATIBLE or not request.converts:
                found.append(other.transaction)
        return found

    def _check_deadlock(self, start: Transaction) -> None:
        """Search at once for a cycle through ``start``; the server's monitor does so within 5 s."""
        cycle = self._find_cycle(start)
        if cycle is None:
            return
        # Lowest DEADLOCK_PRIORITY, then least log written, then the one that closed the cycle
        # (SET DEADLOCK_PRIORITY page; the last rule observed by probes).
        victim = min(
            cycle,
            key=lambda t: (t.owner.deadlock_priority, self._log_of(t), 0 if t is start else 1),
        )
        waits = [(t, t.owner.wait.resource, t.owner.wait.request.mode) for t in cycle]
        self._journal.assign(None, self, "deadlocks", self.deadlocks + 1)
        self.on_deadlock(Deadlock(victim, waits))
        kind = "lock" if all(r.key[0] != "THREAD" for _, r, _ in waits) else "thread"
        if victim is not start:
            self.victim(victim.owner, kind)
            return
        self.cancel_wait(victim.owner)
        raise _chosen(victim.owner, kind)

    def victim(self, session: Owner, kind: str = "lock") -> None:
        """A session that waits is the victim of a deadlock: its statement fails with 1205."""
        if session.wait.quiet:
            self._end_quietly(session, 1205)
            return
        self.cancel_wait(session)
        session.interrupt(_chosen(session, kind))

    def _log_of(self, transaction: Transaction) -> int:
        """Bytes of log the choice of a victim weighs (F-273)."""
        group = transaction.owner.wait.resource.key[0] == "CONVERSATION_GROUP"
        return 0 if group and not self.weighs_group_waits else transaction.log_used

    def _find_cycle(self, start: Transaction) -> list[Transaction] | None:
        path: list[Transaction] = []
        seen: set[int] = set()

        def visit(transaction: Transaction) -> bool:
            path.append(transaction)
            for blocker in self.blockers(transaction):
                if blocker.owner is start.owner:
                    return True
                if id(blocker.owner) not in seen:
                    seen.add(id(blocker.owner))
                    if visit(blocker):
                        return True
            path.pop()
            return False

        return path if visit(start) else None

    def release_since(self, transaction: Transaction, count: int) -> None:
        """Give back every lock taken after the first ``count``; conversions of those stay."""
        for key in list(transaction.locks)[count:]:
            self.release(transaction, key)

    def hash(self) -> bytes:
        """Never cached: a resource changes without its manager."""
        self.digest = None
        digest = super().hash()
        self.digest = None
        return digest
