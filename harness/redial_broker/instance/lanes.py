"""Long statements take turns: each is suspended at its ticks on a thread of its own.

A statement begins where every other does, on the scheduler's own stack. Once it has taken its
share of the time its changes are undone as for a wait (``Overlong``), and it starts again in a
lane: a thread that runs only while the scheduler stands still and waits for it, so that there is
always exactly one who touches the instance. At each look of the meter the lane hands back; the
scheduler serves everybody else and lets the lane go on at its next turn.

Guaranteed, where a server runs the instance: between two looks of a statement every other session,
attention, KILL and the end of the server have their turn; which of them is settled by counts of
rows and not by time, so the same requests in the same order run the same way. What a suspended
statement has read and locked stays as its isolation level says; it starts again when a definition
changed meanwhile. What query blocks remember while they run is put aside with it.

Not guaranteed: a turn inside one operation on one value (a function of a very long string, parsing
XML, compiling a batch), inside the aggregation or the writing of rows once they are read. The
explorer and an instance in process have no lanes: a statement is one step there.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from redial_broker.engine.errors import Overlong, Stopped
from redial_broker.exec.machine import FINISHED, LONG, READY, WAITING

if TYPE_CHECKING:
    from redial_broker.instance.instance import Instance
    from redial_broker.instance.session import Session

SHARE = 4
"""Looks of the meter one turn of the scheduler takes before a statement moves to a lane."""

_STOPS = 1000
"""A statement that is stopped so often and still goes on is a defect."""


class Lane:
    """One suspended statement. finished: what the machine said when it ended, None before."""

    def __init__(self, lanes: Lanes, session: Session) -> None:
        self.session = session
        self.memos: dict[int, list[Any]] = {}
        self.held = 0
        self.finished: str | None = None
        self._lanes = lanes
        self._stopped = False
        self._failed: BaseException | None = None
        self._kept: list[tuple[list[Any], list[Any]]] = []
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        work = copy_context()
        self._thread = threading.Thread(
            target=lambda: work.run(self._work), name=f"statement of {session.id}", daemon=True
        )
        self._thread.start()

    def resume(self) -> None:
        """Run it until its next look or its end; only the thread that runs the instance may."""
        lanes = self._lanes
        meter, locks = lanes.meter, lanes.instance.engine.locks
        before = lanes.current, locks.running, meter.give_way, meter.others, meter.memos
        lanes.current, locks.running, meter.give_way = self, self.session, self._pause
        meter.others, meter.held, meter.memos = lanes.held - self.held, self.held, self.memos
        for memo, kept in self._kept:
            memo[:] = kept
        self._go.release()
        self._back.acquire()
        self.held = meter.held
        self._kept = [(memo, memo[:]) for memo in self.memos.values()]
        lanes.current, locks.running, meter.give_way, meter.others, meter.memos = before
        if self.finished is not None:
            self._thread.join()
            lanes.waiting.pop(self.session.id, None)
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """Let it go on to its end by ``Stopped``."""
        self._stopped = True
        for _ in range(_STOPS):
            self.resume()
            if self.finished is not None:
                return
        raise RuntimeError(f"the statement of session {self.session.id} does not stop")

    def _work(self) -> None:
        self._go.acquire()
        try:
            self.finished = FINISHED
            if not self._stopped:
                self.finished = None
                self.finished = self._lanes.instance.machine.run(self.session, 1)
        except Stopped:
            self.finished = FINISHED
        except BaseException as error:
            self.finished, self._failed = FINISHED, error
        finally:
            self._back.release()

    def _pause(self, restartable: bool) -> None:
        """Called at each look of the meter, on the lane's own thread."""
        if not self._stopped:
            before = self._lanes.definitions()
            self._back.release()
            self._go.acquire()
        if self._stopped:
            raise Stopped
        if restartable and self._lanes.definitions() != before:
            raise Overlong


class Lanes:
    """The lanes of one instance. opened: a server runs it and wants statements to take turns."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.meter = instance.engine.meter
        self.opened = False
        self.current: Lane | None = None
        self.waiting: OrderedDict[int, Lane] = OrderedDict()
        self._looks = 0

    def definitions(self) -> list[int]:
        """What changes with every definition somebody makes."""
        databases = self.instance.server.databases.values()
        return [database.schema_version for database in databases]

    # ------------------------------------------------------------------ the scheduler's side
    @property
    def held(self) -> int:
        """The estimate of what suspended statements hold."""
        return sum(lane.held for lane in self.waiting.values())

    @property
    def share_taken(self) -> bool:
        """Whether this turn of the scheduler has lasted long enough."""
        return self._looks >= SHARE

    def begin_turn(self) -> None:
        """A turn of the scheduler begins."""
        self._looks, self.meter.others = 0, self.held

    def run(self, session: Session, budget: int) -> str:
        """Run statements; one that turns out to be long starts again in a lane, at its turn."""
        if not self.opened:
            return self.instance.machine.run(session, budget)
        meter = self.meter
        before, meter.give_way = meter.give_way, self._count
        try:
            state = self.instance.machine.run(session, budget)
        finally:
            meter.give_way = before
        if state == LONG:
            self.waiting[session.id] = Lane(self, session)
        return state

    def next_turn(self) -> tuple[Session, str]:
        """Run the lane whose turn it is until its next look or its end: whose, and what it is now.

        A statement that must start again because of a definition does so as any other.
        """
        number, lane = self.waiting.popitem(last=False)
        self.waiting[number] = lane
        lane.resume()
        return lane.session, READY if lane.finished == LONG else lane.finished or WAITING

    def stop(self, session: Session) -> None:
        """The session ends what it runs: nothing of it is on any stack afterwards, but for its own.

        A statement that ends its own session, or is ended by one it has called, ends by itself.
        """
        lane = self.waiting.get(session.id)
        if lane is not None and lane is not self.current and lane.finished is None:
            lane.stop()

    def _count(self, restartable: bool) -> None:
        self._looks += 1
        if restartable and self._looks >= SHARE:
            raise Overlong
