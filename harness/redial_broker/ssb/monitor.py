"""The queue monitor: when an activated procedure is started.

States and rules as Remus Rusanu describes them and sys.dm_broker_queue_monitors shows them:
NOTIFIED means a procedure was started and nothing more is until somebody runs RECEIVE; another
reader is started when no RECEIVE was empty for five seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial_broker.engine.broker_messages import text
from redial_broker.engine.errors import SqlError
from redial_broker.engine.journal import MISSING, Part
from redial_broker.engine.state import journaled, made, state
from redial_broker.ssb.switches import value

if TYPE_CHECKING:
    from redial_broker.ssb.needs import Caller
    from redial_broker.ssb.queue import Queue

INACTIVE, NOTIFIED, RECEIVES = "INACTIVE", "NOTIFIED", "RECEIVES_OCCURRING"

ANOTHER_READER_S = 5
"""Hard-coded threshold without an empty RECEIVE before one more reader starts."""


class QueueMonitor(Part):
    """Decides when to start readers of one queue.

    running: tasks started and not ended. receivers: ids of background sessions that have run
    RECEIVE here. last_empty, last_activated: clock seconds or None.
    """

    __slots__ = ("last_activated", "last_empty", "queue", "receivers", "running", "state")
    STATE = state(
        made("queue", show=str),
        journaled("state", "running"),
        journaled("receivers", show=sorted),
        journaled("last_activated", "last_empty", when="times"),
        journal="queue.broker.engine.journal",
    )

    def __init__(self, queue: Queue) -> None:
        super().__init__()
        self.queue = queue
        self.state = INACTIVE
        self.running = 0
        self.receivers: dict[int, bool] = {}
        self.last_empty: float | None = None
        self.last_activated: float | None = None

    @property
    def exists(self) -> bool:
        """Whether the queue has a monitor: activation (or a notification), queue and broker on."""
        return (
            (self._internal or self.queue.watched > 0)
            and self.queue.enabled
            and self.queue.broker.awake
        )

    @property
    def _internal(self) -> bool:
        """Whether procedures are started; else QUEUE_ACTIVATION notifications are sent."""
        activation = self.queue.activation
        return activation is not None and activation.enabled

    # ------------------------------------------------------------------ what happens to the queue
    def poke(self) -> None:
        """Messages may have come, or come back, or become free."""
        if not self.exists or self.state == NOTIFIED or not self.queue.has_receivable():
            return
        if self.queue.waits_for_any():
            return  # the waiting session is woken and receives
        if self.state == INACTIVE and self.running == 0:
            self._launch()
            return
        if self.state == INACTIVE:
            self._become(RECEIVES)
        self._arm()

    def received(self, session: Caller, count: int, named: bool) -> None:
        """A RECEIVE or GET CONVERSATION GROUP was run. named: with WHERE, which proves nothing."""
        if not self.exists:
            return
        engine = self.queue.broker.engine
        if getattr(session, "background", False) and session.id not in self.receivers:
            engine.journal.put(None, self, self.receivers, session.id, True)
        if count == 0 and not named:
            engine.journal.assign(None, self, "last_empty", engine.clock.now())
            if self.state != INACTIVE:
                self._become(INACTIVE)
            self._disarm()
            self._look_again()
        elif self.state != RECEIVES:
            self._become(RECEIVES)
            self._arm()

    def altered(self) -> None:
        """Queue or broker options changed: OFF clears the state, ON looks for messages."""
        if not self.exists:
            if self.state != INACTIVE:
                self._become(INACTIVE)
            self._disarm()
            return
        self.poke()

    def due(self) -> None:
        """Five seconds have passed without an empty RECEIVE, or nobody heeded a notification."""
        if not self.exists or not self.queue.has_receivable() or self.queue.waits_for_any():
            return
        if self.state == NOTIFIED and not self._internal:
            self._notify()
        elif self.state == RECEIVES and self._room():
            self._launch()
        elif self.state == INACTIVE:
            self.poke()

    # ------------------------------------------------------------------ what happens to tasks
    def task_ended(self, session: Caller, killed: bool = False) -> None:
        """An activated task has ended.

        One that ran no RECEIVE leaves NOTIFIED standing: activation is stuck until somebody
        receives, or activation is switched off and on (28087). Whether that holds for one that was
        killed before it could is a switch.
        """
        journal = self.queue.broker.engine.journal
        journal.assign(None, self, "running", max(0, self.running - 1))
        received = session.id in self.receivers
        if received:
            journal.put(None, self, self.receivers, session.id, MISSING)
        if (
            killed
            and not received
            and self.state == NOTIFIED
            and not self.running
            and value(self.queue.broker.engine, "killed_reader") == "relaunched"
        ):
            self._become(INACTIVE)
            self.poke()
            return
        if not self.exists or self.state != RECEIVES:
            return
        if self.running:
            self._arm()
            return
        always = value(self.queue.broker.engine, "relaunch") == "until empty"
        if (received and always) or self.queue.has_receivable():
            self._launch()

    def task_failed(self) -> None:
        """The procedure could not even be started: tried again five seconds later (observed)."""
        self.queue.broker.engine.journal.assign(None, self, "running", max(0, self.running - 1))
        self._become(INACTIVE)
        self._arm()

    def restarted(self) -> None:
        """The server has started again: whoever ran, was told, or has received is gone."""
        journal = self.queue.broker.engine.journal
        journal.assign(None, self, "last_empty", None)
        journal.assign(None, self, "running", 0)
        for session in list(self.receivers):
            journal.put(None, self, self.receivers, session, MISSING)
        self._become(INACTIVE)
        self._disarm()
        self.poke()

    # ------------------------------------------------------------------ inside
    def _room(self) -> bool:
        activation = self.queue.activation
        if not self._internal or activation is None:
            return self.queue.watched > 0
        return self.running < activation.max_readers

    def _notify(self) -> None:
        """Tell external readers; again after a time-out, and when they have read (F-252)."""
        queue = self.queue
        engine = queue.broker.engine
        engine.journal.assign(None, self, "last_activated", engine.clock.now())
        self._become(NOTIFIED)
        engine.timers.set(
            None,
            "ssb.monitor",
            self._key(),
            engine.clock.now() + value(engine, "external_activation_timeout_s"),
        )
        queue.broker.activation_needed(queue)

    def _launch(self) -> None:
        if not self._room():
            return
        if not self._internal:
            self._notify()
            return
        queue = self.queue
        engine = queue.broker.engine
        engine.journal.assign(None, self, "running", self.running + 1)
        engine.journal.assign(None, self, "last_activated", engine.clock.now())
        engine.journal.assign(None, queue, "started", queue.started + 1)
        self._become(NOTIFIED)
        self._disarm()
        try:
            queue.broker.activate(queue)
        except SqlError as error:
            procedure = queue.activation.procedure if queue.activation is not None else ""
            queue.broker.log("spid21s", text(9724, procedure, str(queue), error.text))
            self.task_failed()

    def _become(self, state: str) -> None:
        self.queue.broker.engine.journal.assign(None, self, "state", state)

    def _key(self) -> tuple[int, int]:
        return self.queue.broker.database.id, self.queue.object_id

    def _arm(self) -> None:
        engine = self.queue.broker.engine
        if self._room() and ("ssb.monitor", self._key()) not in engine.timers.entries:
            engine.timers.set(
                None, "ssb.monitor", self._key(), engine.clock.now() + ANOTHER_READER_S
            )

    def _look_again(self) -> None:
        """An empty RECEIVE passes over groups that are locked; whether or not the monitor hears
        when they are free again, it looks every few seconds (F-342)."""
        if self.queue.has_receivable():
            engine = self.queue.broker.engine
            engine.timers.set(
                None, "ssb.monitor", self._key(), engine.clock.now() + ANOTHER_READER_S
            )

    def _disarm(self) -> None:
        self.queue.broker.engine.timers.cancel(None, "ssb.monitor", self._key())
