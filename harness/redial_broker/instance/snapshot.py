"""A moment of an instance to come back to, in less time than a test takes to notice.

The journal already remembers how to take back every change (the explorer rewinds with it at each
step). A snapshot is a mark in it: taking one costs nothing, coming back costs as much as was
changed since, never as much as the database holds.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.session import Session


class Snapshot:
    """What ``Instance.snapshot`` returns. ``restore`` as often as you like, then ``release``.

    Everything comes back: data, definitions, databases, logins, conversations, queues, timers,
    locks, the virtual clock, the numbers the next ids are made of. A real clock goes on. Sessions
    of the snapshot come back as they were; those opened since are ended as KILL ends them, and so
    is one over the wire whose driver would not recognize it (it was at work, or its transaction was
    begun or ended since). While a snapshot is held every change is remembered, so
    hold it for a test, not for a day.

    Raises RuntimeError for an instance that is at work, or when snapshots are not given back in the
    opposite order.
    """

    def __init__(self, instance: Instance) -> None:
        if instance.searched:
            raise RuntimeError("the explorer searches this instance: it has marks of its own")
        instance.run()
        self._instance = instance
        engine = instance.engine
        engine.meter.start_over()
        self._first = not engine.journal.recording
        engine.journal.recording = True
        self._mark = engine.journal.mark()
        self._seconds = engine.clock.now()
        self._known = {id(s): (s, _transaction_of(s)) for s in instance.sessions.values()}
        self._gone: list[Session] = []

    def restore(self) -> None:
        """Bring the instance back to the moment of the snapshot."""
        instance = self._live()
        self._end_strangers(instance)
        engine = instance.engine
        engine.journal.rewind(self._mark)
        engine.timers.forget_order()
        engine.meter.start_over()
        instance.forget_ready()
        if hasattr(engine.clock, "seconds"):
            engine.clock.seconds = self._seconds
        for session in self._gone:
            instance.disconnect(session)

    def release(self) -> None:
        """Give the snapshot back: the present stays, nothing more is remembered for it."""
        instance = self._live()
        if self._first:
            journal = instance.engine.journal
            journal.recording = False
            journal.log.clear()
            instance.engine.timers.forget_order()
        self._mark = -1

    def _live(self) -> Instance:
        """The instance. RuntimeError when this snapshot is no longer one of it."""
        if self._mark < 0:
            raise RuntimeError("this snapshot was released")
        if self._mark > len(self._instance.engine.journal.log):
            raise RuntimeError("an earlier snapshot was restored since: this one is gone with it")
        return self._instance

    def _end_strangers(self, instance: Instance) -> None:
        """Kill the sessions whose client could not go on after the restore."""
        here = {id(session) for session in instance.sessions.values()}
        for session, transaction in self._known.values():
            if session.background or session in self._gone:
                continue
            if id(session) not in here:
                self._gone.append(session)
            elif getattr(session.sink, "rewindable", False):
                continue
            elif session.active or _transaction_of(session) != transaction:
                self._gone.append(session)
                session.killed()
        for session in list(instance.sessions.values()):
            if id(session) not in self._known and not session.background:
                session.killed()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore and release, whatever has happened."""
        self.restore()
        self.release()


def _transaction_of(session: Session) -> tuple[int, int]:
    """What a driver knows of the open transaction: its depth and its descriptor."""
    transaction = session.transaction
    return session.trancount, transaction.descriptor if transaction is not None else 0
